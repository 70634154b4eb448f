//! Users and their demands.

use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams, Time};

/// Class of an input (page 126 and Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Needs the interpreter only.
    Compute = 0,
    /// Needs libraries on disk; commands are served one at a time.
    Command = 1,
    /// Stops when it would take all output buffers, and goes on when all have been released.
    OutputBound = 2,
}

/// All classes.
pub(super) const CLASSES: [Class; 3] = [Class::Compute, Class::Command, Class::OutputBound];

/// Demands by class of input.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    /// Shares added up, in the order of [`CLASSES`].
    // Added up, so that one uniform number picks the class.
    /// Cumulative shares, in the order of [`CLASSES`].
    pub up_to: [f64; 3],
    /// Processor time by class.
    pub service: [Distribution; 3],
    /// Processor time in which an output-bound transaction fills the buffers.
    pub burst: Span,
    /// Time the typewriter takes to empty the buffers.
    pub drain: Distribution,
    /// Disk accesses of a command.
    pub library_accesses: u32,
}

impl Class {
    /// Name in the log and in parameters.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Compute => "compute",
            Class::Command => "command",
            Class::OutputBound => "output_bound",
        }
    }
}

/// Names of the classes as the log keeps them.
pub(super) fn labels() -> [Arc<str>; 3] {
    CLASSES.map(|class| Arc::from(class.name()))
}

/// An input with its demands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    /// Its class.
    pub class: Class,
    /// Processor time.
    pub demand: Span,
    /// Processor time between two stops for output; none for other classes.
    pub piece: Option<Span>,
}

/// A user's random numbers: demands do not depend on the machine.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Of think and typing times.
    think: Stream,
    // Apart, so that draws of one kind never shift those of another.
    /// Of inputs.
    input: Stream,
    /// Of output.
    output: Stream,
}

impl Source {
    pub fn new(streams: &Streams, user: u32) -> Source {
        let stream = |name| streams.stream(Component(name), u64::from(user));
        Source { think: stream("think"), input: stream("input"), output: stream("output") }
    }

    /// A time that only the user decides on: thinking, typing or reading.
    pub fn think(&mut self, of: &Distribution) -> Span {
        of.sample(&mut self.think)
    }

    /// Time the typewriter takes to empty the buffers.
    pub fn drain(&mut self, mix: &Mix) -> Span {
        mix.drain.sample(&mut self.output)
    }

    /// The next input.
    pub fn input(&mut self, mix: &Mix) -> Transaction {
        // Class before demand, from one stream: both are the same for every scheduler that is compared.
        let drawn = self.input.uniform();
        let class = if drawn < mix.up_to[0] {
            Class::Compute
        } else if drawn < mix.up_to[1] {
            Class::Command
        } else {
            Class::OutputBound
        };
        // Nothing is served in no time at all.
        let demand = mix.service[class as usize].sample(&mut self.input).max(Span(1));
        // One that never filled the buffers would not be output-bound.
        let piece = (class == Class::OutputBound).then(|| mix.burst.min(Span(demand.0.div_ceil(2))));
        Transaction { class, demand, piece }
    }
}

/// Activity of a user or of its input (Figure 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// No input.
    Thinking,
    /// Waiting for the first slice, or in it.
    Foreground,
    /// After the first slice.
    Background,
    /// Waiting until the typewriter has emptied the buffers.
    OutputWait,
    /// Waiting for the commands before it, or for the library.
    CommandWait,
    /// The command whose turn it is: wants the processor.
    CommandService,
}

impl Activity {
    /// True if it could use the processor at once.
    pub fn is_active(self) -> bool {
        matches!(self, Activity::Foreground | Activity::Background | Activity::CommandService)
    }
}

/// Place of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the disk.
    Disk,
    /// It is being read.
    Loading,
    /// In a region.
    Resident,
    /// It is being written.
    Leaving,
}

/// A user with a workspace.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// Random numbers.
    pub source: Source,
    /// Activity of the user or of its input.
    pub activity: Activity,
    /// Place of the workspace.
    pub place: Place,
    /// When it came to its queue.
    pub entered: Time,
    /// Think time before the input.
    pub think: Span,
    /// When the input was complete.
    pub arrived: Time,
    /// When its first slice began.
    pub first_slice: Option<Time>,
    /// When its first output began.
    pub first_output: Option<Time>,
    /// The input.
    pub transaction: Transaction,
    /// Service received.
    pub attained: Span,
    /// Processor time to the next stop for output.
    pub to_stop: Span,
    /// Order in which it came to wait in its level.
    pub turn: u64,
    /// Slices that it has had in this turn.
    pub turn_slices: u64,
}

impl User {
    pub fn new(streams: &Streams, user: u32) -> User {
        User {
            source: Source::new(streams, user),
            activity: Activity::Thinking,
            place: Place::Disk,
            entered: Time::ZERO,
            think: Span::ZERO,
            arrived: Time::ZERO,
            first_slice: None,
            first_output: None,
            transaction: Transaction { class: Class::Compute, demand: Span::ZERO, piece: None },
            attained: Span::ZERO,
            to_stop: Span(u64::MAX),
            turn: 0,
            turn_slices: 0,
        }
    }

    /// True if it waits for its first slice, or is in it.
    pub fn is_foreground(&self) -> bool {
        self.activity == Activity::Foreground
    }

    /// Service still to come.
    pub fn remaining(&self) -> Span {
        self.transaction.demand - self.attained
    }
}
