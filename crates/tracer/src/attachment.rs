//! How programs get to the kernel's tracepoints: three ways, from the one that tells most to the one that needs least.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use crate::TraceError;
use crate::bpf::Place;
use crate::object::{CLASSIC, Compiled, Kernel, Loaded, Program, RAW, TRACER};
use crate::tracer::Queueing;

/// How programs are attached, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attachment {
    /// To tracepoints with typed arguments, whose structures the programs read.
    TpBtf,
    /// To raw tracepoints, whose arguments are numbers: the structures behind them are read by a call.
    RawTracepoint,
    /// To tracepoints as tools know them, with their fields, without anything of the kernel's structures.
    Tracepoint,
}

/// A name, the part of the programs that has it, and its tracepoint by its group and name.
type Known = (&'static str, &'static str);

/// Without this there is no trace.
const SWITCH: Known = ("on_switch", "sched/sched_switch");
/// Nor without these, where the scheduler's own times cannot be used.
const WAKE_UPS: [Known; 2] = [("on_start", "sched/sched_wakeup_new"), ("on_wakeup", "sched/sched_wakeup")];
/// Those that belong together, and what they measure.
const OTHERS: [(&str, [Known; 2]); 1] =
    [("block_io", [("on_completion", "block/block_rq_complete"), ("on_issue", "block/block_rq_issue")])];
/// Attached where events are wanted.
const LIVES: [Known; 3] = [
    ("on_fork", "sched/sched_process_fork"),
    ("on_exec", "sched/sched_process_exec"),
    ("on_exit", "sched/sched_process_exit"),
];
/// The same where nothing but fields is known: whose a new task is must be noted when it is made.
const CLASSIC_FORK: Known = ("on_fork", "task/task_newtask");

/// What no kernel lets be measured by tracepoints.
const NOWHERE: (&str, &str) = (
    "page_fault",
    "no tracepoint tells when a page fault ends; the waits for a disk among them are waits for page_io",
);
/// What is not measured where programs do not see the registers of tasks.
const WITHOUT_CALLS: (&str, &str) = (
    "wait by system call",
    "before Linux 5.15 programs cannot see which system call a task is in: such waits are sleep, those in page faults io",
);
/// What fields of tracepoints do not tell.
const WITHOUT_STRUCTURES: [(&str, &str); 4] = [
    ("block_io", "fields of tracepoints do not tell one request from another"),
    (
        "wait by system call",
        "fields of tracepoints do not tell which system call a task is in: such waits are sleep, or uninterruptible",
    ),
    (
        "effective user",
        "programs are told the real user of a task: programs that run as another count for who started them",
    ),
    ("age of a task", "fields of tracepoints do not tell when a task began"),
];

impl Attachment {
    /// All, best first.
    pub const ALL: [Attachment; 3] = [Attachment::TpBtf, Attachment::RawTracepoint, Attachment::Tracepoint];

    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Attachment::TpBtf => "tp_btf",
            Attachment::RawTracepoint => "raw_tracepoint",
            Attachment::Tracepoint => "tracepoint",
        }
    }

    /// True if the programs read the kernel's own structures.
    pub(crate) fn reads_structures(self) -> bool {
        self != Attachment::Tracepoint
    }

    pub(crate) fn compiled(self) -> &'static Compiled<[u8]> {
        match self {
            Attachment::TpBtf => TRACER,
            Attachment::RawTracepoint => RAW,
            Attachment::Tracepoint => CLASSIC,
        }
    }

    /// What has to be known of the kernel for these programs.
    pub(crate) fn kernel(self, wants_events: bool) -> Result<Kernel, TraceError> {
        if self.reads_structures() {
            return Kernel::read();
        }
        Kernel::of_tracepoints(
            self.programs(wants_events, Queueing::WakeUps).map(|(_, tracepoint)| tracepoint),
        )
    }

    /// Those without which there is no trace.
    fn programs(self, wants_events: bool, queueing: Queueing) -> impl Iterator<Item = Known> {
        let [fork, rest @ ..] = LIVES;
        let fork = if self.reads_structures() { wants_events.then_some(fork) } else { Some(CLASSIC_FORK) };
        let lives = fork.into_iter().chain(rest.into_iter().filter(move |_| wants_events));
        let wake_ups = WAKE_UPS.into_iter().filter(move |_| queueing == Queueing::WakeUps);
        lives.chain(wake_ups).chain([SWITCH])
    }

    fn program(self, (name, path): Known) -> Program {
        let bare = path.rsplit('/').next().unwrap_or(path);
        let (place, target) = match self {
            Attachment::TpBtf => (Place::TypedTracepoint, bare),
            Attachment::RawTracepoint => (Place::RawTracepoint, bare),
            Attachment::Tracepoint => (Place::Tracepoint, path),
        };
        Program { name, place, target }
    }

    /// Attaches all programs that are wanted; with the quantities that cannot be measured in this way, and why.
    pub(crate) fn attach(
        self,
        loaded: &Loaded,
        kernel: &Kernel,
        wants_events: bool,
        queueing: Queueing,
        sees_calls: bool,
    ) -> Result<(Vec<OwnedFd>, BTreeMap<&'static str, String>), TraceError> {
        let mut attached = Vec::new();
        for program in self.programs(wants_events, queueing) {
            attached.push(loaded.attach(kernel, self.program(program))?);
        }
        let mut missing = BTreeMap::from([(NOWHERE.0, NOWHERE.1.to_owned())]);
        if !self.reads_structures() {
            missing.extend(WITHOUT_STRUCTURES.map(|(what, why)| (what, why.to_owned())));
            return Ok((attached, missing));
        }
        if !sees_calls {
            missing.insert(WITHOUT_CALLS.0, WITHOUT_CALLS.1.to_owned());
        }
        for (quantity, programs) in OTHERS {
            let both: Result<Vec<_>, _> =
                programs.iter().map(|program| loaded.attach(kernel, self.program(*program))).collect();
            match both {
                Ok(both) => attached.extend(both),
                Err(error) => drop(missing.insert(quantity, error.to_string())),
            }
        }
        Ok((attached, missing))
    }
}
