//! Options of a recording: defaults, limits, and their form in the manifest.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use thinktime_log::Session;

use crate::error::RecorderError;
use crate::kernel::clock::{Clock, JITTER_MAX, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::processes::{By, Method};
use crate::recording::exports::listening_address;
use crate::trace::Attach;

/// Whether users stand in the log by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Anonymity {
    /// By their names.
    #[default]
    Named,
    /// By pseudonyms of this session.
    OfSession,
    /// By pseudonyms of a key in a file, which are the same in every log with that key.
    OfFile(PathBuf),
}

impl Anonymity {
    /// The choice that two options make.
    pub fn of(anonymous: bool, key: Option<PathBuf>) -> Anonymity {
        match (key, anonymous) {
            (Some(path), _) => Anonymity::OfFile(path),
            (None, true) => Anonymity::OfSession,
            (None, false) => Anonymity::Named,
        }
    }
}

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Mean time between samples, at least [`INTERVAL_MIN`].
    pub interval: Duration,
    /// Length of the recording; `None` for one that is ended from outside.
    pub duration: Option<Duration>,
    /// Share of the interval by which each sample is moved either way at random, 0 to 0.45: samples must be
    /// in step neither with the tick nor with the load.
    pub jitter: f64,
    /// Seed of the random numbers that move the samples.
    pub seed: u64,
    /// Key by which processes belong to users.
    pub by: By,
    /// Way in which processes are read.
    pub method: Method,
    /// Most rows of commands in an interval; the other commands of each user have one row together.
    pub commands_max: usize,
    /// Commands are named by their whole line, with its arguments, which may be private.
    pub arguments: bool,
    /// Programs in the kernel count where the time of tasks goes.
    pub trace: bool,
    /// The same, and every event is written.
    pub trace_events: bool,
    /// How these programs are attached.
    pub trace_attach: Attach,
    /// The modes of the CPUs are sampled, where the kernel permits it.
    pub mode_sampling: bool,
    /// Time between two readings of what changes slowly: who is there, and the memory of users and groups.
    pub gauges_every: Duration,
    /// Names of users, or pseudonyms.
    pub anonymity: Anonymity,
    /// File tree to record; `/` except in tests.
    pub root: PathBuf,
    /// Largest size of the log; its oldest parts are removed to keep it [byte].
    pub keep_bytes: Option<u64>,
    /// Largest age of a part of the log; older ones are removed.
    pub keep_age: Option<Duration>,
    /// Address at which Prometheus finds the totals.
    pub listen: Option<SocketAddr>,
    /// File of the totals for node_exporter's textfile collector; it ends in `.prom`.
    pub textfile: Option<PathBuf>,
}

impl Default for RecordOptions {
    fn default() -> Self {
        RecordOptions {
            interval: Duration::from_secs(5),
            duration: None,
            jitter: 0.1,
            seed: 0,
            by: By::Uid,
            method: Method::Auto,
            commands_max: 20,
            arguments: false,
            trace: false,
            trace_events: false,
            trace_attach: Attach::Auto,
            mode_sampling: true,
            gauges_every: Duration::from_secs(30),
            anonymity: Anonymity::Named,
            root: PathBuf::from("/"),
            keep_bytes: None,
            keep_age: None,
            listen: None,
            textfile: None,
        }
    }
}

/// The options as Python passes them: plain numbers and words, with defaults for those left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GivenOptions {
    interval_s: Option<f64>,
    duration_s: Option<f64>,
    jitter: Option<f64>,
    seed: Option<u64>,
    by: By,
    method: Method,
    commands: Option<usize>,
    arguments: bool,
    trace: bool,
    trace_events: bool,
    trace_attach: Attach,
    mode_sampling: Option<bool>,
    gauges_every_s: Option<f64>,
    anonymous: bool,
    anonymous_key: Option<PathBuf>,
    root: Option<PathBuf>,
    keep_bytes: Option<u64>,
    keep_days: Option<f64>,
    listen: Option<String>,
    textfile: Option<PathBuf>,
}

impl TryFrom<GivenOptions> for RecordOptions {
    type Error = RecorderError;

    fn try_from(given: GivenOptions) -> Result<RecordOptions, RecorderError> {
        let time = |option, seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| wrong(option, seconds, "must be a number of seconds from 0"))
        };
        let default = RecordOptions::default();
        Ok(RecordOptions {
            interval: given.interval_s.map_or(Ok(default.interval), |seconds| time("interval", seconds))?,
            duration: given.duration_s.map(|seconds| time("duration", seconds)).transpose()?,
            jitter: given.jitter.unwrap_or(default.jitter),
            seed: given.seed.unwrap_or(default.seed),
            by: given.by,
            method: given.method,
            commands_max: given.commands.unwrap_or(default.commands_max),
            arguments: given.arguments,
            trace: given.trace || given.trace_events,
            trace_events: given.trace_events,
            trace_attach: given.trace_attach,
            mode_sampling: given.mode_sampling.unwrap_or(default.mode_sampling),
            gauges_every: given
                .gauges_every_s
                .map_or(Ok(default.gauges_every), |seconds| time("gauges-every", seconds))?,
            anonymity: Anonymity::of(given.anonymous, given.anonymous_key),
            root: given.root.unwrap_or(default.root),
            keep_bytes: given.keep_bytes,
            keep_age: given.keep_days.map(days).transpose()?,
            listen: given.listen.as_deref().map(listening_address).transpose()?,
            textfile: given.textfile,
        })
    }
}

/// Shortest interval: below it, counters in ticks of 10 ms are mostly rounding.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// `days` days of 24 hours as a time; an error unless they are above zero.
pub fn days(days: f64) -> Result<Duration, RecorderError> {
    Duration::try_from_secs_f64(days * 86400.0)
        .ok()
        .filter(|age| !age.is_zero())
        .ok_or_else(|| wrong("keep-days", days, "must be a number of days above 0"))
}

pub(crate) fn wrong(option: &'static str, given: impl ToString, problem: &str) -> RecorderError {
    RecorderError::Option { option, given: given.to_string(), problem: problem.into() }
}

impl RecordOptions {
    /// An error for the first option that is out of its range, naming the range.
    pub fn check(&self) -> Result<(), RecorderError> {
        if self.interval < INTERVAL_MIN {
            let given = format!("{}s", self.interval.as_secs_f64());
            return Err(wrong("interval", given, "must be at least 0.1s"));
        }
        if !(0.0..=JITTER_MAX).contains(&self.jitter) {
            return Err(wrong("jitter", self.jitter, "must be a share of the interval from 0 to 0.45"));
        }
        if self.gauges_every < Duration::from_secs(1) {
            let given = format!("{}s", self.gauges_every.as_secs_f64());
            return Err(wrong("gauges-every", given, "must be at least 1s"));
        }
        if self.arguments && self.anonymity != Anonymity::Named {
            let problem = "names commands by their whole line, which may name people, and the recording is to be \
                           anonymous; leave out --arguments, or --anonymous and --anonymous-key";
            return Err(wrong("arguments", "true", problem));
        }
        if self.trace_attach != Attach::Auto && !self.trace {
            let problem = "says how a trace is attached, and none is wanted; add --trace, or leave it out";
            return Err(wrong("trace-attach", self.trace_attach.word(), problem));
        }
        if self.trace_attach == Attach::Tracepoint && self.by == By::Session {
            let problem =
                "tells nothing of sessions; use --by uid, or --trace-attach tp_btf or raw_tracepoint";
            return Err(wrong("trace-attach", self.trace_attach.word(), problem));
        }
        if self.trace && matches!(self.by, By::Cgroup | By::None) {
            let problem =
                "the kernel counts by user or session; use --by uid or --by session, or leave out --trace";
            return Err(wrong("by", if self.by == By::Cgroup { "cgroup" } else { "none" }, problem));
        }
        if self.trace && !Root::new(&self.root).is_machine() {
            let problem = "is not this machine, and only this machine can be traced; leave out --trace";
            return Err(wrong("root", self.root.display(), problem));
        }
        if self.duration == Some(Duration::ZERO) {
            return Err(wrong("duration", "0s", "must be above 0"));
        }
        // All other files are optional, and missing ones are named in the manifest.
        let root = Root::new(&self.root);
        if !root.exists("/proc/stat") {
            let given = self.root.display();
            return Err(wrong("root", given, "has no file proc/stat; name the folder that contains proc"));
        }
        Ok(())
    }

    /// Session with which a log is opened for this recording.
    pub fn session(&self) -> Session {
        let root = Root::new(&self.root);
        Session {
            source: "linux".into(),
            boot_id: host::boot_id(&root),
            machine: self.machine(&root),
            options: self.describe(),
            start_us: SystemClock.now().wall_ns / 1000,
            ..Session::default()
        }
    }

    /// The machine; without its name if the log is anonymous, since many are named after their owner.
    fn machine(&self, root: &Root) -> Json {
        let mut machine = host::describe(root);
        if self.anonymity != Anonymity::Named {
            machine["hostname"] = Json::Null;
        }
        machine
    }

    fn describe(&self) -> Json {
        json!({
            "interval_s": self.interval.as_secs_f64(),
            "duration_s": self.duration.map(|duration| duration.as_secs_f64()),
            "jitter": self.jitter,
            "seed": self.seed,
            "by": self.by,
            "method": self.method,
            "commands": self.commands_max,
            "arguments": self.arguments,
            "trace": self.trace,
            "trace_events": self.trace_events,
            "trace_attach": self.trace_attach,
            "mode_sampling": self.mode_sampling,
            "gauges_every_s": self.gauges_every.as_secs_f64(),
            // Not the path of the key, which may be a name.
            "anonymous": self.anonymity != Anonymity::Named,
            "keep_bytes": self.keep_bytes,
            "keep_age_s": self.keep_age.map(|age| age.as_secs_f64()),
        })
    }
}
