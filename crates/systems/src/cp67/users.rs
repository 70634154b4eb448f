//! Users: classes, tasks, and the demands of an interaction on the machine.

use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams, Time};

use super::queues::Queue;
use super::services::{KINDS, Kind};

/// The classes, by name.
pub(super) const CLASSES: [&str; 4] = ["edit", "develop", "compute", "guest"];

/// The last of them: an operating system in a virtual machine.
pub(super) const GUEST: usize = 3;

/// The operator's virtual machine, in which DUSETIMR runs.
pub(super) const OPERATOR: u32 = 0;

/// Names of the users as the log keeps them.
pub(super) fn labels(users: u32) -> Vec<Arc<str>> {
    let name = |user| if user == OPERATOR { "operator".into() } else { format!("user:{user}").into() };
    (0..users).map(name).collect()
}

/// Names of the classes as the log keeps them; the operator's is last.
pub(super) fn class_labels() -> Vec<Arc<str>> {
    CLASSES.into_iter().chain(["operator"]).map(Arc::from).collect()
}

/// Demands of the users of a class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    /// Time from the end of a reply to the next line.
    pub think: Distribution,
    /// Problem state time of an interaction.
    pub problem: Distribution,
    /// Mean problem state time between two VSIO [s].
    pub vsio_gap_s: f64,
    /// Standard deviation of the logarithm of a task's VSIO per second of problem state.
    pub vsio_sigma: f64,
    /// Mean number of lines typed in answer, one or more.
    pub output_lines: f64,
    /// Share of the interactions that print.
    pub print_share: f64,
    /// Mean number of lines that such an interaction prints.
    pub print_lines: f64,
    /// Mean number of pages that a task refers to.
    pub working_set: f64,
    /// Page exceptions per second of problem state while none of its pages is in core [1/s].
    pub reference_rate: f64,
    /// New pages per second of problem state [1/s].
    pub new_pages: f64,
}

/// Spread of tasks, and their lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variety {
    /// Mean length of a task [s].
    pub task_s: f64,
    /// Mean time signed on [s].
    pub session_s: f64,
    /// Share of tasks that a break precedes.
    pub break_share: f64,
    /// Mean length of a break [s].
    pub break_s: f64,
    /// Half-width of the uniform distribution around 1 of the complexity of a task's requests.
    pub complexity_spread: f64,
    /// The same for its lines and its spooling.
    pub line_complexity_spread: f64,
    /// The same for privileged work per problem state time.
    pub privileged_spread: f64,
    /// Standard deviation of the logarithm of the problem state time of its interactions.
    pub problem_sigma: f64,
    /// The same for the number of pages it refers to.
    pub working_set_sigma: f64,
    /// The same for its rate of references to missing pages.
    pub reference_sigma: f64,
    /// Mean number of printed lines per spool block.
    pub lines_per_block: f64,
    /// The same for that number, by task.
    pub lines_sigma: f64,
}

/// Work of a user for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// When the next task is taken up, between two interactions.
    pub ends: Time,
    /// CP time of its requests relative to the mean one, by kind.
    pub complexity: [f64; KINDS],
    /// Factor on the problem state time of its interactions.
    pub problem: f64,
    /// VSIO per nanosecond of problem state [1/ns].
    pub vsio_rate: f64,
    /// References to missing pages while none is there [1/ns].
    pub reference_rate: f64,
    /// References to new pages [1/ns].
    pub new_pages: f64,
    /// Pages that it refers to.
    pub working_set: u32,
    /// Printed lines that fill a spool block.
    pub lines_per_block: u64,
}

/// State of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    SignedOff,
    /// About to log on.
    Coming,
    /// Thinking, typing, reading what is typed, or having a break.
    AtTerminal,
    /// Waiting to be admitted to a queue.
    Eligible,
    /// Ready or running.
    Runnable,
    /// A VSIO is in progress.
    WaitingForDisk,
    /// A missing page is on its way.
    WaitingForPage,
}

/// End of a burst of problem state time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A request to a disk.
    Vsio,
    /// A page is missing.
    PageException,
    /// The time slice is used up.
    Slice,
    /// A line for the virtual printer.
    Print,
    /// A line for the terminal; the last one ends the interaction.
    Output,
}

/// A user identification, signed on or not.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// Whether it is signed on, and what it waits for.
    pub state: State,
    /// Index into the classes; the operator has one after the last.
    pub class: usize,
    /// Its current task.
    pub task: Task,
    /// When the user wants to leave.
    pub session_ends: Time,
    /// Spindle of the virtual disk in this session.
    pub spindle: u32,
    /// Queue that it is in, or was in last.
    pub queue: Queue,
    /// Processor time received in this queue.
    pub queue_cpu: Span,
    /// Problem state time that is left of the slice.
    pub slice: Span,
    /// Problem state time that the interaction still needs.
    pub compute: Span,
    /// Lines that it still prints.
    pub print_lines: u64,
    /// Lines of the answer that are still to come.
    pub output_lines: u64,
    /// Lines of the answer of this interaction.
    pub answer_lines: u64,
    /// Printed lines that fill no block yet.
    pub unspooled: u64,
    /// Blocks of the file that is being printed.
    pub spooled: u64,
    /// All processor time since log-on, as accounted to the user [ns].
    pub total: u64,
    /// Problem state time since log-on [ns].
    pub problem: u64,
    /// Both at the last reading since log-on.
    pub read: Option<(u64, u64)>,
    /// Think time before the current interaction.
    pub think: Span,
    /// When its line was typed.
    pub arrived: Time,
    /// When it first had the processor.
    pub first_service: Option<Time>,
    /// Processor time received.
    pub service: Span,
    /// Random numbers of interactions.
    work: Stream,
    // Apart from `work`: tasks are the same whatever the machine made of the interactions before them.
    tasks: Stream,
}

const SECOND_NS: f64 = 1e9;

impl User {
    pub fn new(streams: &Streams, user: u32) -> User {
        let stream = |name| streams.stream(Component(name), u64::from(user));
        let idle = Task {
            ends: Time::ZERO,
            complexity: [1.0; KINDS],
            problem: 1.0,
            vsio_rate: 0.0,
            reference_rate: 0.0,
            new_pages: 0.0,
            working_set: 1,
            lines_per_block: 1,
        };
        User {
            state: State::SignedOff,
            class: 0,
            task: idle,
            session_ends: Time::ZERO,
            spindle: 0,
            queue: Queue::Interactive,
            queue_cpu: Span::ZERO,
            slice: Span::ZERO,
            compute: Span::ZERO,
            print_lines: 0,
            output_lines: 0,
            answer_lines: 0,
            unspooled: 0,
            spooled: 0,
            total: 0,
            problem: 0,
            read: None,
            think: Span::ZERO,
            arrived: Time::ZERO,
            first_service: None,
            service: Span::ZERO,
            work: stream("cp67 interactions"),
            tasks: stream("cp67 tasks"),
        }
    }

    /// True from log-on to log-off.
    pub fn is_signed_on(&self) -> bool {
        !matches!(self.state, State::SignedOff | State::Coming)
    }

    /// Stream of demands within a task and of their costs.
    #[inline]
    pub fn work(&mut self) -> &mut Stream {
        &mut self.work
    }

    /// An exponential time that only the user decides on.
    pub fn wait(&mut self, mean_s: f64) -> Span {
        Span::from_nanoseconds(mean_s * SECOND_NS * self.tasks.exponential())
    }

    /// Log-normal with mean 1.
    fn factor(&mut self, sigma: f64) -> f64 {
        (sigma * self.tasks.normal() - 0.5 * sigma * sigma).exp()
    }

    /// Begins a session: of a class, on a spindle.
    pub fn sign_on(&mut self, class: usize, spindles: u32, variety: &Variety, now: Time) {
        self.class = class;
        // One spindle for the session: some spindles are busier than others.
        self.spindle = self.tasks.below(u64::from(spindles)) as u32;
        self.session_ends = now + self.wait(variety.session_s);
        // Accounts begin at log-on, as DUSETIMR takes differences within a session.
        (self.total, self.problem, self.read) = (0, 0, None);
        (self.unspooled, self.spooled) = (0, 0);
    }

    /// Begins a task.
    pub fn take_up_task(&mut self, class: &Class, variety: &Variety, now: Time) {
        let ends = now + self.wait(variety.task_s);
        let mut complexity = [1.0; KINDS];
        for kind in [Kind::Vsio, Kind::Vmio, Kind::PageIo, Kind::SpoolIo, Kind::Problem] {
            let most = match kind {
                Kind::Vmio | Kind::SpoolIo => variety.line_complexity_spread,
                Kind::Problem => variety.privileged_spread,
                _ => variety.complexity_spread,
            };
            // Uniform around 1, so that the mean cost is that of the service table.
            complexity[kind as usize] = 1.0 + most * (2.0 * self.tasks.uniform() - 1.0);
        }
        self.task = Task {
            ends,
            complexity,
            problem: self.factor(variety.problem_sigma),
            vsio_rate: self.factor(class.vsio_sigma) / (class.vsio_gap_s * SECOND_NS),
            working_set: (class.working_set * self.factor(variety.working_set_sigma)).round().max(1.0) as u32,
            reference_rate: class.reference_rate * self.factor(variety.reference_sigma) / SECOND_NS,
            new_pages: class.new_pages / SECOND_NS,
            lines_per_block: (variety.lines_per_block * self.factor(variety.lines_sigma)).round().max(1.0)
                as u64,
        };
    }

    /// Draws the demands of the line that was just typed.
    pub fn ask(&mut self, class: &Class, now: Time) {
        let problem = class.problem.sample(&mut self.work);
        self.compute = Span::from_nanoseconds(problem.0 as f64 * self.task.problem);
        // At least one line: every interaction is answered.
        self.output_lines = 1 + geometric(class.output_lines - 1.0, &mut self.work);
        self.answer_lines = self.output_lines;
        let prints = class.print_share > 0.0 && self.work.uniform() < class.print_share;
        self.print_lines = if prints { geometric(class.print_lines, &mut self.work) } else { 0 };
        (self.arrived, self.first_service, self.service) = (now, None, Span::ZERO);
    }

    /// The next burst of problem state time, with `held` pages of the task in core, and its end; `line` is the
    /// problem state time of a line.
    #[inline]
    pub fn burst(&mut self, held: u32, line: Span) -> (Span, End) {
        if self.compute > Span::ZERO {
            // Faults fall linearly with the pages held, and new pages are missing however many there are.
            let missing = 1.0 - f64::from(held) / f64::from(self.task.working_set);
            let faults = self.task.reference_rate * missing.max(0.0) + self.task.new_pages;
            let rate = self.task.vsio_rate + faults;
            // Drawn anew for each burst: exponential times have no memory, so that a slice's end loses
            // nothing.
            let drawn = Span::from_nanoseconds(self.work.exponential() / rate);
            if drawn < self.compute.min(self.slice) {
                let vsio = self.work.uniform() * rate < self.task.vsio_rate;
                return (drawn, if vsio { End::Vsio } else { End::PageException });
            }
            if self.slice < self.compute {
                return (self.slice, End::Slice);
            }
        }
        // Printed lines come before the answer, of which the last line ends the interaction.
        let end = if self.print_lines > 0 { End::Print } else { End::Output };
        // What is left of the computing is done before the first line.
        (self.compute + line, end)
    }

    /// A burst is over.
    #[inline]
    pub fn burst_ends(&mut self, problem: Span, cp: Span) {
        self.compute = Span(self.compute.0.saturating_sub(problem.0));
        // The slice is one of problem state time; the queue's limit counts CP's time for the user, too.
        self.slice = Span(self.slice.0.saturating_sub(problem.0));
        self.queue_cpu += problem + cp;
        self.service += problem + cp;
        self.problem += problem.0;
        self.total += problem.0 + cp.0;
    }
}

/// Geometric on 0, 1, 2 ... with this mean.
fn geometric(mean: f64, stream: &mut Stream) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    // The whole part of an exponential variate of mean 1 / ln(1 + 1 / mean) is geometric with that mean.
    let scale = 1.0 / (1.0 + 1.0 / mean).ln();
    (stream.exponential() * scale) as u64
}
