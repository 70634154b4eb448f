//! Users and their programs: what is typed, what waits, and what is at work.

use std::collections::VecDeque;
use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams, Time};

/// An interaction of the script, with its demands on this machine.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub command: Arc<str>,
    pub think: Distribution,
    pub cpu: Distribution,
    pub words: Distribution,
    pub disk: Distribution,
    pub lines: Distribution,
    pub heavy: bool,
    /// Which of those that are waited for it is, from 0; none: it is not waited for.
    pub waiting: Option<usize>,
    /// Whether the interaction before it is of the same command, whose program goes on.
    pub goes_on: bool,
    /// Whether the one after it is.
    pub stays: bool,
}

/// An input, and what it asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub step: usize,
    pub think: Span,
    pub arrived: Time,
    pub cpu: Span,
    pub words: u32,
    pub disk: u32,
    pub lines: u32,
    /// When the user began this run of the script; none for users who play none.
    pub began: Option<Time>,
}

/// The input that is being worked on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub input: Input,
    pub first_service: Option<Time>,
    pub attained: Span,
    pub level: u32,
    /// Since when it waits at its level or runs from there.
    pub at_level: Time,
    /// Run time of the turn, and of that since the program was chosen to run.
    pub had: Span,
    pub stint: Span,
    pub transfers: u32,
    /// The program comes from the disk.
    pub fresh: bool,
}

/// The next thing that stops a program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Transfer,
    Resize,
    Done,
}

impl Job {
    /// What stops it next, and the run time until then. Transfers lie evenly over the run, the first one before it.
    pub fn next_stop(&self, size: u32) -> (Span, Stop) {
        let input = &self.input;
        let share =
            |part: u64, of: u64| Span((u128::from(input.cpu.0) * u128::from(part) / u128::from(of)) as u64);
        // Later ones win where times are equal: a transfer that is due at the end comes before the end.
        let mut stop = (input.cpu, Stop::Done);
        if size != input.words {
            // The size changes half way through the run: when it does is in no source.
            stop = stop.min_by_time((share(1, 2), Stop::Resize));
        }
        if self.transfers < input.disk {
            stop =
                stop.min_by_time((share(u64::from(self.transfers), u64::from(input.disk)), Stop::Transfer));
        }
        (stop.0 - self.attained.min(stop.0), stop.1)
    }
}

trait Sooner {
    fn min_by_time(self, other: Self) -> Self;
}

impl Sooner for (Span, Stop) {
    fn min_by_time(self, other: Self) -> Self {
        if other.0 <= self.0 { other } else { self }
    }
}

/// A program that runs, waits to run, or waits for input.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub command: Arc<str>,
    pub words: u32,
}

/// A user at a terminal, with a program or none.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub scripted: bool,
    choice: Stream,
    think: Stream,
    demand: Stream,
    /// The interaction that is typed next.
    pub next: usize,
    pub next_think: Span,
    began: Option<Time>,
    /// Inputs that came while one was being worked on.
    pub waiting: VecDeque<Input>,
    pub job: Option<Job>,
    pub program: Option<Program>,
    /// Processor time, time of swaps since statistics began [ns].
    pub run: u128,
    pub swap: u128,
    /// Inputs that came, or were being worked on, since the last sample.
    pub active: bool,
}

impl User {
    pub fn new(streams: &Streams, user: u32, scripted: bool) -> User {
        let stream = |name| streams.stream(Component(name), u64::from(user));
        User {
            scripted,
            choice: stream("choice"),
            think: stream("think"),
            demand: stream("demand"),
            next: 0,
            next_think: Span::ZERO,
            began: None,
            waiting: VecDeque::new(),
            job: None,
            program: None,
            run: 0,
            swap: 0,
            active: false,
        }
    }

    /// When a user comes, up to `within` after the start.
    pub fn arrives(&mut self, within: Span) -> Time {
        Time((within.0 as f64 * self.think.uniform()) as u64)
    }

    /// The user begins to think at `now`; returns when the next line has been typed.
    pub fn thinks(&mut self, steps: &[Step], normal_think: &Distribution, now: Time) -> Time {
        let think = if self.scripted {
            if self.next == 0 {
                self.began = Some(now);
            }
            steps[self.next].think.sample(&mut self.think)
        } else {
            // Any interaction of the script, by a stream of its own.
            self.next = ((self.choice.uniform() * steps.len() as f64) as usize).min(steps.len() - 1);
            normal_think.sample(&mut self.think)
        };
        self.next_think = think;
        now + think
    }

    /// A line has been typed.
    pub fn types(&mut self, steps: &[Step], demand: f64, core: u32, now: Time) -> Input {
        let step = &steps[self.next];
        let cpu = step.cpu.sample(&mut self.demand);
        let mut number = |of: &Distribution| of.sample(&mut self.demand).seconds().round();
        let input = Input {
            step: self.next,
            think: self.next_think,
            arrived: now,
            // Nothing is served in no time at all.
            cpu: Span::from_nanoseconds(cpu.0 as f64 * demand).max(Span(1)),
            // A program larger than core could never be loaded.
            words: number(&step.words).clamp(1.0, f64::from(core)) as u32,
            disk: number(&step.disk) as u32,
            lines: number(&step.lines) as u32,
            began: self.began,
        };
        if self.scripted {
            self.next = (self.next + 1) % steps.len();
        }
        self.active = true;
        input
    }

    /// Inputs of this user in the system.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> + '_ {
        self.job.iter().map(|job| &job.input).chain(&self.waiting)
    }
}
