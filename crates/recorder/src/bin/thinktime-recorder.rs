//! The recorder as a program: for machines without Python, and for continuous recording.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use thinktime_live::{Shared, ViewOptions};
use thinktime_log::{OpenMode, escaped};
use thinktime_quantities::{parse_duration, parse_size};
use thinktime_recorder::{
    Anonymity, Attach, By, Control, Method, Progress, RecordOptions, RecorderError, SignalGuard, days,
    listening_address,
    live::{Destination, record_and_view},
    notify::Notifier,
    record_to,
};

/// Records this machine into a thinktime log.
#[derive(Parser)]
#[command(name = "thinktime-recorder", version, about, long_about = None)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Record until Ctrl-C, SIGTERM or the duration; SIGHUP starts a new part.
    Record(Record),
    /// Show a log interval by interval on the terminal: one that is being written, or any finished one.
    ///
    /// Without LOG this machine is recorded meanwhile. The key ? explains the keys and the figures.
    Live(Live),
    /// List what this machine can measure, and the cost of a sample.
    Doctor {
        /// Output format.
        #[arg(long, default_value = "text")]
        format: Format,
    },
    /// Print the completion script of a shell.
    Completions {
        /// Shell to complete for.
        shell: Shell,
    },
    /// Write the manual pages, one for each command, into a folder.
    Man {
        /// Folder, which is made if it does not exist.
        folder: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Names of [`By`] on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum Who {
    Uid,
    Session,
    Cgroup,
    None,
}

impl From<Who> for By {
    fn from(who: Who) -> By {
        match who {
            Who::Uid => By::Uid,
            Who::Session => By::Session,
            Who::Cgroup => By::Cgroup,
            Who::None => By::None,
        }
    }
}

/// Names of [`Method`] on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum How {
    Auto,
    Procfs,
    Taskstats,
    Iterator,
}

/// Names of [`Attach`] on the command line: those that the facts of a recording have.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Attached {
    Auto,
    TpBtf,
    RawTracepoint,
    Tracepoint,
}

/// A duration with a unit, for clap.
fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()))
}

/// An address to listen on, for clap.
fn address(text: &str) -> Result<SocketAddr, String> {
    listening_address(text).map_err(|error| error.to_string())
}

#[derive(clap::Args)]
struct Record {
    /// Folder to write the log to.
    #[arg(short, long, default_value = "run")]
    output: PathBuf,
    /// Mean time between samples, at least 0.1s.
    #[arg(short, long, default_value = "5s", value_parser = duration)]
    interval: Duration,
    /// Stop after this time; one shorter than the interval gives one sample.
    #[arg(short, long, value_parser = duration)]
    duration: Option<Duration>,
    /// How to identify users: by user ID, login session or control group; none counts processes only.
    #[arg(long, default_value = "uid")]
    by: Who,
    /// How to read the counters of each process; auto uses the method that costs less here.
    #[arg(long, default_value = "auto")]
    method: How,
    /// Most commands with a row of their own in an interval; the others of each user have one row together.
    #[arg(long, default_value_t = 20)]
    commands: usize,
    /// Name commands by their whole line; arguments may be private.
    #[arg(long)]
    arguments: bool,
    /// Count in the kernel where the time of tasks goes: slices, waits for a CPU and other waits, requests of disks.
    #[arg(long)]
    trace: bool,
    /// The same, and write every event to the log: each switch, wake-up, start and end of a task, each request of a disk.
    #[arg(long)]
    trace_events: bool,
    /// How to attach the programs of a trace: to tracepoints with typed arguments, to raw ones, or to those with fields alone,
    /// which tell least and need no debugging information of the kernel; auto takes the first that is possible.
    #[arg(long, default_value = "auto")]
    trace_attach: Attached,
    /// Do not sample which mode each CPU is in; this needs root and costs an interrupt every few milliseconds.
    #[arg(long)]
    no_mode_sampling: bool,
    /// Mean time between readings of who is there, and of the memory of users and control groups; at least 1s.
    #[arg(long, default_value = "30s", value_parser = duration)]
    gauges_every: Duration,
    /// Replace names and numbers of users, sessions and terminals by pseudonyms.
    #[arg(long)]
    anonymous: bool,
    /// The same, with the key in this file: logs with one key have the same pseudonyms.
    #[arg(long, value_name = "FILE")]
    anonymous_key: Option<PathBuf>,
    /// Move each sample at random by up to this share of the interval.
    #[arg(long, default_value_t = 0.1)]
    jitter: f64,
    /// Seed of the random numbers that move the samples.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Remove the oldest parts so that the log stays within this size, such as 2GB.
    #[arg(long, value_parser = parse_size)]
    keep_bytes: Option<u64>,
    /// Remove parts older than this many days.
    #[arg(long)]
    keep_days: Option<f64>,
    /// Answer scrapes of Prometheus at this address, such as 127.0.0.1:9750, or 9750 for this machine alone.
    #[arg(long, value_name = "[HOST:]PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Write the totals for node_exporter's textfile collector to this file, which ends in .prom.
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Append to a log that already exists.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Replace a log that already exists.
    #[arg(long)]
    force: bool,
    /// Record the file tree below this folder instead of this machine's.
    #[arg(long, default_value = "/")]
    root: PathBuf,
}

#[derive(clap::Args)]
struct Live {
    /// Log to show; without it this machine is recorded.
    #[arg(conflicts_with_all = ["output", "interval", "by", "resume", "force"])]
    log: Option<PathBuf>,
    /// Keep what is recorded in this folder; without it, it is removed at the end.
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,
    /// Mean time between samples, at least 0.1s.
    #[arg(short, long, default_value = "1s", value_parser = duration)]
    interval: Duration,
    /// How to identify users: by user ID, login session or control group.
    #[arg(long, default_value = "uid")]
    by: Who,
    /// Append to a log that already exists.
    #[arg(long, conflicts_with = "force", requires = "output")]
    resume: bool,
    /// Replace a log that already exists.
    #[arg(long, requires = "output")]
    force: bool,
    /// Time to begin at, such as 14:30, "2026-11-24 14:30" or, from the end of the log, -1h.
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    at: Option<String>,
    /// Factor at which a finished log is replayed.
    #[arg(long, default_value_t = 10.0)]
    speed: f64,
    /// Let the mouse choose and scroll; the terminal does not select text then. The key M switches it.
    #[arg(long)]
    mouse: bool,
}

impl Record {
    fn options(&self) -> Result<RecordOptions, RecorderError> {
        Ok(RecordOptions {
            interval: self.interval,
            duration: self.duration,
            commands_max: self.commands,
            arguments: self.arguments,
            trace: self.trace || self.trace_events,
            trace_events: self.trace_events,
            trace_attach: match self.trace_attach {
                Attached::Auto => Attach::Auto,
                Attached::TpBtf => Attach::TpBtf,
                Attached::RawTracepoint => Attach::RawTracepoint,
                Attached::Tracepoint => Attach::Tracepoint,
            },
            mode_sampling: !self.no_mode_sampling,
            jitter: self.jitter,
            seed: self.seed,
            by: self.by.into(),
            method: match self.method {
                How::Auto => Method::Auto,
                How::Procfs => Method::Procfs,
                How::Taskstats => Method::Taskstats,
                How::Iterator => Method::Iterator,
            },
            gauges_every: self.gauges_every,
            anonymity: Anonymity::of(self.anonymous, self.anonymous_key.clone()),
            root: self.root.clone(),
            keep_bytes: self.keep_bytes,
            keep_age: self.keep_days.map(days).transpose()?,
            listen: self.listen,
            textfile: self.textfile.clone(),
        })
    }
}

/// Mode of a log for the options `--resume` and `--force`.
fn mode(resume: bool, force: bool) -> OpenMode {
    match (resume, force) {
        (true, _) => OpenMode::Resume,
        (_, true) => OpenMode::Replace,
        _ => OpenMode::Create,
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let done = match arguments.command {
        Command::Record(record) => run(&record),
        Command::Live(live) => look(&live),
        Command::Doctor { format } => examine(format).map(|()| ExitCode::SUCCESS),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "thinktime-recorder", &mut text);
            // A reader that closes the pipe has read enough.
            let _ = std::io::stdout().write_all(&text);
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { folder } => manual(&folder).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(status) => status,
        Err(error) => {
            eprintln!("thinktime-recorder: {}", escaped(&error.to_string()));
            // As the Python commands: 2 for wrong input, 1 for work that failed.
            ExitCode::from(if error.is_input() { 2 } else { 1 })
        }
    }
}

/// Prints help, version or what is wrong with the arguments, which the message repeats: line by line escaped.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    for line in text.trim_end().split('\n') {
        if error.use_stderr() {
            eprintln!("{}", escaped(line));
        } else {
            println!("{}", escaped(line));
        }
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

fn run(arguments: &Record) -> Result<ExitCode, RecorderError> {
    let options = arguments.options()?;
    let control = Control::new()?;
    let _guard = SignalGuard::install(&control)?;
    let shows = std::io::stderr().is_terminal();
    let mut notifier = Notifier::from_environment();
    control.on_progress(move |progress| {
        notifier.progress(progress);
        if shows {
            show(progress);
        }
    });
    control.on_notice(move |notice| say(notice, shows));
    let recorded = record_to(&arguments.output, mode(arguments.resume, arguments.force), &options, &control);
    if shows {
        eprintln!();
    }
    let summary = recorded.inspect_err(|error| Notifier::from_environment().status(&error.to_string()))?;
    println!("{}; {}", summary.account(), escaped(&arguments.output.to_string_lossy()));
    Ok(if summary.samples_lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Shows a log, or records and shows that.
fn look(arguments: &Live) -> Result<ExitCode, RecorderError> {
    let how =
        ViewOptions { at: arguments.at.clone(), speed: arguments.speed, title: None, mouse: arguments.mouse };
    let shared = Shared::default();
    if let Some(log) = &arguments.log {
        thinktime_live::view(log, &how, &shared)?;
        return Ok(ExitCode::SUCCESS);
    }
    let options =
        RecordOptions { interval: arguments.interval, by: arguments.by.into(), ..RecordOptions::default() };
    let destination = match &arguments.output {
        None => Destination::Temporary,
        Some(path) => Destination::Log { path: path.clone(), mode: mode(arguments.resume, arguments.force) },
    };
    let summary = record_and_view(&destination, &options, &how, &shared, |_| {})?;
    if let Some(path) = &arguments.output {
        println!("{}; {}", summary.account(), escaped(&path.to_string_lossy()));
    }
    Ok(if summary.samples_lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says at once, in the terminal or the journal of the service manager, that the log is in trouble.
fn say(notice: &str, shows: bool) {
    let notice = escaped(notice);
    // The line of progress stands there without its end.
    let start = if shows { "\r\x1b[K" } else { "" };
    // A closed terminal must not stop the recording.
    // In one piece: a reader of the pipe, or another writer of it, would see parts of the line.
    let line = format!("{start}thinktime-recorder: {notice}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    Notifier::from_environment().status(&notice);
}

fn show(progress: &Progress) {
    let busy = progress.busy.map_or("-".to_owned(), |busy| format!("{:.0} %", 100.0 * busy));
    let users = progress.active_users.map_or("-".to_owned(), |users| users.to_string());
    // Written over the previous line; the escape sequence at the end erases the rest of that.
    let line = format!(
        "\r{} samples, {:.0} s, busy {busy}, active users {users}, {} kB written\x1b[K",
        progress.samples,
        progress.elapsed_s,
        progress.written_bytes / 1000
    );
    let mut stderr = std::io::stderr().lock();
    // A closed terminal must not stop the recording.
    let _ = stderr.write_all(line.as_bytes()).and_then(|()| stderr.flush());
}

/// Writes the manual pages into `folder`.
fn manual(folder: &Path) -> Result<(), RecorderError> {
    let failed = |source| RecorderError::System { action: "write the manual pages", source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command().disable_help_subcommand(true), folder).map_err(failed)
}

fn examine(format: Format) -> Result<(), RecorderError> {
    let examination = thinktime_recorder::doctor::examine()?;
    let text = match format {
        Format::Text => examination.to_string().lines().map(escaped).collect::<Vec<_>>().join("\n"),
        Format::Json => serde_json::to_string_pretty(&examination).unwrap_or_default(),
    };
    println!("{}", text.trim_end());
    Ok(())
}
