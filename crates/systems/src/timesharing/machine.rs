//! The machine as it runs: the effect of each event.

use std::collections::VecDeque;
use std::sync::Arc;

use thinktime_engine::station::{AnyStation, Delay, Roster, Station, Visit};
use thinktime_engine::{
    Balance, Batches, Calendar, Component, LawViolation, Laws, Model, Priority, Slot, Span, Stream, Time,
};

use super::config::{Config, Input};
use super::parameters::Inputs;
use super::responses::{Measures, RunTotals, Sampler};
use crate::kernel::{Accounted, Interaction, Monitor, Replication, Simulated};

/// Near slots of the calendar; each user has two far ones, for the ends of thinking and of the delay.
const PROCESSORS: Slot = Slot(0);
const BACKGROUND: Slot = Slot(1);
const SAMPLE: Slot = Slot(2);
const NEAR_SLOTS: u32 = 3;

/// A user at a terminal.
#[derive(Clone, Debug)]
struct Typist {
    /// Index of the interaction that it types next.
    next: u32,
    /// The interaction in progress.
    current: Option<Progress>,
    /// Inputs that wait for the one in progress.
    typed: VecDeque<Progress>,
    /// Draws interactions.
    stream: Stream,
}

/// An interaction in progress.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// When the input was due.
    due: Time,
    /// Index among the user's.
    number: u32,
    /// Whether it has had its CPU time.
    computed: bool,
}

/// A replication.
pub(super) struct Machine<'c, M> {
    config: &'c Config,
    replication: Replication,
    monitor: &'c mut M,
    /// Customers: users by their number, then background work, above all numbers of users and of their delays.
    processors: AnyStation,
    /// Users who think.
    think: Delay,
    /// Interactions in their delay: customers numbered after the users.
    rest: Delay,
    users: Vec<Typist>,
    /// Users who type nothing more.
    gone: u32,
    /// Interactions that are due and not completed.
    interactions: Balance,
    measures: Measures,
    batches: Batches,
    sampler: Sampler,
    /// Names of the classes in the log.
    labels: Vec<Arc<str>>,
    /// Draws background work.
    background: Stream,
    /// Pieces of background work at the CPUs.
    pieces: u32,
    /// Largest number of a piece so far.
    numbered: u32,
    /// Numbers of pieces that have been done.
    free: Vec<u32>,
}

impl<'c, M: Monitor> Simulated<'c, M> for Machine<'c, M> {
    fn calendar(config: &Config) -> Calendar {
        Calendar::new(NEAR_SLOTS, 2 * config.population)
    }

    fn new(config: &'c Config, &replication: &Replication, monitor: &'c mut M) -> Machine<'c, M> {
        let (users, streams) = (config.population, replication.streams);
        let drawn = streams.address(Component("interactions"));
        let typist = |user: u32| Typist {
            next: 0,
            current: None,
            typed: VecDeque::new(),
            stream: drawn.stream(u64::from(user)),
        };
        Machine {
            config,
            replication,
            monitor,
            processors: config.station(PROCESSORS, users as usize),
            think: Delay::new(Roster::new("think", users as usize)),
            rest: Delay::new(Roster::new("delays", 2 * users as usize)),
            users: (0..users).map(typist).collect(),
            gone: 0,
            interactions: Balance::default(),
            measures: Measures::new(config),
            batches: Batches::default(),
            sampler: Sampler::default(),
            labels: config.classes.iter().map(|class| class.name.as_str().into()).collect(),
            background: streams.stream(Component("background"), 0),
            pieces: 0,
            numbered: 2 * users,
            free: Vec::new(),
        }
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        let now = calendar.now();
        if M::LISTENS {
            self.sample(now);
        }
        self.processors.check(now, laws)?;
        self.think.check(now, laws)?;
        self.rest.check(now, laws)?;
        let in_progress = || self.users.iter().flat_map(|user| user.current.iter().chain(&user.typed));
        self.interactions.check("interactions", now, in_progress().map(|one| one.due), laws)?;
        // The books of users and of stations know nothing of each other: that they add up is a law of its own.
        let law = "conservation of interactions";
        let served = || self.users.iter().filter_map(|user| user.current);
        let computing = served().filter(|one| !one.computed).count() as u64;
        let at_processors = self.processors.roster().balance().present();
        laws.equal(law, "CPUs", computing + u64::from(self.pieces), at_processors)?;
        let delayed = served().filter(|one| one.computed).count() as u64;
        laws.equal(law, "delays", delayed, self.rest.roster().balance().present())?;
        // One who is served thinks only if the inputs are scheduled.
        let waits = |(user, one): (u32, &Typist)| one.current.is_none() || self.config.user(user).scheduled;
        let waiting = (0..).zip(&self.users).filter(|one| waits(*one)).count() as u64;
        let thinking = self.think.roster().balance().present();
        laws.equal("conservation of users", "terminals", waiting, thinking + u64::from(self.gone))
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// Interaction `number` of `user`.
    fn input(&self, user: u32, number: u32) -> Input {
        self.config.user(user).interactions[number as usize]
    }

    /// The index of the interaction that `user` types after `number`.
    fn after(&mut self, user: u32, number: u32) -> u32 {
        let among = self.config.user(user).interactions.len() as u64;
        match self.config.inputs {
            Inputs::Recorded => ((u64::from(number) + 1) % among) as u32,
            Inputs::Resampled => self.users[user as usize].stream.below(among) as u32,
        }
    }

    /// A user comes to the terminal.
    fn come(&mut self, user: u32, calendar: &mut Calendar) {
        let think = match self.config.inputs {
            Inputs::Recorded => self.config.user(user).from,
            Inputs::Resampled => {
                let next = self.after(user, 0);
                let typist = &mut self.users[user as usize];
                typist.next = next;
                // In the midst of a think time, so that users who think for the same time do not begin in step.
                let part = typist.stream.uniform();
                Span::from_seconds(self.input(user, next).think.seconds() * part)
            }
        };
        self.think.arrive(Visit { customer: user, demand: think, priority: 0 }, calendar);
    }

    /// A user begins to think about the next input, or leaves.
    fn think(&mut self, user: u32, calendar: &mut Calendar) {
        let next = self.after(user, self.users[user as usize].next);
        let think = self.input(user, next).think;
        if self.config.inputs == Inputs::Recorded && calendar.now() + think > self.config.user(user).until {
            self.gone += 1;
            return;
        }
        self.users[user as usize].next = next;
        self.think.arrive(Visit { customer: user, demand: think, priority: 0 }, calendar);
    }

    /// An input of `user` is due.
    fn begin(&mut self, user: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        self.interactions.enter(now);
        let typist = &mut self.users[user as usize];
        let progress = Progress { due: now, number: typist.next, computed: false };
        if typist.current.is_some() {
            typist.typed.push_back(progress);
        } else {
            self.compute(user, progress, calendar);
        }
        if self.config.user(user).scheduled {
            self.think(user, calendar);
        }
    }

    /// An interaction goes to the CPUs.
    fn compute(&mut self, user: u32, progress: Progress, calendar: &mut Calendar) {
        self.users[user as usize].current = Some(progress);
        let input = self.input(user, progress.number);
        let priority = self.config.priority(input.class);
        self.processors.arrive(Visit { customer: user, demand: input.cpu, priority }, calendar);
    }

    /// An interaction has had its CPU time.
    fn computed(&mut self, user: u32, calendar: &mut Calendar) {
        let Some(progress) = &mut self.users[user as usize].current else { return };
        progress.computed = true;
        let number = progress.number;
        let delay = self.input(user, number).delay;
        self.rest
            .arrive(Visit { customer: self.config.population + user, demand: delay, priority: 0 }, calendar);
    }

    /// An interaction is completed.
    fn complete(&mut self, user: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        let typist = &mut self.users[user as usize];
        let Some(Progress { due, number, .. }) = typist.current.take() else { return };
        let waiting = typist.typed.pop_front();
        let (input, response) = (self.input(user, number), now.since(due));
        self.interactions.leave(now, due);
        let whom = self.config.user(user);
        self.measures.record(input.class, whom.group, response, input.cpu + input.delay);
        self.batches.record(now, response);
        if M::LISTENS {
            self.sampler.completions += 1;
            self.monitor.interaction(&Interaction {
                user,
                class: Arc::clone(&self.labels[input.class as usize]),
                think: input.think,
                arrival: due,
                first_service: None,
                first_output: None,
                completion: Some(now),
                service: input.cpu,
                waited: true,
            });
        }
        if let Some(next) = waiting {
            self.compute(user, next, calendar);
        }
        if !whom.scheduled {
            self.think(user, calendar);
        }
    }

    /// Draws when the next piece of background work comes.
    fn await_background(&mut self, calendar: &mut Calendar) {
        if self.config.background > 0.0 {
            let between_s = self.config.burst_s / self.config.background;
            let wait = Span::from_seconds(between_s * self.background.exponential());
            calendar.set(BACKGROUND, calendar.now() + wait, Priority::Arrival);
        }
    }

    /// A piece of background work comes.
    fn disturb(&mut self, calendar: &mut Calendar) {
        self.await_background(calendar);
        let demand = Span::from_seconds(self.config.burst_s * self.background.exponential());
        let customer = match self.free.pop() {
            Some(free) => free,
            None => {
                // Background work of which more comes than is done needs room without end: the limits know how much.
                if !calendar.reserve_far(self.numbered + 1) {
                    return;
                }
                self.numbered += 1;
                self.numbered - 1
            }
        };
        self.pieces += 1;
        let priority = self.config.background_priority();
        self.processors.arrive(Visit { customer, demand, priority }, calendar);
    }

    /// Sets the next sample.
    fn await_sample(&self, calendar: &mut Calendar) {
        // Due at the end it is not served: `finish` takes the last sample.
        let next = (calendar.now() + self.replication.interval).min(self.replication.end);
        calendar.set(SAMPLE, next, Priority::Observation);
    }

    /// Ends an interval of the log's samples.
    fn sample(&mut self, now: Time) {
        let (start, length, values) = self.sampler.take(now, &self.processors, self.interactions.present());
        self.monitor.sample(start, length, values);
    }
}

impl<M: Monitor> Model for Machine<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        (0..self.config.population).for_each(|user| self.come(user, calendar));
        self.await_background(calendar);
        if M::LISTENS {
            self.await_sample(calendar);
        }
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        let users = self.config.population;
        match (calendar.far_index(slot), slot) {
            (Some(user), _) if user < users => {
                if let Some(user) = self.think.due(slot, calendar) {
                    self.begin(user, calendar);
                }
            }
            (Some(_), _) => {
                if let Some(delayed) = self.rest.due(slot, calendar) {
                    self.complete(delayed - users, calendar);
                }
            }
            (None, BACKGROUND) => self.disturb(calendar),
            (None, SAMPLE) => {
                self.sample(calendar.now());
                self.await_sample(calendar);
            }
            (None, _) => match self.processors.due(slot, calendar) {
                Some(user) if user < users => self.computed(user, calendar),
                Some(piece) => {
                    self.pieces -= 1;
                    self.free.push(piece);
                }
                None => {}
            },
        }
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        let now = calendar.now();
        self.sampler.restart(now, &self.processors);
        self.processors.restart_statistics(now);
        self.think.restart_statistics(now);
        self.rest.restart_statistics(now);
        self.interactions.restart(now);
        self.measures = Measures::new(self.config);
        self.batches.clear();
    }

    fn is_over(&self) -> bool {
        self.gone == self.config.population && self.interactions.present() == 0
    }
}

impl<M: Monitor> Accounted for Machine<'_, M> {
    type Configuration = Config;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        RunTotals {
            measures: &self.measures,
            processors: &self.processors,
            cpus: self.config.cpus,
            mean_present: self.interactions.mean_present(now),
            length_s: now.since(self.interactions.since()).seconds(),
            now,
        }
    }

    fn batches(&self) -> &Batches {
        &self.batches
    }
}
