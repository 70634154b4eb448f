//! The parameters of `parameters.toml`, as fields.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thinktime_engine::drum::Organisation;
use thinktime_engine::{Distribution, Span};

use super::periods::{PERIODS, Period};
use crate::kernel::{OrOwn, choices};

choices! {
    ScheduleName { OfPeriod, Experiment }
    AlgorithmName { OfVersion, Old, New, Counterbalanced }
}

/// Version of CP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum VersionName {
    #[serde(rename = "of_period")]
    OfPeriod,
    #[serde(rename = "II")]
    Two,
    #[serde(rename = "III")]
    Three,
}

fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Period, D::Error> {
    let name = String::deserialize(deserializer)?;
    let period = PERIODS.iter().find(|period| period.name == name);
    period.ok_or_else(|| D::Error::custom(format!("there is no period {name}")))
}

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Period whose configuration, shifts and users are simulated: version of CP and number of core boxes.
    #[serde(deserialize_with = "named")]
    pub period: &'static Period,
    /// Recorded days: those of the period, or Monday to Thursday of two weeks in the first shift.
    pub schedule: ScheduleName,
    /// Readings of DUSETIMR, without the first of each system run, after which the run ends; 0: no limit.
    pub observations: OrOwn,
    /// Version of CP: II has the old free-fret, and a longer path for a page.
    pub version: VersionName,
    /// Boxes of 256 KB of main storage.
    pub core_boxes: OrOwn,
    /// Algorithm of FREE and FRET; counterbalanced: new on Monday and Thursday of one week and on Tuesday and Wednesday
    /// of the next, old on other days.
    pub free_fret: AlgorithmName,
    /// Users who want to be signed on at the peak of the first shift [user].
    pub first_shift: OrOwn,
    /// Users who want to be signed on at five in the afternoon, independent of the shift [user].
    pub evening: OrOwn,
    /// Users who want to be signed on from midnight to eight, independent of the shift [user].
    pub night: OrOwn,
    /// Users who want to be signed on on Saturday and Sunday [user].
    pub weekend: OrOwn,
    /// Standard deviation of the logarithm of a day's factor on these numbers of users.
    pub day_sigma: f64,
    /// User identifications, including the operator's; the largest number of signed-on users [user].
    pub users: u64,
    /// Restarts of the system per day of running; counters and users start again five minutes later [1/day].
    pub restarts_per_day: f64,
    /// The interactive queue.
    pub interactive: QueueParameters,
    /// The queue of long runs.
    pub batch: QueueParameters,
    /// Problem state time after which the next user of the queue runs [s].
    pub time_slice: Span,
    /// Pages of main storage reserved for CP [page].
    pub cp_pages: u64,
    /// Share of the pages losing their frame that were changed and must be written out.
    pub changed_share: f64,
    /// Order of page transfers: order of arrival, or the page that passes the heads first.
    pub drum_organisation: Organisation,
    /// Time of a revolution of the paging drum [s].
    pub drum_revolution: Span,
    /// Pages in a revolution [page].
    pub drum_pages: f64,
    /// Time between the end of a transfer and the start of the next search [s].
    pub drum_start: Span,
    /// Disk spindles with the users' virtual disks.
    pub spindles: u64,
    /// Selector channels, each held from the end of a seek to the end of the transfer.
    pub channels: u64,
    /// Share of requests before which the arm moves.
    pub seek_share: f64,
    /// Upper limit of the seek time, which is uniform from zero [s].
    pub longest_seek: Span,
    /// Time of a revolution [s].
    pub disk_revolution: Span,
    /// Transfer time of a request [s].
    pub disk_transfer: Span,
    /// Mean number of printed lines per spool block; a block is written once and read once [line].
    pub lines_per_block: f64,
    /// Time in which the printer prints a block [s].
    pub printer_block_time: Span,
    /// Mean time a printed file is held before the printer takes it, exponential [s].
    pub print_delay: f64,
    /// Problem state time of a reading [s].
    pub reading_time: f64,
    /// Problem state time of a reading per signed-on user [s].
    pub reading_user_time: f64,
    /// Mean number of VSIO of a reading, to the operator's disk [request].
    pub reading_vsio: f64,
    /// Pages used by DUSETIMR [page].
    pub reading_pages: f64,
    /// Virtual selector I/O: requests of virtual machines to their disks.
    pub vsio: ServiceParameters,
    /// Virtual multiplexer I/O: lines of terminals, printed lines.
    pub vmio: ServiceParameters,
    /// Page I/O: a page read from or written to the drum.
    pub page_io: ServiceParameters,
    /// Spool I/O: a block of printed lines written to or read from a disk.
    pub spool_io: ServiceParameters,
    /// Additional path length of a page I/O in version II [s].
    pub page_io_path_version_two: Span,
    /// Largest relative change of CP's path lengths with the state of its tables and chains, uniform; lines and
    /// spooling are not affected.
    pub state_spread: f64,
    /// Mean time until the state changes, exponential [s].
    pub state_time: f64,
    /// Share of a path length that varies from request to request, exponential.
    pub path_variation: f64,
    /// CP time per second of problem state time: privileged instructions and similar work, without dispatch.
    pub privileged_share: OrOwn,
    /// CP time per second of real time, without dispatch and unmeasured activities [s].
    pub base_path: OrOwn,
    /// CPU time of a call of the old FREE [s].
    pub free_time_old: Span,
    /// CPU time of a call of the old FRET [s].
    pub fret_time_old: Span,
    /// CPU time of a call of the new FREE [s].
    pub free_time_new: Span,
    /// CPU time of a call of the new FRET [s].
    pub fret_time_new: Span,
    /// CP time of a pass through the dispatcher after which another user or nobody runs [s].
    pub find_time: Span,
    /// CP time of a pass through the dispatcher after which the same user continues [s].
    pub redispatch_time: Span,
    /// Passes through the dispatcher per second of real time, independent of requests [pass].
    pub base_passes: f64,
    /// Mean CP time of a log-on, which no counter includes [s].
    pub log_on_time: f64,
    /// Mean CP time of a log-off, which no counter includes [s].
    pub log_off_time: f64,
    /// Large unmeasured activities per day of running, such as directory maintenance and accounting [1/day].
    pub activities: f64,
    /// Mean CP time of a large unmeasured activity, exponential [s].
    pub activity_time: f64,
    /// CP time of one piece of an unmeasured activity [s].
    pub piece_time: Span,
    /// Mean pause between pieces, exponential [s].
    pub piece_pause: f64,
    /// Mean time signed on [s].
    pub session: f64,
    /// Mean length of a task [s].
    pub task: f64,
    /// Share of tasks preceded by a break.
    pub break_share: f64,
    /// Mean length of a break [s].
    #[serde(rename = "break")]
    pub break_time: f64,
    /// Shares of edit, develop, compute and guest among sessions that begin on a weekday from 8 to 17.
    pub mix_day: Value,
    /// Shares of edit, develop, compute and guest among sessions that begin on a weekday after 17.
    pub mix_evening: Value,
    /// Shares of edit, develop, compute and guest among sessions that begin before 8 or at weekends.
    pub mix_night: Value,
    /// Standard deviation of the logarithm of a day's factor on the share of guests.
    pub day_guest_sigma: f64,
    /// Half-width of the uniform distribution around 1 of a task's request complexity, for each kind of request.
    pub complexity_spread: f64,
    /// Half-width of the uniform distribution around 1 of the complexity of a task's lines and spooling.
    pub line_complexity_spread: f64,
    /// Half-width of the uniform distribution around 1 of a task's privileged work per problem state time: little in an
    /// editor, much in a guest.
    pub privileged_spread: f64,
    /// Standard deviation of the logarithm of the problem state time of a task's interactions.
    pub problem_sigma: f64,
    /// Standard deviation of the logarithm of the number of pages a task refers to.
    pub working_set_sigma: f64,
    /// Standard deviation of the logarithm of a task's rate of references to missing pages.
    pub reference_sigma: f64,
    /// Standard deviation of the logarithm of a task's printed lines per spool block.
    pub lines_sigma: f64,
    /// Sessions that edit.
    pub edit: ClassParameters,
    /// Sessions that develop programs: editing, translating, trying.
    pub develop: ClassParameters,
    /// Sessions with long computations.
    pub compute: ClassParameters,
    /// Sessions of an operating system in a virtual machine.
    pub guest: ClassParameters,
    /// Problem state time of a typed or printed line [s].
    pub line_problem_time: Span,
    /// Time a terminal takes to type a line; the user thinks afterwards [s].
    pub line_time: Span,
}

/// One of the two queues of CP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueParameters {
    /// Largest number of users in the queue per core box [user].
    pub users_per_box: f64,
    /// CPU time after which a user is dropped from the queue [s].
    pub cpu_limit: Span,
}

/// Costs of one kind of request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceParameters {
    /// Mean CP time of a request, without FREE, FRET and dispatch, in version III [s].
    pub path: Span,
    /// Mean number of FREE calls, and of FRET calls, per request [call].
    pub free_calls: f64,
    /// Additional passes through the dispatcher caused by the interrupts of a request [pass].
    pub passes: f64,
}

/// Demands of a class of sessions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassParameters {
    /// Time from the end of a reply to the next line [s].
    pub think: Distribution,
    /// Problem state time of an interaction [s].
    pub problem: Distribution,
    /// Mean problem state time between two VSIO [s].
    pub vsio_gap: f64,
    /// Standard deviation of the logarithm of a task's VSIO per second of problem state.
    pub vsio_sigma: f64,
    /// Mean number of lines in a reply [line].
    pub output_lines: f64,
    /// Share of interactions that print.
    pub print_share: f64,
    /// Mean number of lines printed by such an interaction [line].
    pub print_lines: f64,
    /// Mean number of pages a task refers to [page].
    pub working_set: f64,
    /// Page exceptions per second of problem state with none of its pages in core [1/s].
    pub reference_rate: f64,
    /// New pages per second of problem state, each replacing one of its own [1/s].
    pub new_pages: f64,
}
