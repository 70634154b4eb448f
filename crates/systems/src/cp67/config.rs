//! What the parameters mean together: a checked configuration.

use serde_json::Value;
use thinktime_engine::drum::{DrumPlan, Organisation};
use thinktime_engine::{Distribution, Span};

use super::disks::DisksPlan;
use super::periods::{PERIODS, Period, experiment};
use super::queues::Limits;
use super::schedule::{Population, Schedule};
use super::services::{Costs, FreeFret, KINDS, Kind, Service};
use super::users::{CLASSES, Class, Variety};
use crate::parameter::{ParameterError, Settings};

/// Which FREE and FRET the version in force has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Old,
    New,
    /// New on Monday and Thursday of one week and on Tuesday and Wednesday of the next, old on other days.
    Counterbalanced,
}

/// Activities that nobody counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unmeasured {
    /// Mean CP time of a log-on and of a log-off [s]; it varies as a gamma variate of shape 2.
    pub log_on_s: f64,
    pub log_off_s: f64,
    /// Activities in a day of running, and the mean CP time of one [s], exponential.
    pub per_day: f64,
    pub each_s: f64,
    /// Their work comes in pieces, with exponential pauses [s].
    pub piece: Span,
    pub pause_s: f64,
}

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub schedule: Schedule,
    pub population: Population,
    /// Standard deviation of the logarithm of a day's factor.
    pub day_sigma: f64,
    /// The run ends with so many observations; 0: with its length.
    pub observations: u64,
    pub restarts_per_day: f64,
    pub users: u32,
    pub classes: Vec<Class>,
    pub operator: Class,
    /// Time of DUSETIMR that grows with the users whom it reads, for each [s].
    pub reading_user_s: f64,
    pub mix_day: Vec<f64>,
    pub mix_evening: Vec<f64>,
    pub mix_night: Vec<f64>,
    /// Standard deviation of the logarithm of a day's factor on the share of guests.
    pub day_guest_sigma: f64,
    pub variety: Variety,
    pub line: Span,
    pub line_time: Span,
    pub printer_block: Span,
    /// Mean time for which a printed file is held back [s].
    pub print_delay_s: f64,
    pub costs: Costs,
    /// How much longer or shorter CP's paths may be at times, as a part, and for how long they stay so [s].
    pub state_spread: f64,
    pub state_s: f64,
    pub algorithm: Algorithm,
    pub unmeasured: Unmeasured,
    pub limits: Limits,
    pub frames: u32,
    pub changed_share: f64,
    pub drum: DrumPlan,
    pub disks: DisksPlan,
}

/// Page frames of a core box: 256 KB of 4096-byte pages.
const BOX_FRAMES: u64 = 64;

impl Config {
    pub fn read(settings: &Settings) -> Result<Config, ParameterError> {
        let period = period(settings);
        let boxes = of_period(settings, "core_boxes", period.core_boxes)?.round();
        let version_two = match settings.word("version") {
            "of_period" => period.version_two,
            word => word == "II",
        };
        let config = Config {
            schedule: schedule(settings, period),
            population: Population {
                first_shift: of_period(settings, "first_shift", period.first_shift)?,
                evening: of_period(settings, "evening", period.evening)?,
                night: of_period(settings, "night", period.night)?,
                weekend: of_period(settings, "weekend", period.weekend)?,
            },
            day_sigma: settings.number("day_sigma"),
            observations: of_period(settings, "observations", observations(settings, period))? as u64,
            restarts_per_day: settings.number("restarts_per_day"),
            users: settings.integer("users") as u32,
            classes: CLASSES.iter().map(|name| class(settings, name)).collect(),
            operator: operator(settings),
            reading_user_s: settings.number("reading_user_time"),
            mix_day: mix(settings, "mix_day")?,
            mix_evening: mix(settings, "mix_evening")?,
            mix_night: mix(settings, "mix_night")?,
            day_guest_sigma: settings.number("day_guest_sigma"),
            variety: variety(settings),
            line: settings.span("line_problem_time"),
            line_time: settings.span("line_time"),
            printer_block: settings.span("printer_block_time"),
            print_delay_s: settings.number("print_delay"),
            costs: costs(settings, period, version_two)?,
            state_spread: settings.number("state_spread"),
            state_s: settings.number("state_time"),
            algorithm: match settings.word("free_fret") {
                "old" => Algorithm::Old,
                "new" => Algorithm::New,
                "counterbalanced" => Algorithm::Counterbalanced,
                _ if version_two => Algorithm::Old,
                _ => Algorithm::New,
            },
            unmeasured: Unmeasured {
                log_on_s: settings.number("log_on_time"),
                log_off_s: settings.number("log_off_time"),
                per_day: settings.number("activities"),
                each_s: settings.number("activity_time"),
                piece: settings.span("piece_time"),
                pause_s: settings.number("piece_pause"),
            },
            limits: limits(settings, boxes),
            frames: ((boxes as u64 * BOX_FRAMES).saturating_sub(settings.integer("cp_pages"))) as u32,
            changed_share: settings.number("changed_share"),
            drum: drum(settings),
            disks: disks(settings),
        };
        config.check(settings)?;
        Ok(config)
    }

    fn check(&self, settings: &Settings) -> Result<(), ParameterError> {
        let queued: u32 = self.limits.users.iter().sum();
        if self.frames <= queued {
            let remedy = format!(
                "{} page frames are left for users, of whom {queued} may be in the queues: give CP fewer pages, \
                 more core_boxes, or smaller queues",
                self.frames
            );
            return Err(settings.refuse("cp_pages", &remedy));
        }
        Ok(())
    }

    /// The algorithm in force on `day`, counted from the first one.
    pub fn is_new(&self, day: u64) -> bool {
        match self.algorithm {
            Algorithm::Old => false,
            Algorithm::New => true,
            Algorithm::Counterbalanced => {
                // Days since the Monday of the first week.
                let since = day + self.schedule.weekday(0);
                let (week, weekday) = (since / 7 % 2, since % 7);
                if week == 0 { weekday == 0 || weekday == 3 } else { weekday == 1 || weekday == 2 }
            }
        }
    }
}

fn period(settings: &Settings) -> &'static Period {
    let name = settings.word("period");
    PERIODS.iter().find(|period| period.name == name).unwrap_or(&PERIODS[0])
}

fn schedule(settings: &Settings, period: &Period) -> Schedule {
    match settings.word("schedule") {
        "experiment" => experiment(period),
        _ => period.schedule,
    }
}

fn observations(settings: &Settings, period: &Period) -> f64 {
    if settings.word("schedule") == "of_period" { period.observations } else { 0.0 }
}

/// A number, or that of the period.
fn of_period(settings: &Settings, name: &str, own: f64) -> Result<f64, ParameterError> {
    let value = settings.value(name);
    match value {
        Value::String(word) if word == "of_period" => Ok(own),
        Value::Number(_) => match value.as_f64().filter(|number| number.is_finite() && *number >= 0.0) {
            Some(number) => Ok(number),
            None => Err(settings.refuse(name, "give a number of at least 0, or of_period")),
        },
        _ => Err(settings.refuse(name, "give a number of at least 0, or of_period")),
    }
}

fn class(settings: &Settings, name: &str) -> Class {
    let number = |what: &str| settings.number(&format!("{name}_{what}"));
    Class {
        think: settings.distribution(&format!("{name}_think")).clone(),
        problem: settings.distribution(&format!("{name}_problem")).clone(),
        vsio_gap_s: number("vsio_gap"),
        vsio_sigma: number("vsio_sigma"),
        output_lines: number("output_lines"),
        print_share: number("print_share"),
        print_lines: number("print_lines"),
        working_set: number("working_set"),
        reference_rate: number("reference_rate"),
        new_pages: number("new_pages"),
    }
}

/// DUSETIMR: its time and its VSIO are those of a reading; a few pages; it types nothing but is given a line.
fn operator(settings: &Settings) -> Class {
    let time = settings.number("reading_time");
    Class {
        think: Distribution::deterministic(0.0),
        problem: Distribution::deterministic(time),
        vsio_gap_s: time / settings.number("reading_vsio"),
        vsio_sigma: 0.0,
        output_lines: 1.0,
        print_share: 0.0,
        print_lines: 0.0,
        working_set: settings.number("reading_pages"),
        reference_rate: settings.number("edit_reference_rate"),
        new_pages: 0.0,
    }
}

fn mix(settings: &Settings, name: &str) -> Result<Vec<f64>, ParameterError> {
    let remedy = format!("give a list of {} shares, for {}", CLASSES.len(), CLASSES.join(", "));
    let refuse = || settings.refuse(name, &remedy);
    let given = settings.value(name).as_array().ok_or_else(refuse)?;
    let shares: Vec<f64> = given.iter().filter_map(Value::as_f64).filter(|share| *share >= 0.0).collect();
    let sum: f64 = shares.iter().sum();
    if shares.len() != CLASSES.len() || given.len() != CLASSES.len() || !sum.is_finite() || sum <= 0.0 {
        return Err(refuse());
    }
    Ok(shares)
}

fn variety(settings: &Settings) -> Variety {
    Variety {
        task_s: settings.number("task"),
        session_s: settings.number("session"),
        break_share: settings.number("break_share"),
        break_s: settings.number("break"),
        complexity_spread: settings.number("complexity_spread"),
        line_complexity_spread: settings.number("line_complexity_spread"),
        privileged_spread: settings.number("privileged_spread"),
        problem_sigma: settings.number("problem_sigma"),
        working_set_sigma: settings.number("working_set_sigma"),
        reference_sigma: settings.number("reference_sigma"),
        lines_per_block: settings.number("lines_per_block"),
        lines_sigma: settings.number("lines_sigma"),
    }
}

fn costs(settings: &Settings, period: &Period, version_two: bool) -> Result<Costs, ParameterError> {
    let service = |name: &str| Service {
        path: settings.span(&format!("{name}_path")),
        calls: settings.number(&format!("{name}_free_calls")),
        passes: settings.number(&format!("{name}_passes")),
    };
    let mut services = [Service { path: Span::ZERO, calls: 0.0, passes: 0.0 }; KINDS];
    for (kind, name) in
        [(Kind::Vsio, "vsio"), (Kind::Vmio, "vmio"), (Kind::PageIo, "page_io"), (Kind::SpoolIo, "spool_io")]
    {
        services[kind as usize] = service(name);
    }
    if version_two {
        services[Kind::PageIo as usize].path += settings.span("page_io_path_version_two");
    }
    let base = Span::from_seconds(of_period(settings, "base_path", period.base_s)?);
    services[Kind::Base as usize] =
        Service { path: base, calls: 0.0, passes: settings.number("base_passes") };
    let pair = |age: &str| FreeFret {
        free: settings.span(&format!("free_time_{age}")),
        fret: settings.span(&format!("fret_time_{age}")),
    };
    Ok(Costs {
        services,
        variable: settings.number("path_variation"),
        privileged: of_period(settings, "privileged_share", period.privileged)?,
        old_free_fret: pair("old"),
        new_free_fret: pair("new"),
        find: settings.span("find_time"),
        redispatch: settings.span("redispatch_time"),
    })
}

fn limits(settings: &Settings, boxes: f64) -> Limits {
    let users = |queue: &str| {
        let most = settings.number(&format!("{queue}_users_per_box")) * boxes;
        (most.round() as u32).max(1)
    };
    Limits {
        users: [users("interactive"), users("batch")],
        cpu: [settings.span("interactive_cpu_limit"), settings.span("batch_cpu_limit")],
        slice: settings.span("time_slice"),
    }
}

fn drum(settings: &Settings) -> DrumPlan {
    DrumPlan {
        organisation: match settings.word("drum_organisation") {
            "sector_queued" => Organisation::SectorQueued,
            _ => Organisation::Fcfs,
        },
        revolution: settings.span("drum_revolution"),
        pages: settings.number("drum_pages"),
        start: settings.span("drum_start"),
    }
}

fn disks(settings: &Settings) -> DisksPlan {
    DisksPlan {
        spindles: settings.integer("spindles") as u32,
        channels: settings.integer("channels") as u32,
        seek_share: settings.number("seek_share"),
        longest_seek: settings.span("longest_seek"),
        revolution: settings.span("disk_revolution"),
        transfer: settings.span("disk_transfer"),
    }
}
