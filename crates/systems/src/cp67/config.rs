//! The checked configuration: values derived from the parameters together.

use serde_json::Value;
use thinktime_engine::drum::DrumPlan;
use thinktime_engine::{Distribution, Span};

use super::disks::DisksPlan;
use super::parameters::{
    AlgorithmName, ClassParameters, Parameters, ScheduleName, ServiceParameters, VersionName,
};
use super::periods::{Period, experiment};
use super::queues::Limits;
use super::schedule::{Population, Schedule};
use super::services::{Costs, FreeFret, KINDS, Kind, Service};
use super::users::{CLASSES, Class, Variety};
use crate::kernel::{ParameterError, Settings, refuse};

/// FREE and FRET in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Those of version II.
    Old,
    /// Those of version III.
    New,
    /// New on Monday and Thursday of one week and on Tuesday and Wednesday of the next, old on other days.
    Counterbalanced,
}

/// Activities whose CP time no counter includes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unmeasured {
    /// Mean CP time of a log-on [s]; it varies as a gamma variate of shape 2.
    pub log_on_s: f64,
    /// Mean CP time of a log-off [s]; the same.
    pub log_off_s: f64,
    /// Large activities per day of running [1/day].
    pub per_day: f64,
    /// Mean CP time of a large activity, exponential [s].
    pub each_s: f64,
    /// CP time of a piece: a large activity comes in pieces.
    pub piece: Span,
    /// Mean pause between pieces, exponential [s].
    pub pause_s: f64,
}

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Days and hours in which the machine is up.
    pub schedule: Schedule,
    /// Users who want to be signed on.
    pub population: Population,
    /// Standard deviation of the logarithm of a day's factor on their number.
    pub day_sigma: f64,
    /// Observations after which the run ends; 0: it ends with its length.
    pub observations: u64,
    /// Restarts of the system per day of running [1/day].
    pub restarts_per_day: f64,
    /// User identifications, the operator's included.
    pub users: u32,
    /// Demands by class, in the order of [`CLASSES`].
    pub classes: Vec<Class>,
    /// Demands of the operator, whose virtual machine runs DUSETIMR.
    pub operator: Class,
    /// Problem state time of a reading per signed-on user [s].
    pub reading_user_s: f64,
    /// Shares of the classes among sessions that begin on a weekday from 8 to 17.
    pub mix_day: Vec<f64>,
    /// The same after 17.
    pub mix_evening: Vec<f64>,
    /// The same before 8 and at weekends.
    pub mix_night: Vec<f64>,
    /// Standard deviation of the logarithm of a day's factor on the share of guests.
    pub day_guest_sigma: f64,
    /// Spread of tasks and sessions.
    pub variety: Variety,
    /// Problem state time of a typed or printed line.
    pub line: Span,
    /// Time a terminal takes to type a line.
    pub line_time: Span,
    /// Time in which the printer prints a spool block.
    pub printer_block: Span,
    /// Mean time a printed file is held before the printer takes it, exponential [s].
    pub print_delay_s: f64,
    /// CP time of requests.
    pub costs: Costs,
    /// Largest relative change of CP's path lengths with the state of its tables and chains.
    pub state_spread: f64,
    /// Mean time until that state changes [s].
    pub state_s: f64,
    /// FREE and FRET in force.
    algorithm: Algorithm,
    /// Activities whose CP time no counter includes.
    pub unmeasured: Unmeasured,
    /// Limits of the queues.
    pub limits: Limits,
    /// Page frames that users can have.
    pub frames: u32,
    /// Share of the pages losing their frame that must be written out.
    pub changed_share: f64,
    /// The paging drum.
    pub drum: DrumPlan,
    /// Spindles and channels of the users' virtual disks.
    pub disks: DisksPlan,
}

/// Page frames of a core box: 256 KB of 4096-byte pages.
const BOX_FRAMES: u64 = 64;

impl Config {
    pub fn new(parameters: &Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        let period = parameters.period;
        let boxes = parameters.core_boxes.or(period.core_boxes).round();
        let version_two = match parameters.version {
            VersionName::OfPeriod => period.version_two,
            version => version == VersionName::Two,
        };
        let config = Config {
            schedule: match parameters.schedule {
                ScheduleName::OfPeriod => period.schedule,
                ScheduleName::Experiment => experiment(period),
            },
            population: Population {
                first_shift: parameters.first_shift.or(period.first_shift),
                evening: parameters.evening.or(period.evening),
                night: parameters.night.or(period.night),
                weekend: parameters.weekend.or(period.weekend),
            },
            day_sigma: parameters.day_sigma,
            observations: parameters.observations.or(observations(parameters)) as u64,
            restarts_per_day: parameters.restarts_per_day,
            users: parameters.users as u32,
            // In the order of `users::CLASSES`.
            classes: [&parameters.edit, &parameters.develop, &parameters.compute, &parameters.guest]
                .map(class)
                .into(),
            operator: operator(parameters),
            reading_user_s: parameters.reading_user_time,
            mix_day: mix(settings, "mix_day", &parameters.mix_day)?,
            mix_evening: mix(settings, "mix_evening", &parameters.mix_evening)?,
            mix_night: mix(settings, "mix_night", &parameters.mix_night)?,
            day_guest_sigma: parameters.day_guest_sigma,
            variety: variety(parameters),
            line: parameters.line_problem_time,
            line_time: parameters.line_time,
            printer_block: parameters.printer_block_time,
            print_delay_s: parameters.print_delay,
            costs: costs(parameters, period, version_two),
            state_spread: parameters.state_spread,
            state_s: parameters.state_time,
            algorithm: match parameters.free_fret {
                AlgorithmName::Old => Algorithm::Old,
                AlgorithmName::New => Algorithm::New,
                AlgorithmName::Counterbalanced => Algorithm::Counterbalanced,
                AlgorithmName::OfVersion if version_two => Algorithm::Old,
                AlgorithmName::OfVersion => Algorithm::New,
            },
            unmeasured: Unmeasured {
                log_on_s: parameters.log_on_time,
                log_off_s: parameters.log_off_time,
                per_day: parameters.activities,
                each_s: parameters.activity_time,
                piece: parameters.piece_time,
                pause_s: parameters.piece_pause,
            },
            limits: limits(parameters, boxes),
            // Saturating: too many pages for CP leave none, which `check` refuses with a remedy.
            frames: ((boxes as u64 * BOX_FRAMES).saturating_sub(parameters.cp_pages)) as u32,
            changed_share: parameters.changed_share,
            drum: drum(parameters),
            disks: disks(parameters),
        };
        config.check(parameters, settings)?;
        Ok(config)
    }

    /// Refuses a storage that the users of the queues could fill with one page each.
    fn check(&self, parameters: &Parameters, settings: &Settings) -> Result<(), ParameterError> {
        let queued: u32 = self.limits.users.iter().sum();
        if self.frames <= queued {
            let remedy = format!(
                "{} page frames are left for users, of whom {queued} may be in the queues: give CP fewer pages, \
                 more core_boxes, or smaller queues",
                self.frames
            );
            return Err(refuse!(settings, parameters.cp_pages, &remedy));
        }
        Ok(())
    }

    /// True if the new FREE and FRET are in force on `day`, counted from the first one.
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

/// Readings after which the run ends, where none are given; 0: never.
fn observations(parameters: &Parameters) -> f64 {
    if parameters.schedule == ScheduleName::OfPeriod { parameters.period.observations } else { 0.0 }
}

/// Demands of a class, as its sessions draw them.
fn class(parameters: &ClassParameters) -> Class {
    Class {
        think: parameters.think.clone(),
        problem: parameters.problem.clone(),
        vsio_gap_s: parameters.vsio_gap,
        vsio_sigma: parameters.vsio_sigma,
        output_lines: parameters.output_lines,
        print_share: parameters.print_share,
        print_lines: parameters.print_lines,
        working_set: parameters.working_set,
        reference_rate: parameters.reference_rate,
        new_pages: parameters.new_pages,
    }
}

/// Demands of DUSETIMR: time and VSIO of a reading, a few pages; it types nothing but is given a line.
fn operator(parameters: &Parameters) -> Class {
    let time = parameters.reading_time;
    Class {
        think: Distribution::deterministic(0.0),
        problem: Distribution::deterministic(time),
        // The gap that gives a reading its mean number of VSIO over its problem state time.
        vsio_gap_s: time / parameters.reading_vsio,
        vsio_sigma: 0.0,
        output_lines: 1.0,
        print_share: 0.0,
        print_lines: 0.0,
        working_set: parameters.reading_pages,
        reference_rate: parameters.edit.reference_rate,
        new_pages: 0.0,
    }
}

/// Shares of the classes, not negative, of which at least one is above zero.
fn mix(settings: &Settings, name: &str, value: &Value) -> Result<Vec<f64>, ParameterError> {
    let remedy = format!("give a list of {} shares, for {}", CLASSES.len(), CLASSES.join(", "));
    let refuse = || settings.refuse(name, &remedy);
    let given = value.as_array().ok_or_else(refuse)?;
    let shares: Vec<f64> = given.iter().filter_map(Value::as_f64).filter(|share| *share >= 0.0).collect();
    let sum: f64 = shares.iter().sum();
    if shares.len() != CLASSES.len() || given.len() != CLASSES.len() || !sum.is_finite() || sum <= 0.0 {
        return Err(refuse());
    }
    Ok(shares)
}

fn variety(parameters: &Parameters) -> Variety {
    Variety {
        task_s: parameters.task,
        session_s: parameters.session,
        break_share: parameters.break_share,
        break_s: parameters.break_time,
        complexity_spread: parameters.complexity_spread,
        line_complexity_spread: parameters.line_complexity_spread,
        privileged_spread: parameters.privileged_spread,
        problem_sigma: parameters.problem_sigma,
        working_set_sigma: parameters.working_set_sigma,
        reference_sigma: parameters.reference_sigma,
        lines_per_block: parameters.lines_per_block,
        lines_sigma: parameters.lines_sigma,
    }
}

/// CP time of requests in the version in force.
fn costs(parameters: &Parameters, period: &Period, version_two: bool) -> Costs {
    let service = |service: &ServiceParameters| Service {
        path: service.path,
        calls: service.free_calls,
        passes: service.passes,
    };
    let mut services = [Service { path: Span::ZERO, calls: 0.0, passes: 0.0 }; KINDS];
    services[Kind::Vsio as usize] = service(&parameters.vsio);
    services[Kind::Vmio as usize] = service(&parameters.vmio);
    services[Kind::PageIo as usize] = service(&parameters.page_io);
    services[Kind::SpoolIo as usize] = service(&parameters.spool_io);
    if version_two {
        // With the old FREE and FRET the only difference between the versions (Table 11).
        services[Kind::PageIo as usize].path += parameters.page_io_path_version_two;
    }
    let base = Span::from_seconds(parameters.base_path.or(period.base_s));
    services[Kind::Base as usize] = Service { path: base, calls: 0.0, passes: parameters.base_passes };
    let old_free_fret = FreeFret { free: parameters.free_time_old, fret: parameters.fret_time_old };
    let new_free_fret = FreeFret { free: parameters.free_time_new, fret: parameters.fret_time_new };
    Costs {
        services,
        variable: parameters.path_variation,
        privileged: parameters.privileged_share.or(period.privileged),
        old_free_fret,
        new_free_fret,
        find: parameters.find_time,
        redispatch: parameters.redispatch_time,
    }
}

/// Limits of the queues: those per core box times the boxes.
fn limits(parameters: &Parameters, boxes: f64) -> Limits {
    let queues = [&parameters.interactive, &parameters.batch];
    Limits {
        // At least one user, or nobody could ever run.
        users: queues.map(|queue| ((queue.users_per_box * boxes).round() as u32).max(1)),
        cpu: queues.map(|queue| queue.cpu_limit),
        slice: parameters.time_slice,
    }
}

fn drum(parameters: &Parameters) -> DrumPlan {
    DrumPlan {
        organisation: parameters.drum_organisation,
        revolution: parameters.drum_revolution,
        pages: parameters.drum_pages,
        start: parameters.drum_start,
    }
}

fn disks(parameters: &Parameters) -> DisksPlan {
    DisksPlan {
        spindles: parameters.spindles as u32,
        channels: parameters.channels as u32,
        seek_share: parameters.seek_share,
        longest_seek: parameters.longest_seek,
        revolution: parameters.disk_revolution,
        transfer: parameters.disk_transfer,
    }
}
