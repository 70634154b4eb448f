//! The configuration: users and classes as described, checked.

use serde_json::{Map, Value};
use thinktime_engine::station::{AnyStation, Order, ProcessorSharing, Processors, Roster, Servers};
use thinktime_engine::{Slot, Span, Time};

use super::parameters::{Inputs, Parameters, Scheduler};
use crate::kernel::{ParameterError, Settings, refuse};

/// Name of the system.
pub(super) const SYSTEM: &str = "timesharing";
/// Largest number of a priority; 0 is the most urgent.
const LEAST_URGENT: u64 = 100;
/// Largest number of users, classes or groups of a list.
const MOST: usize = 100_000;
/// Longest time that may be given [s].
const LONGEST_S: f64 = 1e9;
/// Remedy for a user that is wrong.
const USER: &str = "give a user as {interactions = [[10, 0.5, 0.1]]}, and where they are known from, until, \
                    scheduled and group";
/// Remedy for an interaction that is wrong.
const INTERACTION: &str = "give think time, CPU time and other delay, numbers from 0 to 1e9 [s], and the number of its \
                           class where there are classes: [10, 0.5, 0.1, 0]";

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// The list; where there are more at their terminals, each plays several.
    pub users: Vec<User>,
    /// Users at their terminals.
    pub population: u32,
    /// Order of the interactions of a user.
    pub inputs: Inputs,
    /// At least one.
    pub classes: Vec<Class>,
    /// Groups of users whose responses are summed.
    pub groups: usize,
    /// CPUs.
    pub cpus: u64,
    /// Order in which interactions get a CPU.
    pub scheduler: Scheduler,
    /// Longest service without a break, by level; one where there are no levels.
    pub slices: Vec<Span>,
    /// CPUs that background work takes.
    pub background: f64,
    /// Mean CPU time of a piece of background work [s].
    pub burst_s: f64,
}

/// A user, as recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct User {
    /// When its first input is due, in recorded order.
    pub from: Span,
    /// No input is due later, in recorded order.
    pub until: Time,
    /// Whether its think times count from the input before, whatever becomes of that.
    pub scheduled: bool,
    /// Index of its group.
    pub group: usize,
    /// In the order of recording, at least one.
    pub interactions: Vec<Input>,
}

/// An interaction, as recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Input {
    /// Time before it.
    pub think: Span,
    /// CPU time that it needs.
    pub cpu: Span,
    /// What else it waits for, however loaded the machine is.
    pub delay: Span,
    /// Index of its class.
    pub class: u32,
}

/// A class of interactions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    /// Name in the log.
    pub name: String,
    /// 0 is the most urgent.
    pub priority: u32,
}

/// An error about the item at `path`.
fn wrong(path: &str, given: impl std::fmt::Display, remedy: &str) -> ParameterError {
    ParameterError::new(SYSTEM, path, given, remedy)
}

/// The items of a list, which a shell may have given as text.
fn list(name: &str, value: Value, remedy: &str) -> Result<Vec<Value>, ParameterError> {
    let parsed = match &value {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        _ => value,
    };
    match parsed {
        Value::Array(items) if items.len() <= MOST => Ok(items),
        Value::Array(items) => {
            let remedy = format!("give at most {MOST}");
            Err(wrong(name, format!("a list of {}", items.len()), &remedy))
        }
        other => Err(wrong(name, other, remedy)),
    }
}

/// The fields of a table, which are among `allowed`.
fn fields<'v>(
    path: &str,
    value: &'v Value,
    allowed: &[&str],
    remedy: &str,
) -> Result<&'v Map<String, Value>, ParameterError> {
    let table = value.as_object().ok_or_else(|| wrong(path, value, remedy))?;
    match table.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(unknown) => Err(ParameterError::unknown(SYSTEM, &format!("field of {path}"), unknown, allowed)),
        None => Ok(table),
    }
}

/// A length of time.
fn seconds(value: &Value) -> Option<Span> {
    value.as_f64().filter(|given| (0.0..=LONGEST_S).contains(given)).map(Span::from_seconds)
}

impl Input {
    fn read(path: &str, value: &Value, classes: usize) -> Result<Input, ParameterError> {
        let read = || {
            let (times, class) = match value.as_array()?.as_slice() {
                [times @ .., class] if times.len() == 3 => (times, class.as_u64()?),
                times => (times, 0),
            };
            let [think, cpu, delay] = times else { return None };
            let (think, cpu, delay) = (seconds(think)?, seconds(cpu)?, seconds(delay)?);
            (class < classes as u64).then_some(Input { think, cpu, delay, class: class as u32 })
        };
        read().ok_or_else(|| wrong(path, value, INTERACTION))
    }
}

impl User {
    fn read(index: usize, value: &Value, classes: usize) -> Result<User, ParameterError> {
        let path = format!("users[{index}]");
        let table = fields(&path, value, &["interactions", "from", "until", "scheduled", "group"], USER)?;
        let time = |name: &str, default: f64| match table.get(name) {
            Some(given) => seconds(given).ok_or_else(|| wrong(&format!("{path}.{name}"), given, USER)),
            None => Ok(Span::from_seconds(default)),
        };
        let listed = table.get("interactions").and_then(Value::as_array).filter(|list| !list.is_empty());
        let listed = listed.ok_or_else(|| wrong(&path, value, USER))?;
        let interactions: Vec<Input> = listed
            .iter()
            .enumerate()
            .map(|(number, one)| Input::read(&format!("{path}.interactions[{number}]"), one, classes))
            .collect::<Result<_, _>>()?;
        if interactions.iter().all(|one| [one.think, one.cpu, one.delay] == [Span::ZERO; 3]) {
            // Such a user would type for ever without time passing.
            return Err(wrong(&path, value, "give an interaction that takes time"));
        }
        let scheduled = match table.get("scheduled") {
            None => false,
            Some(given) => given.as_bool().ok_or_else(|| wrong(&format!("{path}.scheduled"), given, USER))?,
        };
        if scheduled && interactions.iter().all(|one| one.think == Span::ZERO) {
            return Err(wrong(&path, value, "give inputs of a schedule a time between them"));
        }
        let group = match table.get("group") {
            None => index,
            Some(given) => given
                .as_u64()
                .filter(|group| *group < MOST as u64)
                .ok_or_else(|| wrong(&format!("{path}.group"), given, USER))?
                as usize,
        };
        let until = Time::ZERO + time("until", LONGEST_S)?;
        Ok(User { from: time("from", 0.0)?, until, scheduled, group, interactions })
    }

    /// Mean time from one input to the next, without waits [s].
    pub(super) fn cycle_s(&self) -> f64 {
        let served = |one: &Input| if self.scheduled { 0.0 } else { one.cpu.seconds() + one.delay.seconds() };
        let total: f64 = self.interactions.iter().map(|one| one.think.seconds() + served(one)).sum();
        total / self.interactions.len() as f64
    }

    /// Mean CPU time of an interaction [s].
    pub(super) fn cpu_s(&self) -> f64 {
        let total: f64 = self.interactions.iter().map(|one| one.cpu.seconds()).sum();
        total / self.interactions.len() as f64
    }
}

impl Class {
    fn read(index: usize, value: &Value) -> Result<Class, ParameterError> {
        const REMEDY: &str =
            "give a class as {name = \"editing\", priority = 0}; 0 is the most urgent, 100 the least";
        let path = format!("classes[{index}]");
        let table = fields(&path, value, &["name", "priority"], REMEDY)?;
        let priority = match table.get("priority") {
            None => Some(0),
            Some(given) => given.as_u64().filter(|priority| *priority <= LEAST_URGENT),
        };
        match (table.get("name").and_then(Value::as_str), priority) {
            (Some(name), Some(priority)) => Ok(Class { name: name.into(), priority: priority as u32 }),
            _ => Err(wrong(&path, value, REMEDY)),
        }
    }
}

impl Config {
    pub(super) fn new(parameters: Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        if parameters.background >= parameters.cpus as f64 {
            let remedy = format!("give fewer than the {} CPUs, so that users get a CPU", parameters.cpus);
            return Err(refuse!(settings, parameters.background, &remedy));
        }
        let classes = list("classes", parameters.classes, "give a list of classes, [{name = \"editing\"}]")?;
        let mut classes: Vec<Class> = classes
            .iter()
            .enumerate()
            .map(|(index, one)| Class::read(index, one))
            .collect::<Result<_, _>>()?;
        if classes.is_empty() {
            classes.push(Class { name: "interaction".into(), priority: 0 });
        }
        let users =
            list("users", parameters.users, "give a list of users, [{interactions = [[10, 0.5, 0.1]]}]")?;
        let users: Vec<User> = users
            .iter()
            .enumerate()
            .map(|(index, one)| User::read(index, one, classes.len()))
            .collect::<Result<_, _>>()?;
        if users.is_empty() {
            return Err(wrong("users", "an empty list", "give at least one user"));
        }
        let levels = if parameters.scheduler == Scheduler::Feedback { parameters.levels } else { 1 };
        Ok(Config {
            population: match parameters.population {
                0 => users.len() as u32,
                users => users as u32,
            },
            inputs: parameters.inputs,
            classes,
            groups: users.iter().map(|user| user.group + 1).max().unwrap_or(0),
            users,
            cpus: parameters.cpus,
            scheduler: parameters.scheduler,
            slices: (0..levels).map(|level| parameters.time_slice.times(1 << level)).collect(),
            background: parameters.background,
            burst_s: parameters.background_burst,
        })
    }

    /// Whom user `number` at the terminals is like.
    pub(super) fn user(&self, number: u32) -> &User {
        &self.users[number as usize % self.users.len()]
    }

    /// The CPUs, at near slot `slot`, with room for `customers`.
    pub(super) fn station(&self, slot: Slot, customers: usize) -> AnyStation {
        let (roster, cpus) = (Roster::new("CPUs", customers), self.cpus as usize);
        let order = match self.scheduler {
            Scheduler::ProcessorSharing => {
                return AnyStation::ProcessorSharing(ProcessorSharing::new(roster, slot, self.cpus));
            }
            Scheduler::Fcfs => return AnyStation::Servers(Servers::new(roster, slot, cpus)),
            Scheduler::RoundRobin => Order::RoundRobin(self.slices[0]),
            Scheduler::Feedback => Order::Feedback(self.slices.clone()),
            Scheduler::Priority => Order::Priority,
            Scheduler::ShortestRemaining => Order::ShortestRemaining,
        };
        AnyStation::Processors(Processors::new(roster, slot, cpus, order, Span::ZERO))
    }

    /// Priority of class `class` at the CPUs; only the scheduler of that name looks at it.
    pub(super) fn priority(&self, class: u32) -> u32 {
        // First come, first served is a station that knows priorities.
        if self.scheduler == Scheduler::Priority { self.classes[class as usize].priority } else { 0 }
    }

    /// Priority of background work: that of the least urgent class.
    pub(super) fn background_priority(&self) -> u32 {
        (0..self.classes.len() as u32).map(|class| self.priority(class)).max().unwrap_or(0)
    }
}
