//! Users, the interactions that they type, and their processes.

use std::collections::VecDeque;
use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams, Time};

/// One interaction of the script, with its demands on this machine.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Command that is typed; another one turns over pages and segments.
    pub command: Arc<str>,
    /// Index among the lines that are waited for; none: the next line may be typed ahead.
    pub waits: Option<u32>,
    /// Whether it counts as a heavy command.
    pub heavy: bool,
    /// Think time before it.
    pub think: Distribution,
    /// Useful time [s].
    pub cpu: Distribution,
    /// Pages that the command refers to.
    pub pages: Distribution,
    /// Segments that it refers to.
    pub segments: Distribution,
    /// Lines of the reply.
    pub lines: Distribution,
    /// Share of the work that is done when the first line of the reply appears.
    pub first_output: Distribution,
}

/// Kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Plays the script, line by line.
    Scripted,
    /// Types any of its lines.
    Normal,
    /// A process of the system itself: backup and the like.
    Housekeeping,
}

/// A line that was typed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    /// Index of the line.
    pub line: usize,
    /// When it was typed.
    pub typed: Time,
    /// Think time before it.
    pub think: Span,
}

/// Processor time charged to an interaction so far [ns].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charged {
    /// In user programs.
    pub run: u64,
    /// For page faults.
    pub page_fault: u64,
    /// For segment and gate faults.
    pub other_fault: u64,
    /// Number of page faults.
    pub page_faults: u64,
}

impl Charged {
    /// Processor time of all kinds.
    pub fn all(&self) -> u64 {
        self.run + self.page_fault + self.other_fault
    }

    /// Adds what another interaction was charged.
    pub fn add(&mut self, more: &Charged) {
        self.run += more.run;
        self.page_fault += more.page_fault;
        self.other_fault += more.other_fault;
        self.page_faults += more.page_faults;
    }

    /// Increments after `earlier`.
    pub fn since(&self, earlier: &Charged) -> Charged {
        Charged {
            run: self.run - earlier.run,
            page_fault: self.page_fault - earlier.page_fault,
            other_fault: self.other_fault - earlier.other_fault,
            page_faults: self.page_faults - earlier.page_faults,
        }
    }
}

/// The interaction that a process works on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// The line that is worked on.
    pub input: Input,
    /// Useful time that is left.
    pub left: Span,
    /// Useful time that is left when the first line of the reply appears.
    pub left_at_output: Span,
    /// Pages that the command refers to.
    pub pages: u32,
    /// Segments that it refers to.
    pub segments: u32,
    /// When the process first had a processor.
    pub first_service: Option<Time>,
    /// When the first line of the reply appeared.
    pub first_output: Option<Time>,
    /// Processor time so far.
    pub charged: Charged,
}

impl Work {
    /// Work on `input`, of which nothing is known yet.
    pub fn of(input: Input) -> Work {
        Work {
            input,
            left: Span::ZERO,
            left_at_output: Span::ZERO,
            pages: 1,
            segments: 1,
            first_service: None,
            first_output: None,
            charged: Charged::default(),
        }
    }
}

/// End of a burst in user programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A page is not in core.
    PageFault,
    /// A segment is not active.
    SegmentFault,
    /// A call through a gate.
    GateFault,
    /// The first line of the reply is there; the process continues at once.
    Output,
    /// The quantum is used up.
    Quantum,
    /// The work is done.
    Answered,
}

/// A user and its process.
#[derive(Debug)]
pub(super) struct User {
    /// Kind of user.
    pub role: Role,
    /// The next line of the script.
    pub position: usize,
    /// Line that it types after the current think time.
    pub next: Input,
    /// Line that its process worked on last.
    pub line: Option<usize>,
    /// Lines typed that the process has not read.
    pub inputs: VecDeque<Input>,
    /// Interaction that the process works on.
    pub work: Option<Work>,
    /// Lines of a reply that are still to be typed.
    pub lines: u32,
    /// Whether it thinks when they have been typed.
    pub reads_reply: bool,
    /// Queue of the traffic controller.
    pub level: usize,
    /// Processor time until it ceases to be eligible.
    pub quantum: Span,
    /// Whether its page has come and the rest of the page fault's path is still to be run.
    pub fault_is_open: bool,
    /// When it began to wait for a page.
    pub waits_since: Time,
    /// Whether an interaction was in progress since the last sample.
    pub active: bool,
    /// Random numbers of think times and of the choice of lines.
    pub think: Stream,
    // Three streams: the same user types and asks the same whatever faults its process has.
    /// Random numbers of demands.
    pub demand: Stream,
    /// Random numbers of faults.
    fate: Stream,
}

impl User {
    pub fn new(streams: &Streams, number: u32, role: Role) -> User {
        let stream = |name| streams.stream(Component(name), u64::from(number));
        User {
            role,
            position: 0,
            next: Input { line: 0, typed: Time::ZERO, think: Span::ZERO },
            line: None,
            inputs: VecDeque::new(),
            work: None,
            lines: 0,
            reads_reply: false,
            level: 0,
            quantum: Span::ZERO,
            fault_is_open: false,
            waits_since: Time::ZERO,
            active: false,
            think: stream("multics think"),
            demand: stream("multics demand"),
            fate: stream("multics faults"),
        }
    }

    /// The next line typed, on which the process begins to work.
    pub fn begins(&mut self, lines: &[Line], factor: f64) -> Option<Input> {
        let input = self.inputs.pop_front()?;
        let line = &lines[input.line];
        let stream = &mut self.demand;
        // At least one page and segment: the lifetime at none held is that at one.
        let places = |drawn: Span| (drawn.seconds().round() as u32).max(1);
        let left = Span::from_nanoseconds(line.cpu.sample(stream).0 as f64 * factor);
        // A share of the work, which a distribution without bounds could miss.
        let output = line.first_output.sample(stream).seconds().clamp(0.0, 1.0);
        self.work = Some(Work {
            left,
            left_at_output: Span::from_nanoseconds(left.0 as f64 * (1.0 - output)),
            pages: places(line.pages.sample(stream)),
            segments: places(line.segments.sample(stream)),
            ..Work::of(input)
        });
        self.line = Some(input.line);
        Some(input)
    }

    /// Longest run in user programs, and its end. `page`, `segment` and `gate` are mean useful times until each
    /// fault [ns].
    pub fn burst(&mut self, page: Option<f64>, segment: Option<f64>, gate: f64) -> (Span, End) {
        let Some(work) = &self.work else { return (Span::ZERO, End::Answered) };
        let (mut length, mut end) = (work.left, End::Answered);
        if work.first_output.is_none() && work.left_at_output > Span::ZERO {
            (length, end) = (Span(work.left.0 - work.left_at_output.0), End::Output);
        }
        // Faults do not see the quantum: they are compared with whichever end comes first.
        if self.quantum < length {
            (length, end) = (self.quantum, End::Quantum);
        }
        let rates = [page, segment, Some(gate)].map(|mean| mean.map_or(0.0, f64::recip));
        let all: f64 = rates.iter().sum();
        // One draw for the three: the least of exponential times is exponential, with the sum of their rates.
        let fault = Span::from_nanoseconds(self.fate.exponential() / all);
        if fault < length {
            let pick = self.fate.uniform() * all;
            let which = if pick < rates[0] {
                End::PageFault
            } else if pick < rates[0] + rates[1] {
                End::SegmentFault
            } else {
                End::GateFault
            };
            return (fault, which);
        }
        (length, end)
    }
}
