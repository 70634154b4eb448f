//! The recording loop: wait for the deadline, take a sample, write the interval since the sample before.
//!
//! `Recorder::run` is the loop; `Recorder::sample` takes one sample, and `rows.rs` makes its rows.

pub mod control;
pub mod exports;
mod lateness;
pub mod options;
mod rows;
mod summary;

use std::io;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value as Json, json};
use thinktime_log::{Incident, LogError, LogWriter, SharedWriter, TableId};

use crate::error::RecorderError;
use crate::kernel::clock::{Clock, Elapsed, Moment, Schedule, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::people::People;
use crate::processes::Method;
use crate::processes::watch::Watch;
use crate::recording::control::{Control, Progress};
use crate::recording::exports::Exports;
use crate::recording::lateness::{Clocks, Cycle, Meter};
use crate::recording::options::{Anonymity, RecordOptions};
use crate::recording::rows::Reading;
use crate::recording::summary::Tally;
use crate::sample::counters::Differences;
use crate::sample::devices::Devices;
use crate::sample::modes::{ModeSampler, Modes, why_unsampled};
use crate::sample::rows::SystemSheets;
use crate::sample::system::{Snapshot, SystemReader};
use crate::sample::usage_rows::UsageSheets;
use crate::trace::Trace;

/// Period at which old parts are removed, and at which the facts of a session may be written to its log.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
/// Age at which they are written. A shorter session has them written when they are older than a tenth of it: a crash
/// loses no more, and who reads along sees no less, while the facts of a long one take few bytes.
const FACTS_AGE_MAX: Duration = Duration::from_secs(600);

/// Summary of a recording.
#[derive(Clone, Debug, Serialize)]
pub struct RecordSummary {
    /// Samples taken: every interval that ended. The sum of the samples in the log, of those lost, and of the
    /// intervals dropped.
    pub samples_taken: u64,
    /// Samples in the log.
    pub samples: u64,
    /// Samples that are not in the log, as the incidents `rows_lost` say.
    pub samples_lost: u64,
    /// Samples not taken because the recorder was late.
    pub missed_deadlines: u64,
    /// Intervals that could not be used: suspension, reboot, or a clock that stood still.
    pub dropped_intervals: u64,
    /// Facts as in the manifest under `recorder`.
    pub facts: Json,
}

impl RecordSummary {
    fn of(facts: Json, tally: &Tally) -> RecordSummary {
        let mut summary = RecordSummary {
            samples_taken: tally.taken(),
            samples: 0,
            samples_lost: 0,
            missed_deadlines: tally.missed_deadlines,
            dropped_intervals: tally.dropped,
            facts,
        };
        summary.lose(0);
        summary
    }

    /// Says that `lost` of the samples are not in the log.
    fn lose(&mut self, lost: u64) {
        let kept = self.samples_taken - self.dropped_intervals;
        self.samples_lost = lost.min(kept);
        self.samples = kept - self.samples_lost;
    }

    /// The samples taken, and what became of them.
    pub fn account(&self) -> String {
        let dropped = match self.dropped_intervals {
            0 => String::new(),
            dropped => format!(", {dropped} dropped (suspended, rebooted, or a clock stood still)"),
        };
        let noun = if self.samples_taken == 1 { "sample" } else { "samples" };
        format!(
            "{} {noun} taken: {} in the log, {} lost{dropped}",
            self.samples_taken, self.samples, self.samples_lost
        )
    }
}

/// Records this machine into `writer` until `control` stops it or the duration is over.
///
/// The writer is not finished: other sources may share it.
pub fn record(
    writer: &SharedWriter,
    options: &RecordOptions,
    control: &Control,
) -> Result<RecordSummary, RecorderError> {
    options.check()?;
    let exports = Exports::open(options)?;
    let (mut summary, outcome) = record_all(writer, options, control, exports)?;
    outcome?;
    // Of every source that shares the writer: whose appends were lost, nobody knows.
    summary.lose(locked(writer).lost());
    Ok(summary)
}

/// The summary of a recording that began, and the error that ended it if there was one.
fn record_all(
    writer: &SharedWriter,
    options: &RecordOptions,
    control: &Control,
    exports: Exports,
) -> Result<(RecordSummary, Result<(), RecorderError>), RecorderError> {
    let mut recorder = Recorder::open(writer, options, SystemClock)?;
    if let Some(notice) = recorder.offer(exports) {
        control.notice(&notice);
    }
    let outcome = recorder.run(writer, control);
    let outcome = outcome.and(recorder.finish_trace(writer, control));
    // Also after an error: the samples that were taken stand in the manifest wherever it can be written.
    let facts = recorder.facts();
    let written = locked(writer).set("recorder", facts.clone());
    let outcome = outcome.and(written.map_err(RecorderError::from));
    Ok((RecordSummary::of(facts, &recorder.tally), outcome))
}

/// The writer, for this thread alone.
fn locked(writer: &SharedWriter) -> MutexGuard<'_, LogWriter> {
    // A writer whose other user panicked still holds only complete blocks, so that it can be used.
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Identifiers of the tables in the log.
#[derive(Clone, Copy, Debug)]
struct Tables {
    samples: TableId,
    users: TableId,
    commands: TableId,
    cpus: TableId,
    disks: TableId,
    interfaces: TableId,
    presence: TableId,
    groups: TableId,
    /// Declared only where it is recorded.
    latencies: Option<TableId>,
}

/// The previous sample.
struct Previous {
    moment: Moment,
    snapshot: Snapshot,
    modes: Option<Modes>,
}

/// State of a recording between samples. Its size depends on the number of processes, devices and users
/// alive, and not on time.
pub(crate) struct Recorder<C> {
    options: RecordOptions,
    clock: C,
    system: SystemReader,
    /// `None` where the kernel does not permit it.
    modes: Option<ModeSampler>,
    watch: Watch,
    trace: Option<Trace>,
    devices: Devices,
    differences: Differences,
    sheets: SystemSheets,
    usage: UsageSheets,
    people: People,
    tables: Tables,
    before: Option<Previous>,
    tally: Tally,
    /// CPU time of this thread when the last row was made [ns].
    cpu_ns: u64,
    /// Bytes written for the last row.
    written: u64,
    /// Monotonic time of the last housekeeping [ns].
    housekeeping_ns: i64,
    /// Monotonic times at which facts were written first and last [ns].
    facts_ns: Option<(i64, i64)>,
    /// Samples wait in memory for room on the disk.
    waits: bool,
    /// Samples lost, as the user was last told.
    lost: u64,
    /// Sentences for the user that were not passed on yet.
    notices: Vec<String>,
    exports: Exports,
}

impl<C: Clock> Recorder<C> {
    pub(crate) fn open(
        writer: &SharedWriter,
        options: &RecordOptions,
        mut clock: C,
    ) -> Result<Recorder<C>, RecorderError> {
        let root = Root::new(&options.root);
        let cpu_ns = clock.thread_cpu_ns();
        let mut system = SystemReader::open(&root)
            .map_err(|source| crate::sample::system::ReadError::Io { path: "/proc/stat".into(), source })?;
        // A tree of files has no CPUs to sample; it lacks nothing, and neither does whoever asked for no samples.
        let samples_modes = options.mode_sampling && root.is_machine();
        let modes = samples_modes.then(|| ModeSampler::open(&root, options.interval)).and_then(|sampler| {
            sampler
                .inspect_err(|error| {
                    drop(system.missing.insert(ModeSampler::NAME.into(), why_unsampled(error)))
                })
                .ok()
        });
        let watch = Watch::open(&root, options).map_err(|source| cannot_watch(options, source))?;
        let mut trace = options.trace.then(|| Trace::open(options)).transpose()?;
        let sheets = SystemSheets::default();
        let usage = UsageSheets::new(watch.waits(), options.commands_max);
        let people = People::open(&root, options)?;
        let (presence, groups) = people.schemas();
        let mut open = locked(writer);
        // Declared even where a table stays empty: a reader can then distinguish no disks from not recorded.
        let tables = Tables {
            samples: open.declare(sheets.samples.schema.clone())?,
            users: open.declare(usage.users.schema.clone())?,
            commands: open.declare(usage.commands.schema.clone())?,
            cpus: open.declare(sheets.cpus.schema.clone())?,
            disks: open.declare(sheets.disks.schema.clone())?,
            interfaces: open.declare(sheets.interfaces.schema.clone())?,
            presence: open.declare(presence)?,
            groups: open.declare(groups)?,
            latencies: trace.as_ref().map(|trace| open.declare(trace.sheet.schema.clone())).transpose()?,
        };
        let events =
            options.trace_events.then(|| open.declare(thinktime_log::vocabulary::events())).transpose()?;
        let folder = open.dir().to_owned();
        drop(open);
        if let Some((trace, events)) = trace.as_mut().zip(events) {
            trace.begin(writer, events, &folder, options.anonymity != Anonymity::Named);
        }
        Ok(Recorder {
            options: options.clone(),
            clock,
            system,
            modes,
            watch,
            trace,
            devices: Devices::new(&root),
            differences: Differences::new(host::long_bits()),
            sheets,
            usage,
            people,
            tables,
            before: None,
            tally: Tally::default(),
            cpu_ns,
            written: 0,
            housekeeping_ns: 0,
            facts_ns: None,
            waits: false,
            lost: 0,
            notices: Vec::new(),
            exports: Exports::default(),
        })
    }

    /// Offers what is recorded from now on to Prometheus too; a sentence for the user on where.
    fn offer(&mut self, mut exports: Exports) -> Option<String> {
        let (sheets, usage, tables) = (&self.sheets, &self.usage, self.tables);
        let (_, groups) = self.people.schemas();
        let declared = [
            (tables.samples, &sheets.samples.schema),
            (tables.users, &usage.users.schema),
            (tables.commands, &usage.commands.schema),
            (tables.cpus, &sheets.cpus.schema),
            (tables.disks, &sheets.disks.schema),
            (tables.interfaces, &sheets.interfaces.schema),
            (tables.groups, &groups),
        ];
        exports.declare(declared, self.options.gauges_every);
        self.exports = exports;
        self.exports.notice()
    }

    /// Takes samples until the duration is over or `control` stops it.
    fn run(&mut self, writer: &SharedWriter, control: &Control) -> Result<(), RecorderError> {
        self.sample(writer, 0.0)?;
        // The first sample has no interval. It precedes the start reported to the caller, so that a load
        // started then is recorded completely.
        control.begin();
        // Deadlines on the monotonic clock: setting the wall clock must neither stop nor hurry the recording.
        let start_ns = self.clock.now().monotonic_ns;
        let mut schedule =
            Schedule::new(start_ns, self.options.interval, self.options.jitter, self.options.seed);
        let end_ns = self.options.duration.map_or(i64::MAX, |duration| {
            start_ns.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
        });
        self.housekeep(writer, start_ns)?;
        control.report(&self.progress(start_ns));
        let meter = Meter::open();
        let mut last: Option<Cycle> = None;
        let mut is_over = false;
        while !is_over {
            let began = meter.read(&mut self.clock);
            let last_ns = began.monotonic_ns - self.since_last_ns(began.monotonic_ns);
            let (planned_ns, missed) = schedule.next_deadline(began.monotonic_ns, last_ns);
            if missed > 0 {
                self.miss(writer, missed, last, &began)?;
            }
            // The last interval ends with the duration.
            let deadline_ns = planned_ns.min(end_ns);
            self.wait(writer, control, deadline_ns)?;
            let woke = meter.read(&mut self.clock);
            last = Some(Cycle { deadline_ns, began, woke });
            let now_ns = woke.monotonic_ns;
            is_over = control.is_stopped() || now_ns >= end_ns;
            // The remainder at the end is written if it is half an interval: shorter ones are mostly rounding. A
            // duration that is shorter than that is one sample: somebody asked for it.
            let is_only = now_ns >= end_ns && self.tally.taken() == 0;
            if !is_over || is_only || self.since_last_ns(now_ns) >= self.half_interval_ns() {
                let late_s =
                    if control.is_stopped() { 0.0 } else { (now_ns - deadline_ns).max(0) as f64 * 1e-9 };
                let sampled = self.sample(writer, late_s);
                self.notices.extend(self.exports.publish());
                for notice in self.notices.drain(..) {
                    control.notice(&notice);
                }
                sampled?;
                control.report(&self.progress(start_ns));
            }
            if now_ns - self.housekeeping_ns >= HOUSEKEEPING.as_nanos() as i64 {
                self.housekeep(writer, now_ns)?;
            }
        }
        Ok(())
    }

    /// Counts `missed` samples that were not taken, and says why: from the last wait and sample until `now`.
    fn miss(
        &mut self,
        writer: &SharedWriter,
        missed: u64,
        last: Option<Cycle>,
        now: &Clocks,
    ) -> Result<(), RecorderError> {
        let start = Cycle { deadline_ns: now.monotonic_ns, began: *now, woke: *now };
        let cause = last.unwrap_or(start).cause(now);
        self.tally.missed_deadlines += missed;
        *self.tally.missed_causes.entry(cause.name()).or_default() += missed;
        let incident = Incident { count: missed, ..Incident::now("missed_deadline", cause.detail()) };
        Ok(locked(writer).count(&incident)?)
    }

    /// Sleeps until the deadline or until stopped; starts new parts meanwhile.
    fn wait(
        &mut self,
        writer: &SharedWriter,
        control: &Control,
        deadline_ns: i64,
    ) -> Result<(), RecorderError> {
        loop {
            if control.takes_new_part() {
                locked(writer).seal()?;
                self.retain(writer)?;
            }
            if control.is_stopped() || self.clock.now().monotonic_ns >= deadline_ns {
                return Ok(());
            }
            control.sleep_until(deadline_ns.min(self.watch.due_ns()), &mut self.clock);
            if self.clock.now().monotonic_ns >= self.watch.due_ns() {
                self.watch
                    .drain()
                    .map_err(|source| RecorderError::Processes { path: "taskstats".into(), source })?;
            }
        }
    }

    /// Monotonic time since the last sample [ns].
    fn since_last_ns(&self, now_ns: i64) -> i64 {
        self.before.as_ref().map_or(0, |before| now_ns - before.moment.monotonic_ns)
    }

    fn half_interval_ns(&self) -> i64 {
        i64::try_from(self.options.interval.as_nanos() / 2).unwrap_or(i64::MAX)
    }

    /// Writes the facts so far to the log when they are due, and removes old parts.
    fn housekeep(&mut self, writer: &SharedWriter, now_ns: i64) -> Result<(), RecorderError> {
        self.housekeeping_ns = now_ns;
        let (first_ns, last_ns) = self.facts_ns.unwrap_or((now_ns, now_ns));
        let allowed_ns = ((now_ns - first_ns) / 10).min(FACTS_AGE_MAX.as_nanos() as i64);
        if now_ns - last_ns >= allowed_ns {
            self.facts_ns = Some((first_ns, now_ns));
            let facts = self.facts();
            locked(writer).set("recorder", facts)?;
        }
        self.retain(writer)
    }

    /// Removes the parts that the limits of size and age no longer allow.
    fn retain(&self, writer: &SharedWriter) -> Result<(), RecorderError> {
        if self.options.keep_bytes.is_some() || self.options.keep_age.is_some() {
            locked(writer).retain(self.options.keep_bytes, self.options.keep_age)?;
        }
        Ok(())
    }

    /// Takes a sample and writes the interval since the one before.
    pub(crate) fn sample(&mut self, writer: &SharedWriter, late_s: f64) -> Result<(), RecorderError> {
        let moment = self.clock.now();
        self.people.ask(moment);
        let mut failures = Vec::new();
        // The machine first and the processes after it: the difference between both is then at most the CPU
        // time of one scan.
        let snapshot = self.system.read(&mut failures)?;
        let modes = self.modes.as_mut().map(|sampler| sampler.read(&snapshot.stat.cpus));
        let since = self.before.as_ref().map(|before| before.moment);
        let totals = self
            .watch
            .sample(since, moment, &snapshot.stat)
            .map_err(|source| RecorderError::Processes { path: "/proc".into(), source })?;
        if let Some(trace) = &mut self.trace {
            trace.sample();
        }
        self.people.sample(since, moment);
        // Read again: stopped or starved in between, the recorder gives users the time of a longer interval.
        let reading_s = self.system.exact_since(&snapshot).map(|ns| ns as f64 * 1e-9);
        self.people.read_processes(&self.watch, since, moment);
        let mut open = locked(writer);
        // Before rows are appended that nobody would find: somebody may have moved the folder or cut the journal.
        let verified = open.verify();
        if verified.is_err() && !open.is_writable() {
            if self.before.take().is_some() {
                self.tally.given_up += 1;
                open.give_up("the log was removed, or taken by another writer, while it was being written");
            }
            return Ok(verified.map(drop)?);
        }
        // The lock is taken after all reading: another source must not wait for a scan.
        for failure in failures {
            let detail = format!("{}: {}", failure.name, failure.reason);
            self.system.missing.entry(failure.name).or_insert(failure.reason);
            open.incident("source_failed", &detail)?;
        }
        self.tell_losses(&mut open)?;
        let after = Previous { moment, snapshot, modes };
        if let Some(before) = self.before.take() {
            let elapsed = Elapsed::between(before.moment, moment);
            if is_whole(&mut open, elapsed, &before.snapshot, &after.snapshot)? {
                let rows = self.rows(&before, &after, &totals, elapsed, Reading { late_s, reading_s });
                self.exports.add(before.moment.wall_ns.div_euclid(1000), elapsed.length_s(), &rows);
                let bytes = open.bytes_written();
                open.append(rows)?;
                self.written = open.bytes_written() - bytes;
                for (kind, counter) in self.tally.take_setbacks(&mut self.differences) {
                    open.incident(kind, &self.people.hidden(&counter))?;
                }
            } else {
                self.tally.dropped += 1;
            }
        } else {
            // Opening and trying the sources before the first sample belongs to no interval.
            self.cpu_ns = self.clock.thread_cpu_ns();
        }
        // Also after an interval that was dropped: the next one begins here.
        self.before = Some(after);
        self.notices.extend(trouble(&open, &verified, &mut self.waits, &mut self.lost));
        // The sample is in the folder wherever that is now; the next one would be where nobody looks for it.
        Ok(verified.map(drop)?)
    }

    /// Counts what was lost since the sample before among the incidents.
    fn tell_losses(&mut self, writer: &mut LogWriter) -> Result<(), RecorderError> {
        if self.watch.take_losses() > 0 {
            let detail = "processes ended faster than their ends could be read: what was not read counts for who waited";
            writer.incident("exits_lost", detail)?;
        }
        if let Some(losses) = self.trace.as_mut().map(Trace::take_losses) {
            losses.tell(writer)?;
        }
        for _ in 0..self.people.groups.take_gone() {
            writer.incident("group_vanished", "a group's last interval is in the groups above it alone")?;
        }
        Ok(())
    }

    /// Writes the events that wait, of a trace that has them.
    fn finish_trace(&mut self, writer: &SharedWriter, control: &Control) -> Result<(), RecorderError> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        let finished = trace.finish(|progress| control.notice(&progress));
        trace.take_losses().tell(&mut locked(writer))?;
        Ok(finished?)
    }

    fn progress(&mut self, start_ns: i64) -> Progress {
        Progress {
            samples: self.tally.cost.count(),
            elapsed_s: (self.clock.now().monotonic_ns - start_ns) as f64 * 1e-9,
            busy: self.tally.last_busy,
            active_users: self.tally.active_users,
            written_bytes: self.tally.written_bytes,
        }
    }

    /// Facts of this recording, for the manifest's key `recorder`.
    pub(crate) fn facts(&self) -> Json {
        let mut facts = self.tally.to_json();
        if let Json::Object(facts) = &mut facts {
            facts.insert("processes".into(), self.watch.to_json());
            facts.insert("people".into(), self.people.to_json());
            facts.insert("exact_time".into(), json!(self.system.exact.name()));
            facts.insert("sessions".into(), json!(self.system.sessions.name()));
            facts.insert("mode_period_s".into(), json!(self.modes.as_ref().map(ModeSampler::period_s)));
            facts.insert("missing".into(), json!(self.system.missing));
            if let Some(trace) = &self.trace {
                facts.insert("trace".into(), trace.to_json());
            }
        }
        facts
    }
}

/// Error for processes that cannot be read. With a method requested by name, the option is at fault.
fn cannot_watch(options: &RecordOptions, source: io::Error) -> RecorderError {
    let needed = match options.method {
        Method::Taskstats => Some(("taskstats", "CAP_NET_ADMIN")),
        Method::Iterator => Some(("iterator", "CAP_BPF and CAP_PERFMON")),
        Method::Auto | Method::Procfs => None,
    };
    if let Some((given, capability)) = needed {
        let problem = format!("{source}: run as root, give {capability}, or use --method auto");
        return RecorderError::Option { option: "method", given: given.into(), problem };
    }
    let path = Root::new(&options.root).path("/proc").display().to_string();
    RecorderError::Processes { path, source }
}

/// Sentences for the user on what has happened to the log since the last sample.
fn trouble(
    writer: &LogWriter,
    verified: &Result<Option<Incident>, LogError>,
    waits: &mut bool,
    lost: &mut u64,
) -> Vec<String> {
    let mut notices = Vec::new();
    if let Ok(Some(incident)) = verified {
        notices.push(incident.detail.clone());
    }
    let waited = std::mem::replace(waits, writer.is_waiting());
    if *waits && !waited {
        notices.push(format!(
            "no room to write {}: samples wait in memory, up to 8 MB of them; make room on that file system",
            writer.dir().display()
        ));
    } else if waited && !*waits {
        notices.push("there is room again: the samples that waited are in the log".into());
    }
    let lost_before = std::mem::replace(lost, writer.lost());
    if *lost > lost_before {
        notices.push(format!("{} samples are lost by now; incidents in the manifest say why", *lost));
    }
    notices
}

/// True if the interval may be used. One in which the machine was suspended or restarted may not: its
/// counters would be spread over time in which nothing ran.
fn is_whole(
    writer: &mut LogWriter,
    elapsed: Elapsed,
    before: &Snapshot,
    after: &Snapshot,
) -> Result<bool, RecorderError> {
    if elapsed.stepped_ns != 0 {
        let direction = if elapsed.stepped_ns > 0 { "forward" } else { "back" };
        writer
            .incident("clock_step", &format!("the wall clock was set {direction}; lengths are monotonic"))?;
    }
    if elapsed.suspended_ns > 0 {
        writer.incident("suspend", "the machine was suspended")?;
        writer.incident("interval_dropped", "the machine was suspended in it")?;
        return Ok(false);
    }
    // None of these goes back while a machine runs; restarting, or restoring a virtual machine, moves all.
    let fell =
        |before: Option<u64>, after: Option<u64>| before.zip(after).is_some_and(|(old, new)| new < old);
    if fell(before.stat.forks, after.stat.forks)
        && fell(before.stat.context_switches, after.stat.context_switches)
    {
        writer.incident("reboot", "the machine's counters started again while it was recorded")?;
        writer.incident("interval_dropped", "the machine was rebooted in it")?;
        return Ok(false);
    }
    if elapsed.length_ns <= 0 {
        writer.incident("interval_dropped", "the monotonic clock stood still in it")?;
        return Ok(false);
    }
    Ok(true)
}

/// Opens the log at `path` for `options` and records into it; finishes the log.
pub fn record_to(
    path: &Path,
    mode: thinktime_log::OpenMode,
    options: &RecordOptions,
    control: &Control,
) -> Result<RecordSummary, RecorderError> {
    options.check()?;
    // Before the log: an address that is in use leaves no empty one behind.
    let exports = Exports::open(options)?;
    let writer = LogWriter::open(path, mode, options.session())?;
    let writer = SharedWriter::new(std::sync::Mutex::new(writer));
    let recorded = record_all(&writer, options, control, exports);
    // Rows recorded before a failure are flushed too; the error reported is the failure.
    let mut open = locked(&writer);
    let finished = open.finish().map_err(RecorderError::from);
    let (mut summary, outcome) = recorded?;
    summary.lose(open.lost());
    match outcome.and(finished) {
        Ok(()) => Ok(summary),
        // Not even a first interval: what was given cannot be recorded into.
        Err(error) if summary.samples_taken == 0 => Err(error),
        Err(error) => Err(RecorderError::Interrupted { source: Box::new(error), account: summary.account() }),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod soak;
