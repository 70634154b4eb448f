//! The network at work.

use std::sync::Arc;

use thinktime_engine::station::{AnyStation, Delay, Roster, Station, Visit};
use thinktime_engine::{
    Balance, Batches, Calendar, Component, Distribution, LawViolation, Laws, Priority, Slot, Span, Stream,
    Tally, Time, fetch,
};

use crate::kernel::{Interaction, Monitor, Replication, Simulated};

use super::draws::{Draws, SERVICE, THINK};
use super::plan::{Plan, Source};
use super::route::{LEAVE, Next};
use super::samples::Sampler;

/// A replication of a network.
pub struct Model<'a, M> {
    /// The configuration.
    pub(super) plan: &'a Plan,
    /// End, and length of the intervals of samples.
    replication: Replication,
    /// Receiver of interactions and samples.
    monitor: &'a mut M,
    /// In the order of the plan.
    pub(super) stations: Vec<AnyStation>,
    /// Users who think.
    pub(super) think: Delay,
    /// The users, then customers from outside.
    customers: Vec<Customer>,
    /// Numbers of customers from outside who have left.
    free: Vec<u32>,
    /// Random numbers of customers.
    draws: Draws,
    /// Sources of classes whose customers arrive from outside.
    outside: Vec<Outside>,
    /// Customers on their way through the stations.
    pub(super) system: Balance,
    /// Response times by class.
    pub(super) responses: Vec<Tally>,
    /// The series of all response times.
    pub(super) batches: Batches,
    /// State of the samples.
    sampler: Sampler,
    /// Names of the classes in the log.
    labels: Vec<Arc<str>>,
}

/// A user, or a customer from outside.
#[derive(Clone, Copy, Debug)]
struct Customer {
    /// Index of its class.
    class: u32,
    /// The step on the way, or [`THINKING`], or [`ABSENT`].
    step: u32,
    /// When the interaction began.
    arrived: Time,
    /// Think time before the interaction.
    thought: Span,
    /// Demands so far, with a monitor only.
    served: Span,
    /// Number of its arrival; 0 for a user.
    arrival: u64,
    /// Visits to stations so far.
    visit: u64,
}

/// Customers whose state is in the processor's cache anyway.
const CACHED: usize = 1000;
/// Step of a user who thinks. A number that no step has, so that a customer needs no further tag.
const THINKING: u32 = u32::MAX;
/// Step of a customer who has left, whose place can be used again.
const ABSENT: u32 = u32::MAX - 1;

/// Source of the customers of a class from outside.
struct Outside {
    /// Index of the class.
    class: u32,
    /// Random numbers of the times between arrivals.
    stream: Stream,
    /// Arrivals so far.
    arrivals: u64,
}

impl<'a, M: Monitor> Simulated<'a, M> for Model<'a, M> {
    // Near slots for stations, for arrivals of each class, and for samples; far slots for the users.
    fn calendar(plan: &Plan) -> Calendar {
        let outside =
            plan.classes.iter().filter(|class| matches!(class.source, Source::Arrivals { .. })).count();
        let near = plan.stations.len() + outside + usize::from(M::LISTENS);
        Calendar::new(near as u32, plan.users().max(1) as u32)
    }

    fn new(plan: &'a Plan, &replication: &Replication, monitor: &'a mut M) -> Model<'a, M> {
        // Customers from outside join the users at the end of the list, and their places are used again.
        let users = plan.users() as usize;
        let streams = replication.streams;
        let stations = plan.stations.iter().enumerate();
        let mut customers = Vec::with_capacity(users);
        let mut outside = Vec::new();
        for (class, described) in plan.classes.iter().enumerate() {
            let class = class as u32;
            match described.source {
                Source::Users { users, .. } => {
                    customers.extend((0..users).map(|_| Customer::new(class, 0)));
                }
                Source::Arrivals { .. } => {
                    let stream = streams.stream(Component(&format!("arrivals of {}", described.name)), 0);
                    outside.push(Outside { class, stream, arrivals: 0 });
                }
            }
        }
        Model {
            plan,
            replication,
            monitor,
            stations: stations.map(|(index, station)| station.build(Slot(index as u32), users)).collect(),
            think: Delay::new(Roster::new("think", users)),
            customers,
            free: Vec::new(),
            draws: Draws::new(plan, streams),
            outside,
            system: Balance::default(),
            responses: plan.classes.iter().map(|_| Tally::default()).collect(),
            batches: Batches::default(),
            sampler: Sampler::new(plan),
            labels: plan.classes.iter().map(|class| class.name.as_str().into()).collect(),
        }
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        let now = calendar.now();
        if M::LISTENS {
            self.sample(now);
        }
        for station in &self.stations {
            station.check(now, laws)?;
        }
        self.think.check(now, laws)?;
        // The books of the stations know nothing of each other: that they add up is a law of its own.
        let inside = |who: &&Customer| who.step != THINKING && who.step != ABSENT;
        let arrivals = self.customers.iter().filter(inside).map(|who| who.arrived);
        self.system.check("the network", now, arrivals, laws)?;
        let at_stations: u64 = self.stations.iter().map(|station| station.roster().balance().present()).sum();
        let law = "conservation of customers";
        laws.equal(law, "the network", self.system.present(), at_stations)?;
        let elsewhere = self.think.roster().balance().present() + self.free.len() as u64;
        laws.equal(law, "users", self.customers.len() as u64, at_stations + elsewhere)
    }
}

impl<M: Monitor> Model<'_, M> {
    /// An interaction begins.
    #[inline(always)]
    fn begin(&mut self, customer: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        self.system.enter(now);
        let plan = self.plan;
        let who = &mut self.customers[customer as usize];
        who.arrived = now;
        if M::LISTENS {
            who.served = Span::ZERO;
        }
        let start = &plan.classes[who.class as usize].start;
        let step = choose(&mut self.draws, customer, who, start);
        visit::<M>(plan, who, &mut self.draws, &mut self.stations, customer, step, calendar);
    }

    /// Has the processor fetch what the next event of `customer` will look at, if there is such a customer: with many
    /// users it would be waited for.
    #[inline(always)]
    fn fetch(&self, customer: usize) {
        fetch(&self.customers, customer);
        self.think.fetch(customer);
        self.draws.fetch(customer);
    }

    /// The customer has been served at the station of its step.
    #[inline(always)]
    fn go_on(&mut self, customer: u32, calendar: &mut Calendar) {
        let plan = self.plan;
        let who = &mut self.customers[customer as usize];
        match choose(&mut self.draws, customer, who, &plan.steps[who.step as usize].next) {
            LEAVE => self.complete(customer, calendar),
            step => visit::<M>(plan, who, &mut self.draws, &mut self.stations, customer, step, calendar),
        }
    }

    /// A delay at which the customer was is over.
    // Out of line: most delays are those of thinking, which has a station of its own.
    #[inline(never)]
    fn go_on_from_delay(&mut self, slot: Slot, customer: u32, step: u32, calendar: &mut Calendar) {
        let station = self.plan.steps[step as usize].station;
        self.stations[station as usize].due(slot, calendar);
        self.go_on(customer, calendar);
    }

    /// The interaction ends.
    #[inline(always)]
    fn complete(&mut self, customer: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        let who = &mut self.customers[customer as usize];
        self.system.leave(now, who.arrived);
        let response = now.since(who.arrived);
        self.responses[who.class as usize].record(response);
        self.batches.record(now, response);
        if M::LISTENS {
            self.sampler.completions += 1;
            self.monitor.interaction(&Interaction {
                user: customer,
                class: Arc::clone(&self.labels[who.class as usize]),
                think: who.thought,
                arrival: who.arrived,
                first_service: None,
                first_output: None,
                completion: Some(now),
                service: who.served,
                waited: true,
            });
        }
        let plan = self.plan;
        match &plan.classes[who.class as usize].source {
            Source::Users { think, .. } => {
                begin_to_think::<M>(who, &mut self.draws, &mut self.think, customer, think, calendar);
            }
            Source::Arrivals { .. } => {
                who.step = ABSENT;
                // The place is used again: a long run with arrivals needs no more memory than its largest
                // population.
                self.free.push(customer);
            }
        }
    }

    /// A customer comes from outside, and the next arrival is drawn.
    fn arrive(&mut self, source: usize, calendar: &mut Calendar) {
        // The next arrival first: its place in the calendar does not depend on what this one does.
        self.await_arrival(source, calendar);
        let outside = &mut self.outside[source];
        outside.arrivals += 1;
        let arrived = Customer::new(outside.class, outside.arrivals);
        let customer = match self.free.pop() {
            Some(free) => {
                self.customers[free as usize] = arrived;
                free
            }
            None => {
                // A delay station needs the customer's own far slot. Without room for it the run is over.
                if !calendar.reserve_far(self.customers.len() as u32 + 1) {
                    return;
                }
                self.customers.push(arrived);
                self.customers.len() as u32 - 1
            }
        };
        self.begin(customer, calendar);
    }

    /// Draws the next arrival of a source.
    fn await_arrival(&mut self, source: usize, calendar: &mut Calendar) {
        let outside = &mut self.outside[source];
        let Source::Arrivals { between } = &self.plan.classes[outside.class as usize].source else { return };
        let wait = between.sample(&mut outside.stream);
        let slot = calendar.near((self.stations.len() + source) as u32);
        calendar.set(slot, calendar.now() + wait, Priority::Arrival);
    }

    /// Sets the next sample.
    fn await_sample(&self, calendar: &mut Calendar) {
        let slot = calendar.near((self.stations.len() + self.outside.len()) as u32);
        // Due at the end it is not served: `finish` takes the last sample.
        let next = (calendar.now() + self.replication.interval).min(self.replication.end);
        calendar.set(slot, next, Priority::Observation);
    }

    /// Ends an interval of the log's samples.
    fn sample(&mut self, now: Time) {
        let (start, length, values) = self.sampler.take(now, &self.stations, self.system.present());
        self.monitor.sample(start, length, values);
    }
}

/// A user begins to think, for a time by `law`.
// With its parts and not with the model: where a customer is in memory need then not be looked up again.
#[inline(always)]
fn begin_to_think<M: Monitor>(
    who: &mut Customer,
    draws: &mut Draws,
    place: &mut Delay,
    customer: u32,
    law: &Distribution,
    calendar: &mut Calendar,
) {
    who.step = THINKING;
    let thought = draws.time(customer, THINK, who.address(), law);
    if M::LISTENS {
        who.thought = thought;
    }
    // Thinking is a delay station of its own, whose books are checked like those of the others.
    place.arrive(Visit { customer, demand: thought, priority: 0 }, calendar);
}

/// The step that a customer takes, or [`LEAVE`].
#[inline(always)]
fn choose(draws: &mut Draws, customer: u32, who: &Customer, next: &Next) -> u32 {
    match next {
        Next::Step(step) => *step,
        Next::Leave => LEAVE,
        Next::Random(table) => draws.way(customer, who.address(), table),
    }
}

/// A customer takes a step; with its parts, as [`begin_to_think`].
#[inline(always)]
fn visit<M: Monitor>(
    plan: &Plan,
    who: &mut Customer,
    draws: &mut Draws,
    stations: &mut [AnyStation],
    customer: u32,
    step: u32,
    calendar: &mut Calendar,
) {
    let described = &plan.steps[step as usize];
    who.step = step;
    who.visit += 1;
    let purpose = SERVICE + described.station as usize;
    let demand = draws.time(customer, purpose, who.address(), &described.service);
    if M::LISTENS {
        // Only for the log: the demand counts when it is known, not when it has been served.
        who.served += demand;
    }
    let visit = Visit { customer, demand, priority: described.priority };
    stations[described.station as usize].arrive(visit, calendar);
}

impl Customer {
    /// Address of the next draw of a customer from outside.
    fn address(&self) -> [u64; 3] {
        [u64::from(self.class), self.arrival, self.visit]
    }

    fn new(class: u32, arrival: u64) -> Customer {
        Customer {
            class,
            step: ABSENT,
            arrived: Time::ZERO,
            thought: Span::ZERO,
            served: Span::ZERO,
            arrival,
            visit: 0,
        }
    }
}

impl<M: Monitor> thinktime_engine::Model for Model<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        let plan = self.plan;
        let mut user = 0;
        for class in &plan.classes {
            let Source::Users { users, think } = &class.source else { continue };
            for _ in 0..*users {
                let who = &mut self.customers[user as usize];
                begin_to_think::<M>(who, &mut self.draws, &mut self.think, user, think, calendar);
                user += 1;
            }
        }
        (0..self.outside.len()).for_each(|source| self.await_arrival(source, calendar));
        if M::LISTENS {
            self.await_sample(calendar);
        }
    }

    #[inline(always)]
    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        let stations = self.stations.len();
        if let Some(customer) = calendar.far_index(slot) {
            if self.customers.len() > CACHED {
                self.fetch(calendar.next_far());
            }
            let step = self.customers[customer as usize].step;
            if step == THINKING {
                // Leaves the books of thinking before it enters those of the network: nobody is in both.
                self.think.due(slot, calendar);
                self.begin(customer, calendar);
            } else {
                self.go_on_from_delay(slot, customer, step, calendar);
            }
        } else if let Some(station) = self.stations.get_mut(slot.0 as usize) {
            if let Some(customer) = station.due(slot, calendar) {
                self.go_on(customer, calendar);
            }
        } else if let Some(_source) = self.outside.get(slot.0 as usize - stations) {
            self.arrive(slot.0 as usize - stations, calendar);
        } else {
            self.sample(calendar.now());
            self.await_sample(calendar);
        }
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        let now = calendar.now();
        // Before the stations forget their busy time.
        self.sampler.restart(now, &self.stations);
        self.stations.iter_mut().for_each(|station| station.restart_statistics(now));
        self.think.restart_statistics(now);
        self.system.restart(now);
        self.responses.iter_mut().for_each(Tally::clear);
        self.batches.clear();
    }
}
