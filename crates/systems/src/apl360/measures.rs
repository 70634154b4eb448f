//! Measures of a run, and the laws that must hold for it.

use thinktime_engine::{Balance, Batches, Busy, LawViolation, Laws, Level, Span, Tally, Time};

use super::workload::{Activity, Class, User};

/// Queue of an input after Figure 6, or thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// No input.
    Thinking = 0,
    /// Before the end of the first slice.
    Foreground = 1,
    /// After the first slice.
    Background = 2,
    /// Waiting for output.
    OutputBound = 3,
    /// A command after its first slice.
    Command = 4,
}

/// All queues, with their names in columns.
pub(super) const QUEUES: [(Queue, &str); 5] = [
    (Queue::Thinking, "thinking"),
    (Queue::Foreground, "foreground"),
    (Queue::Background, "background"),
    (Queue::OutputBound, "output_bound"),
    (Queue::Command, "command"),
];

impl Queue {
    /// Queue of an activity.
    pub fn of(activity: Activity) -> Queue {
        match activity {
            Activity::Thinking => Queue::Thinking,
            Activity::Foreground => Queue::Foreground,
            Activity::Background => Queue::Background,
            Activity::OutputWait => Queue::OutputBound,
            Activity::CommandWait | Activity::CommandService => Queue::Command,
        }
    }
}

/// Service up to which a compute transaction's response time counts (page 136) [s].
pub(super) const SHORT_S: f64 = 2.0;
/// Response times within which Table 9 counts [s].
pub(super) const LIMITS_S: [u64; 3] = [5, 10, 15];
/// Classes of service time for the slowdown, by their upper ends [s].
pub(super) const SIZES: [(&str, f64); 5] =
    [("tiny", 0.1), ("small", 0.5), ("medium", 2.0), ("large", 10.0), ("huge", f64::INFINITY)];

/// Sums over the inputs of a size class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    /// Response times [ns].
    pub response: u128,
    /// Service times [ns].
    pub service: u128,
}

/// Everything that is measured as a run goes.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    /// When statistics began.
    pub since: Time,
    /// Users in each queue.
    pub queues: [Balance; 5],
    /// Inputs in the system.
    pub system: Balance,
    /// Number of users.
    users: u64,
    /// Slices.
    pub processor: Busy,
    /// 1 while no slice is in progress.
    idle: Level,
    /// Supervisor's part of the slices that have ended [ns].
    overhead: u128,
    /// The same of the slice in progress: since when, and its whole length.
    current_overhead: (Time, Span),
    /// Inputs received.
    pub inputs: u64,
    /// Inputs serviced.
    pub serviced: u64,
    /// Times from an input to its first slice.
    pub reaction: Tally,
    /// Sum of log10(R + 0.5), R the reaction time [s].
    pub log_reaction: f64,
    /// Response times of short compute transactions.
    pub short: Tally,
    /// Those of them within each of [`LIMITS_S`].
    pub within: [u64; 3],
    /// Response times of commands.
    pub command: Tally,
    /// By size class.
    pub stretches: [Stretch; 5],
    /// The series of the short responses.
    pub batches: Batches,
    /// State at the last sample.
    pub sampled: Sampled,
}

/// Counts and areas when the last sample was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampled {
    /// Its time.
    pub at: Time,
    /// Area of each queue [ns].
    pub queues: [u128; 5],
    /// Inputs received.
    pub inputs: u64,
    /// Inputs serviced.
    pub serviced: u64,
    /// Busy time of the processor [ns].
    pub busy: u128,
    /// Supervisor's part of it [ns].
    pub overhead: u128,
    /// Busy time of the disk [ns].
    pub disk: u128,
    /// Accesses begun, by kind.
    pub accesses: [u64; 3],
}

impl Measures {
    pub fn new(users: u32) -> Measures {
        let mut idle = Level::default();
        // Idle until the first slice: time adds up from the start.
        idle.set(Time::ZERO, 1);
        Measures {
            since: Time::ZERO,
            queues: [Balance::default(); 5],
            system: Balance::default(),
            users: u64::from(users),
            processor: Busy::default(),
            idle,
            overhead: 0,
            current_overhead: (Time::ZERO, Span::ZERO),
            inputs: 0,
            serviced: 0,
            reaction: Tally::default(),
            log_reaction: 0.0,
            short: Tally::default(),
            within: [0; 3],
            command: Tally::default(),
            stretches: [Stretch::default(); 5],
            batches: Batches::default(),
            sampled: Sampled::default(),
        }
    }

    /// A user enters `queue`.
    pub fn enter(&mut self, queue: Queue, now: Time) {
        self.queues[queue as usize].enter(now);
    }

    /// A user leaves `queue`.
    pub fn leave(&mut self, queue: Queue, now: Time, entered: Time) {
        self.queues[queue as usize].leave(now, entered);
    }

    /// An input comes.
    pub fn input(&mut self, now: Time) {
        self.inputs += 1;
        self.system.enter(now);
    }

    /// The first slice of an input begins.
    pub fn reaction(&mut self, time: Span) {
        self.reaction.record(time);
        self.log_reaction += (time.seconds() + 0.5).log10();
    }

    /// A slice begins.
    pub fn slice_begins(&mut self, now: Time, overhead: Span) {
        self.idle.set(now, 0);
        self.processor.begin(now);
        self.current_overhead = (now, overhead);
    }

    /// Supervisor's part of the processor's busy time [ns].
    pub fn overhead_so_far(&self, now: Time) -> u128 {
        let (begun, length) = self.current_overhead;
        self.overhead + u128::from(now.since(begun).min(length).0)
    }

    /// A slice ends.
    pub fn slice_ends(&mut self, now: Time, overhead: Span) {
        self.processor.end(now);
        self.idle.set(now, 1);
        // Overhead belongs to no one: it counts as a completed demand of the supervisor.
        self.processor.complete(overhead);
        self.overhead = self.overhead_so_far(now);
        self.current_overhead = (now, Span::ZERO);
    }

    /// Records an input that is serviced.
    pub fn complete(&mut self, user: &User, now: Time) {
        let transaction = &user.transaction;
        let response = now.since(user.arrived);
        self.system.leave(now, user.arrived);
        self.serviced += 1;
        self.processor.complete(transaction.demand);
        let service_s = transaction.demand.seconds();
        let computes = transaction.class == Class::Compute;
        if let Some(size) = SIZES.iter().position(|(_, up_to)| computes && service_s <= *up_to) {
            self.stretches[size].response += u128::from(response.0);
            self.stretches[size].service += u128::from(transaction.demand.0);
        }
        // Response times count for short compute transactions only, as in the tables (page 136).
        match transaction.class {
            Class::Compute if service_s <= SHORT_S => {
                self.short.record(response);
                self.batches.record(now, response);
                for (count, limit) in self.within.iter_mut().zip(LIMITS_S) {
                    *count += u64::from(response.seconds() <= limit as f64);
                }
            }
            Class::Command => self.command.record(response),
            _ => {}
        }
    }

    /// Service received by inputs that are not done, and in the slice in progress [ns].
    fn received(users: &[User], (overhead, service): (Span, Span)) -> u128 {
        let unfinished = users.iter().filter(|user| user.activity != Activity::Thinking);
        let attained: u128 = unfinished.map(|user| u128::from(user.attained.0)).sum();
        attained + u128::from(overhead.0) + u128::from(service.0)
    }

    /// Little's law and flow balance for each queue and the system, the utilisation law, time adds up.
    pub fn check(
        &self,
        now: Time,
        users: &[User],
        running: (Span, Span),
        laws: &mut Laws,
    ) -> Result<(), LawViolation> {
        for (queue, name) in QUEUES {
            let inside = users.iter().filter(|user| Queue::of(user.activity) == queue);
            self.queues[queue as usize].check(name, now, inside.map(|user| user.entered), laws)?;
        }
        let inside = users.iter().filter(|user| user.activity != Activity::Thinking);
        self.system.check("system", now, inside.map(|user| user.arrived), laws)?;
        let present: u64 = self.queues.iter().map(Balance::present).sum();
        laws.equal("flow balance", "users in all queues", present, self.users)?;
        self.processor.check("processor", now, Self::received(users, running), laws)?;
        let length = u128::from(now.since(self.since).0);
        let all = self.processor.area(now) + self.idle.area(now);
        laws.equal("time adds up", "processor", all, length)
    }

    /// Statistics begin anew; queues and the slice in progress stay.
    pub fn restart(&mut self, now: Time, users: &[User], running: (Span, Span)) {
        let mut fresh = Measures::new(self.users as u32);
        fresh.since = now;
        fresh.queues = self.queues;
        fresh.queues.iter_mut().for_each(|queue| queue.restart(now));
        fresh.system = self.system;
        fresh.system.restart(now);
        fresh.processor = self.processor;
        fresh.processor.restart(now, Self::received(users, running));
        fresh.idle = self.idle;
        fresh.idle.restart(now);
        let (begun, length) = self.current_overhead;
        // The rest of it belongs to the new statistics, the part before to the old ones.
        fresh.current_overhead = (now, length - now.since(begun).min(length));
        fresh.sampled.at = now;
        *self = fresh;
    }
}
