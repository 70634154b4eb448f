//! The three periods of Table 3: what was installed, when it was recorded, and who worked there.

use super::schedule::Schedule;

/// A period, with its differences from the others (Table 3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    /// Version of CP and number of core boxes.
    pub name: &'static str,
    /// Whether CP is version II.
    pub version_two: bool,
    /// Boxes of 256 KB of main storage.
    pub core_boxes: f64,
    /// Days and hours that were recorded.
    pub schedule: Schedule,
    /// Number of readings that the paper has of it.
    pub observations: f64,
    /// Users wanted at the peak of the first shift.
    pub first_shift: f64,
    /// Users wanted at five in the afternoon, whatever the shift.
    pub evening: f64,
    /// Users wanted from midnight to eight.
    pub night: f64,
    /// Users wanted on Saturday and Sunday.
    pub weekend: f64,
    /// CP time per second of real time: base work, without dispatch [s].
    pub base_s: f64,
    /// CP time per second of problem state time, without dispatch [s].
    pub privileged: f64,
}

const FRIDAY: u64 = 4;
const SUNDAY: u64 = 6;

/// The periods in the order of Table 3.
pub(super) static PERIODS: [Period; 3] = [
    Period {
        name: "II-2",
        version_two: true,
        core_boxes: 2.0,
        schedule: Schedule {
            // 1 September 1969, a Monday.
            first_day: -122,
            last_weekday: FRIDAY,
            recorded: 1,
            of: 4,
            from_hour: 8.5,
            to_hour: 16.75,
            long_every: 0,
            long_to_hour: 0.0,
            days: 0,
        },
        observations: 1386.0,
        first_shift: 14.6,
        evening: 3.0,
        night: 2.0,
        weekend: 2.0,
        base_s: 0.020,
        privileged: 0.1,
    },
    Period {
        name: "II-3",
        version_two: true,
        core_boxes: 3.0,
        schedule: Schedule {
            // 1 December 1969, a Monday.
            first_day: -31,
            last_weekday: FRIDAY,
            recorded: 1,
            of: 2,
            from_hour: 8.5,
            to_hour: 22.5,
            long_every: 4,
            long_to_hour: 6.0,
            days: 0,
        },
        observations: 7890.0,
        first_shift: 14.4,
        evening: 3.9,
        night: 1.2,
        weekend: 2.0,
        base_s: 0.003,
        privileged: 0.2,
    },
    Period {
        name: "III-3",
        version_two: false,
        core_boxes: 3.0,
        schedule: Schedule {
            // 1 May 1970, a Friday.
            first_day: 120,
            last_weekday: SUNDAY,
            recorded: 3,
            of: 5,
            from_hour: 0.0,
            to_hour: 24.0,
            long_every: 0,
            long_to_hour: 0.0,
            days: 0,
        },
        observations: 10_508.0,
        first_shift: 16.0,
        evening: 4.7,
        night: 2.25,
        weekend: 2.5,
        base_s: 0.0,
        privileged: 0.133,
    },
];

/// Monday to Thursday of weeks that follow one another, in the first shift of `period`, from its first Monday
/// on (section on free-fret: its test took eight such days).
pub(super) fn experiment(period: &Period) -> Schedule {
    // No day is lost where the period begins on a Monday itself.
    let to_monday = (7 - period.schedule.weekday(0)) % 7;
    Schedule {
        first_day: period.schedule.first_day + to_monday as i64,
        last_weekday: 3,
        recorded: 1,
        of: 1,
        from_hour: PERIODS[0].schedule.from_hour,
        to_hour: PERIODS[0].schedule.to_hour,
        long_every: 0,
        long_to_hour: 0.0,
        days: 8,
    }
}
