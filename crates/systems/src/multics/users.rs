//! Users, the interactions that they type, and their processes.

use std::collections::VecDeque;
use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams, Time};

/// One interaction of the script as this machine sees it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub command: Arc<str>,
    /// Its number among those that are waited for.
    pub waits: Option<u32>,
    pub heavy: bool,
    pub think: Distribution,
    /// Useful time [s].
    pub cpu: Distribution,
    /// Pages and segments that the command refers to in all.
    pub pages: Distribution,
    pub segments: Distribution,
    /// Lines of the reply.
    pub lines: Distribution,
    /// Part of the work that is done when the first line of the reply appears.
    pub first_output: Distribution,
}

/// Who sits at the terminal.
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
    pub line: usize,
    pub typed: Time,
    pub think: Span,
}

/// What an interaction has got so far. Times in nanoseconds of processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charged {
    pub run: u64,
    pub page_fault: u64,
    pub other_fault: u64,
    pub page_faults: u64,
}

impl Charged {
    /// Processor time in all.
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

    /// What was charged after `earlier`.
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
    pub input: Input,
    /// Useful time that is left, and of that what is left when the first line of the reply appears.
    pub left: Span,
    pub left_at_output: Span,
    pub pages: u32,
    pub segments: u32,
    pub first_service: Option<Time>,
    pub first_output: Option<Time>,
    pub charged: Charged,
}

impl Work {
    /// What `input` asks for, of which nothing is known yet.
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

/// Why a process stops running in user programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    PageFault,
    SegmentFault,
    GateFault,
    /// The first line of its reply is there; it goes on at once.
    Output,
    Quantum,
    Answered,
}

/// A user and its process.
#[derive(Debug)]
pub(super) struct User {
    pub role: Role,
    /// The next line of the script.
    pub position: usize,
    /// What it will type when it has thought, and when.
    pub next: Input,
    /// What its process worked on last.
    pub line: Option<usize>,
    pub inputs: VecDeque<Input>,
    pub work: Option<Work>,
    /// Lines of a reply that are still to be typed.
    pub lines: u32,
    /// It thinks when they are.
    pub reads_reply: bool,
    pub level: usize,
    /// Processor time until it ceases to be eligible.
    pub quantum: Span,
    /// Its page has come: the rest of the page fault's path is still to be run.
    pub fault_is_open: bool,
    /// When it began to wait for a page.
    pub waits_since: Time,
    /// Whether an interaction was in progress since the last sample.
    pub active: bool,
    pub think: Stream,
    // Three streams: the same user types and asks the same whatever faults its process has.
    pub demand: Stream,
    pub fate: Stream,
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

    /// Begins to work on the next line that was typed.
    pub fn begins(&mut self, lines: &[Line], factor: f64) -> Option<Input> {
        let input = self.inputs.pop_front()?;
        let line = &lines[input.line];
        let stream = &mut self.demand;
        // At least one page and segment: the lifetime at none held is that at one.
        let whole = |drawn: Span| (drawn.seconds().round() as u32).max(1);
        let left = Span::from_nanoseconds(line.cpu.sample(stream).0 as f64 * factor);
        let output = line.first_output.sample(stream).seconds().clamp(0.0, 1.0);
        self.work = Some(Work {
            left,
            left_at_output: Span::from_nanoseconds(left.0 as f64 * (1.0 - output)),
            pages: whole(line.pages.sample(stream)),
            segments: whole(line.segments.sample(stream)),
            ..Work::of(input)
        });
        self.line = Some(input.line);
        Some(input)
    }

    /// How long the process runs in user programs if nothing else comes, and what ends that. `page`, `segment` and
    /// `gate` are mean useful times until each fault [ns].
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
