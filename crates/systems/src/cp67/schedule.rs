//! Times at which the machine is up with DUSETIMR running, by the civil calendar, and users who want to be on it.

use thinktime_engine::{Span, Time};

/// An hour [ns].
pub(super) const HOUR: u64 = 3_600_000_000_000;
/// A day [ns].
pub(super) const DAY: u64 = 24 * HOUR;
// 1970-01-01 was a Thursday, which is 3 where Monday is 0.
const DAYS_BEFORE_MONDAY: i64 = 3;

/// A stretch of time in which the machine is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Start-up.
    pub from: Time,
    /// Shutdown.
    pub to: Time,
}

/// Recorded days, and hours of them; times are counted from midnight of the first day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    /// The first day, days since 1970-01-01.
    pub first_day: i64,
    /// Weekdays that may be recorded: Monday (0) to this one.
    pub last_weekday: u64,
    /// Of `of` such days in turn, the first `recorded` are recorded.
    pub recorded: u64,
    /// Length of that turn [day].
    pub of: u64,
    /// Hour at which a recorded day begins.
    pub from_hour: f64,
    /// Hour at which it ends.
    pub to_hour: f64,
    /// Every `long_every`-th recorded day goes on into the next morning; 0: none.
    pub long_every: u64,
    /// Hour of that morning.
    pub long_to_hour: f64,
    /// Largest number of recorded days; 0: no limit.
    pub days: u64,
}

impl Schedule {
    /// Weekday of `day`, counted from the first one; Monday is 0.
    pub fn weekday(&self, day: u64) -> u64 {
        (self.first_day + DAYS_BEFORE_MONDAY + day as i64).rem_euclid(7) as u64
    }

    /// True on Saturday and Sunday.
    pub fn is_weekend(&self, time: Time) -> bool {
        self.weekday(time.0 / DAY) >= 5
    }

    /// Beginning of the first day, microseconds since 1970 UTC.
    pub fn epoch_us(&self) -> i64 {
        self.first_day * (DAY / 1000) as i64
    }

    /// The stretches in order, without end. Days that follow one another round the clock are one stretch.
    pub fn stretches(&self) -> Stretches {
        Stretches { schedule: *self, day: 0, eligible: 0, recorded: 0, pending: None }
    }
}

/// See [`Schedule::stretches`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretches {
    schedule: Schedule,
    day: u64,
    /// Days so far that may be recorded.
    eligible: u64,
    /// Those of them that were.
    recorded: u64,
    /// A stretch that was read to see that it does not join the one before.
    pending: Option<Stretch>,
}

impl Stretches {
    /// The next recorded day.
    fn next_day(&mut self) -> Option<Stretch> {
        let schedule = self.schedule;
        loop {
            if schedule.days > 0 && self.recorded >= schedule.days {
                return None;
            }
            let day = self.day;
            self.day += 1;
            if schedule.weekday(day) > schedule.last_weekday {
                continue;
            }
            self.eligible += 1;
            if (self.eligible - 1) % schedule.of >= schedule.recorded {
                continue;
            }
            self.recorded += 1;
            let long = schedule.long_every > 0 && self.recorded % schedule.long_every == 0;
            let to_hour = if long { 24.0 + schedule.long_to_hour } else { schedule.to_hour };
            let at = |hour: f64| Time(day * DAY) + Span::from_seconds(hour * 3600.0);
            return Some(Stretch { from: at(schedule.from_hour), to: at(to_hour) });
        }
    }
}

impl Iterator for Stretches {
    type Item = Stretch;

    fn next(&mut self) -> Option<Stretch> {
        // A day that begins before the one before has ended is the same stretch: the machine does not stop
        // between.
        let mut stretch = self.pending.take().or_else(|| self.next_day())?;
        // No more than a year in one piece: round the clock every day would never end.
        while stretch.to.0 - stretch.from.0 < 365 * DAY {
            let Some(next) = self.next_day() else { break };
            if next.from > stretch.to {
                // One day too many was read to see where the stretch ends.
                self.pending = Some(next);
                break;
            }
            stretch.to = next.to;
        }
        Some(stretch)
    }
}

/// Share of the first shift's users who are there at each hour of a weekday, from midnight on.
const FIRST_SHIFT: [f64; 25] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.8, 1.0, 1.0, 0.75, 0.8, 1.0, 1.0, 0.9, 0.5, 0.25, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0,
];

/// Users who want to be signed on: those of the first shift by the hour, but never fewer than at night, at five in
/// the afternoon, and at weekends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Population {
    /// At the peak of the first shift.
    pub first_shift: f64,
    /// At five in the afternoon.
    pub evening: f64,
    /// From midnight to eight.
    pub night: f64,
    /// On Saturday and Sunday.
    pub weekend: f64,
}

impl Population {
    /// Mean number wanted at `time`, without the day's own factor.
    pub fn wanted(&self, schedule: &Schedule, time: Time) -> f64 {
        if schedule.is_weekend(time) {
            // Weekends have no shifts.
            return self.weekend;
        }
        let hours = (time.0 % DAY) as f64 / HOUR as f64;
        let (hour, part) = (hours as usize, hours.fract());
        let shape = FIRST_SHIFT[hour] * (1.0 - part) + FIRST_SHIFT[hour + 1] * part;
        // The larger of the two and not the sum: those of the night are among those of the day.
        (self.first_shift * shape).max(self.floor(hours))
    }

    /// Users whatever the shift: most at five in the afternoon, of whom some leave until midnight.
    fn floor(&self, hours: f64) -> f64 {
        let evening = if hours < 17.0 { 0.0 } else { (24.0 - hours) / 7.0 };
        self.night + (self.evening - self.night) * evening
    }

    /// Largest number that is ever wanted.
    pub fn most(&self) -> f64 {
        self.first_shift.max(self.evening).max(self.night).max(self.weekend)
    }
}

/// Factors of one day on the number of users and on the share of guests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Day {
    /// Days since the first one.
    pub number: u64,
    /// Factor on the number of users wanted.
    pub users: f64,
    /// Factor on the share of guests.
    pub guests: f64,
}

impl Day {
    /// Before the first day.
    pub const NONE: Day = Day { number: u64::MAX, users: 1.0, guests: 1.0 };
}
