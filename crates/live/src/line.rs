//! A line of a table on the screen: what it is of, its figures, and its place among the others.

use std::cmp::Ordering;
use std::sync::Arc;

/// What a column of a table shows. CPUs and tasks are means over the interval, amounts are per second of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// CPUs kept busy.
    Cpu,
    /// Tasks waiting for a CPU.
    CpuWait,
    /// Tasks waiting for a disk.
    DiskWait,
    /// [byte]
    Memory,
    MemoryLimit,
    /// [byte/s]
    Read,
    Write,
    /// The two together.
    Io,
    Processes,
    /// GPU engines kept busy.
    Gpu,
    /// [byte]
    GpuMemory,
    /// CPUs that a quota kept from the tasks of a group.
    Throttled,
    /// Share of the time in which some task of a group waited, 0 to 1.
    CpuPressure,
    MemoryPressure,
    DiskPressure,
    MemoryPeak,
    /// Share of the time with a request in progress, 0 to 1.
    Busy,
    /// [1/s]
    Reads,
    Writes,
    /// Mean time of a request from issue to completion [s].
    Wait,
    ReadWait,
    WriteWait,
    /// Requests in progress.
    Queue,
    /// [byte/s]
    In,
    Out,
    /// [1/s]
    PacketsIn,
    PacketsOut,
    Errors,
    Drops,
}

/// Number of measures.
const MEASURES: usize = Measure::Drops as usize + 1;

/// A user, a command, a control group, a disk or a network interface in an interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// What tells it from others in all intervals; of a command, the user's.
    pub(crate) key: Arc<str>,
    pub(crate) name: Arc<str>,
    /// Lines above it in a hierarchy.
    pub(crate) depth: usize,
    /// Lines below it are not shown.
    pub(crate) is_folded: bool,
    /// A user who may log in.
    pub(crate) is_person: bool,
    /// It did something in the interval.
    pub(crate) is_active: bool,
    /// Pages that its processes share are counted in each of them.
    pub(crate) is_resident: bool,
    /// By [`Measure`].
    pub(crate) figures: [Option<f64>; MEASURES],
}

impl Line {
    /// A line without figures.
    pub(crate) fn new(key: Arc<str>, name: Arc<str>) -> Line {
        Line {
            key,
            name,
            depth: 0,
            is_folded: false,
            is_person: false,
            is_active: true,
            is_resident: false,
            figures: [None; MEASURES],
        }
    }

    pub(crate) fn of(&self, measure: Measure) -> Option<f64> {
        self.figures[measure as usize]
    }

    pub(crate) fn set(&mut self, measure: Measure, figure: Option<f64>) {
        self.figures[measure as usize] = figure;
    }

    /// Sets the bytes read and written a second, and their sum as far as they are known.
    pub(crate) fn set_io(&mut self, read: Option<f64>, write: Option<f64>) {
        let both = (read.is_some() || write.is_some()).then(|| read.unwrap_or(0.0) + write.unwrap_or(0.0));
        self.set(Measure::Read, read);
        self.set(Measure::Write, write);
        self.set(Measure::Io, both);
    }
}

/// By what the lines of a table are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Name,
    By(Measure),
}

/// The order of the lines of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) sort: Sort,
    /// The smallest first, and names from their end.
    pub(crate) is_reversed: bool,
}

impl Order {
    pub(crate) fn by(measure: Measure) -> Order {
        Order { sort: Sort::By(measure), is_reversed: false }
    }

    /// The largest first, those without a figure last in both directions; equal ones by name, so that they stay where
    /// they are.
    pub(crate) fn compare(self, one: &Line, other: &Line) -> Ordering {
        let turned = |ordering: Ordering| if self.is_reversed { ordering.reverse() } else { ordering };
        let by_name = || one.name.cmp(&other.name).then_with(|| one.key.cmp(&other.key));
        let Sort::By(measure) = self.sort else { return turned(by_name()) };
        let by_figure = match (one.of(measure), other.of(measure)) {
            (Some(one), Some(other)) => turned(other.total_cmp(&one)),
            (one, other) => other.is_some().cmp(&one.is_some()),
        };
        by_figure.then_with(|| other.is_active.cmp(&one.is_active)).then_with(by_name)
    }
}
