//! Users and their programs: lines to type, inputs that wait, and the one at work.

use std::collections::VecDeque;
use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams, Time};

/// An interaction of the script, with its demands on this machine.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Command that is typed.
    pub command: Arc<str>,
    /// Think time before it.
    pub think: Distribution,
    /// Run time [s].
    pub cpu: Distribution,
    /// Size of the program [word].
    pub words: Distribution,
    /// Transfers between files and core.
    pub disk: Distribution,
    /// Lines of the reply.
    pub lines: Distribution,
    /// Whether it counts as a heavy command.
    pub heavy: bool,
    /// Index among those that are waited for; none: it is not waited for.
    pub waiting: Option<usize>,
    /// Whether the interaction before it is of the same command, so that its program continues.
    pub goes_on: bool,
    /// Whether the one after it is.
    pub stays: bool,
}

/// A typed line, with its demands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    /// Its interaction of the script.
    pub step: usize,
    /// Think time before it.
    pub think: Span,
    /// When it was typed.
    pub arrived: Time,
    /// Run time.
    pub cpu: Span,
    /// Size of the program [word].
    pub words: u32,
    /// Transfers between files and core.
    pub disk: u32,
    /// Lines of the reply.
    pub lines: u32,
    /// When the user began this run of the script; none for users who play none.
    pub began: Option<Time>,
}

/// Work on an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// The input.
    pub input: Input,
    /// When its program first ran.
    pub first_service: Option<Time>,
    /// Run time received.
    pub attained: Span,
    /// Level at which it waits or runs.
    pub level: u32,
    /// When it came to that level.
    pub at_level: Time,
    /// Run time in this turn.
    pub had: Span,
    /// Run time since the program was last chosen to run.
    pub stint: Span,
    /// Transfers that are done.
    pub transfers: u32,
    /// Whether the program still has to come from the disk.
    pub fresh: bool,
}

/// Reason for which a running program stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It needs a record of a file.
    Transfer,
    /// It asks for another size.
    Resize,
    /// Its work is done.
    Done,
}

impl Job {
    /// Run time until the program stops next, and the reason. Transfers are spread evenly over the run, the first
    /// one before it.
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

/// The earlier of two stops.
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
    /// Command that it carries out.
    pub command: Arc<str>,
    /// Its size [word].
    pub words: u32,
}

/// A user at a terminal, with a program or none.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// Whether the user plays the script.
    pub scripted: bool,
    /// Random numbers of the choice of interactions.
    choice: Stream,
    /// Random numbers of think times.
    think: Stream,
    /// Random numbers of demands.
    demand: Stream,
    /// The interaction that is typed next.
    pub next: usize,
    /// Think time before it.
    next_think: Span,
    /// When this run of the script began.
    began: Option<Time>,
    /// Inputs that came during work on an earlier one.
    pub waiting: VecDeque<Input>,
    /// Work in progress.
    pub job: Option<Job>,
    /// Program of the user, at work or waiting for input.
    pub program: Option<Program>,
    /// Processor time since statistics began [ns].
    pub run: u128,
    /// Time of swaps since statistics began [ns].
    pub swap: u128,
    /// Whether there was an input since the last sample.
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

    /// Time at which the user comes, uniform up to `within` after the start.
    pub fn arrives(&mut self, within: Span) -> Time {
        Time((within.0 as f64 * self.think.uniform()) as u64)
    }

    /// Time at which the next line has been typed, by a user who begins to think at `now`.
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

    /// The line that has been typed, with its demands.
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
            // Round and round: after the last interaction the script begins again.
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
