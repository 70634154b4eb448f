//! The network as described: stations and classes, checked.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Value, json};
use thinktime_engine::station::{
    AnyStation, Delay, Fcfs, Feedback, LeastAttained, Order, PreemptivePriority, ProcessorSharing,
    Processors, Roster, RoundRobin, Servers, ShortestRemaining,
};
use thinktime_engine::{Distribution, Slot, Span};

use crate::kernel::{ParameterError, Settings, refuse};

use super::fields::{self, Fields, SYSTEM};
use super::route::{Next, Route};

/// More users would not find room in the calendar.
pub const MOST_USERS: u64 = 10_000_000;
/// Largest number of stations or classes.
const MOST_STATIONS: usize = 1000;
/// Largest number of servers of a station.
const MOST_SERVERS: u64 = 1_000_000;
/// Largest number of a priority; 0 is the most urgent.
const LEAST_URGENT: u64 = 100;

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Users of the only class.
    users: u64,
    /// Their think time [s].
    think: Distribution,
    /// Time between arrivals of the only class [s], or none.
    arrivals: Value,
    /// List of tables, one per station.
    stations: Value,
    /// Route of the only class.
    route: Value,
    /// List of tables, one per class.
    classes: Value,
}

/// A checked network.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order given.
    pub stations: Vec<StationPlan>,
    /// In the order given.
    pub classes: Vec<ClassPlan>,
    /// The steps of all classes, one after another.
    pub steps: Vec<Step>,
}

/// One visit of a class to a station.
#[derive(Clone, Debug)]
pub struct Step {
    /// Index of the station.
    pub station: u32,
    /// Demand of the visit.
    pub service: Distribution,
    /// That of the class.
    pub priority: u32,
    /// Where the customer goes from there.
    pub next: Next,
}

/// A station as described.
#[derive(Clone, Debug)]
pub struct StationPlan {
    /// Part of the names of its responses.
    pub name: String,
    /// Order and way of service.
    pub discipline: Discipline,
    /// Demand of classes that give none of their own.
    service: Option<Distribution>,
}

/// Order and way of service.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// First come, first served.
    Fcfs { servers: u64 },
    /// By priority, without pre-emption.
    Priority { servers: u64 },
    /// By priority; an arrival takes the server from a less urgent customer.
    PreemptivePriority { servers: u64 },
    /// In turn, for a time slice each; `switching` is lost when another customer follows.
    RoundRobin { servers: u64, slice: Span, switching: Span },
    /// By level, with a time slice for each level; a customer that used up its slice falls a level.
    Feedback { servers: u64, slices: Vec<Span>, switching: Span },
    /// The least service received first.
    LeastAttained,
    /// All at once, at equal rates, none at more than that of one server.
    ProcessorSharing { servers: u64 },
    /// The least service still to come first.
    ShortestRemaining { servers: u64 },
    /// A server for each customer.
    Delay,
}

/// Names of the disciplines in parameters.
const DISCIPLINES: [&str; 9] = [
    "fcfs",
    "priority",
    "preemptive_priority",
    "round_robin",
    "feedback",
    "least_attained",
    "processor_sharing",
    "shortest_remaining",
    "delay",
];

/// Origin of the customers of a class.
#[derive(Clone, Debug)]
pub enum Source {
    /// This many users, who think between interactions.
    Users { users: u32, think: Distribution },
    /// From outside, this far apart.
    Arrivals { between: Distribution },
}

/// A class of customers, as described.
#[derive(Clone, Debug)]
pub struct ClassPlan {
    /// Part of the names of its responses.
    pub name: String,
    /// Origin of its customers.
    pub source: Source,
    /// First step, as an index into those of all classes.
    pub start: Next,
    /// Its steps, as a range of those of all classes.
    pub steps: Range<usize>,
}

impl StationPlan {
    fn read(index: usize, value: &Value) -> Result<StationPlan, ParameterError> {
        let allowed = ["name", "discipline", "service", "servers", "time_slice", "time_slices", "switching"];
        let fields = Fields::new(format!("stations[{index}]"), value, &allowed)?;
        let name = fields.word("name", "give the station's name, such as cpu")?.to_owned();
        let discipline = Discipline::read(&fields)?;
        Ok(StationPlan { name, discipline, service: fields.distribution("service")? })
    }

    /// Number of servers; none where there is one for each customer.
    pub fn servers(&self) -> Option<u64> {
        match self.discipline {
            Discipline::Fcfs { servers }
            | Discipline::Priority { servers }
            | Discipline::PreemptivePriority { servers }
            | Discipline::RoundRobin { servers, .. }
            | Discipline::Feedback { servers, .. }
            | Discipline::ProcessorSharing { servers }
            | Discipline::ShortestRemaining { servers } => Some(servers),
            Discipline::LeastAttained => Some(1),
            Discipline::Delay => None,
        }
    }

    /// True if the server spends time on switching.
    pub fn switches(&self) -> bool {
        matches!(self.discipline, Discipline::RoundRobin { .. } | Discipline::Feedback { .. })
    }

    /// The station for the manifest of the log.
    pub fn to_json(&self) -> Value {
        let servers = self.servers();
        let service = self.service.as_ref().map(|law| law.to_json());
        json!({"name": self.name, "discipline": self.discipline.name(), "servers": servers, "service": service})
    }

    /// The station itself, at near slot `slot`, with room for `customers`.
    pub fn build(&self, slot: Slot, customers: usize) -> AnyStation {
        let roster = Roster::new(&self.name, customers);
        let several = |servers: u64, order: Order, switching: Span, roster: Roster| {
            AnyStation::Processors(Processors::new(roster, slot, servers as usize, order, switching))
        };
        // One server is a station of its own where there is one: it does less for an event.
        match &self.discipline {
            Discipline::Fcfs { servers: 1 } => AnyStation::Fcfs(Fcfs::new(roster, slot)),
            Discipline::Fcfs { servers } | Discipline::Priority { servers } => {
                AnyStation::Servers(Servers::new(roster, slot, *servers as usize))
            }
            Discipline::PreemptivePriority { servers: 1 } => {
                AnyStation::PreemptivePriority(PreemptivePriority::new(roster, slot))
            }
            Discipline::PreemptivePriority { servers } => {
                several(*servers, Order::Priority, Span::ZERO, roster)
            }
            Discipline::RoundRobin { servers: 1, slice, switching } => {
                AnyStation::RoundRobin(RoundRobin::new(roster, slot, *slice, *switching))
            }
            Discipline::RoundRobin { servers, slice, switching } => {
                several(*servers, Order::RoundRobin(*slice), *switching, roster)
            }
            Discipline::Feedback { servers: 1, slices, switching } => {
                AnyStation::Feedback(Feedback::new(roster, slot, slices, *switching))
            }
            Discipline::Feedback { servers, slices, switching } => {
                several(*servers, Order::Feedback(slices.clone()), *switching, roster)
            }
            Discipline::LeastAttained => AnyStation::LeastAttained(LeastAttained::new(roster, slot)),
            Discipline::ProcessorSharing { servers } => {
                AnyStation::ProcessorSharing(ProcessorSharing::new(roster, slot, *servers))
            }
            Discipline::ShortestRemaining { servers: 1 } => {
                AnyStation::ShortestRemaining(ShortestRemaining::new(roster, slot))
            }
            Discipline::ShortestRemaining { servers } => {
                several(*servers, Order::ShortestRemaining, Span::ZERO, roster)
            }
            Discipline::Delay => AnyStation::Delay(Delay::new(roster)),
        }
    }
}

impl Discipline {
    fn read(fields: &Fields<'_>) -> Result<Discipline, ParameterError> {
        let remedy = format!("give one of: {}", DISCIPLINES.join(", "));
        let word = fields.word("discipline", &remedy)?;
        if !DISCIPLINES.contains(&word) {
            let what = format!("discipline, in {}", fields.at("discipline"));
            return Err(ParameterError::unknown(SYSTEM, &what, word, &DISCIPLINES));
        }
        let takes: &[&str] = match word {
            "fcfs" | "priority" | "preemptive_priority" | "processor_sharing" | "shortest_remaining" => {
                &["servers"]
            }
            "round_robin" => &["servers", "time_slice", "switching"],
            "feedback" => &["servers", "time_slices", "switching"],
            _ => &[],
        };
        for name in ["servers", "time_slice", "time_slices", "switching"] {
            if !takes.contains(&name) {
                let takes = if takes.is_empty() { "none of these".into() } else { takes.join(" and ") };
                fields.absent(name, &format!("leave it out: {word} takes {takes}"))?;
            }
        }
        let servers = fields.integer("servers", 1, 1, MOST_SERVERS)?;
        Ok(match word {
            "fcfs" => Discipline::Fcfs { servers },
            "priority" => Discipline::Priority { servers },
            "preemptive_priority" => Discipline::PreemptivePriority { servers },
            "round_robin" => Discipline::RoundRobin {
                servers,
                slice: fields.slice("time_slice")?,
                switching: fields.span_or_zero("switching")?,
            },
            "feedback" => Discipline::Feedback {
                servers,
                slices: fields.slices("time_slices")?,
                switching: fields.span_or_zero("switching")?,
            },
            "least_attained" => Discipline::LeastAttained,
            "processor_sharing" => Discipline::ProcessorSharing { servers },
            "shortest_remaining" => Discipline::ShortestRemaining { servers },
            _ => Discipline::Delay,
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Discipline::Fcfs { .. } => "fcfs",
            Discipline::Priority { .. } => "priority",
            Discipline::PreemptivePriority { .. } => "preemptive_priority",
            Discipline::RoundRobin { .. } => "round_robin",
            Discipline::Feedback { .. } => "feedback",
            Discipline::LeastAttained => "least_attained",
            Discipline::ProcessorSharing { .. } => "processor_sharing",
            Discipline::ShortestRemaining { .. } => "shortest_remaining",
            Discipline::Delay => "delay",
        }
    }
}

/// A list, which a shell may have given as text.
fn list(name: &str, value: &Value, remedy: &str) -> Result<Vec<Value>, ParameterError> {
    let parsed = match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        _ => value.clone(),
    };
    match parsed {
        Value::Array(items) if items.len() <= MOST_STATIONS => Ok(items),
        Value::Array(items) => {
            let remedy = format!("give at most {MOST_STATIONS}");
            Err(ParameterError::new(SYSTEM, name, format!("a list of {}", items.len()), &remedy))
        }
        _ => Err(ParameterError::new(SYSTEM, name, value, remedy)),
    }
}

impl Plan {
    /// Reads the parameters.
    pub fn new(parameters: &Parameters, settings: &Settings) -> Result<Plan, ParameterError> {
        let remedy = "give a list of tables, each with name, discipline and service";
        let given = list("stations", &parameters.stations, remedy)?;
        if given.is_empty() {
            return Err(refuse!(settings, parameters.stations, "give at least one station"));
        }
        let stations: Vec<StationPlan> = given
            .iter()
            .enumerate()
            .map(|(index, value)| StationPlan::read(index, value))
            .collect::<Result<_, _>>()?;
        for (index, station) in stations.iter().enumerate() {
            let taken: Vec<&str> = stations[..index].iter().map(|station| station.name.as_str()).collect();
            fields::check_name(&format!("stations[{index}].name"), &station.name, &taken)?;
        }
        let length = settings.common()?.length;
        if let Some((index, slice)) = longest_slice(&stations).filter(|(_, slice)| *slice > length) {
            let remedy = format!("give time slices that are not longer than the run, {length}");
            return Err(ParameterError::new(SYSTEM, &format!("stations[{index}]"), slice, &remedy));
        }
        let mut plan = Plan { stations, classes: Vec::new(), steps: Vec::new() };
        let classes = list("classes", &parameters.classes, "give a list of tables, each with a name")?;
        if classes.is_empty() {
            plan.read_only_class(parameters)?;
        } else {
            let remedy = "leave it out: there are classes, give it to each of them";
            if parameters.users != 0 {
                return Err(refuse!(settings, parameters.users, remedy));
            }
            if parameters.arrivals != json!("none") {
                return Err(refuse!(settings, parameters.arrivals, remedy));
            }
            if parameters.route != json!("all") {
                return Err(refuse!(settings, parameters.route, remedy));
            }
            for (index, value) in classes.iter().enumerate() {
                plan.read_class(index, value)?;
            }
        }
        let users = plan.users();
        // Each class was checked by itself; together they may still be too many.
        if users > MOST_USERS {
            let remedy = format!("give at most {MOST_USERS} users in all");
            return Err(ParameterError::new(SYSTEM, "classes", format!("{users} users"), &remedy));
        }
        Ok(plan)
    }

    /// Users of all classes.
    pub fn users(&self) -> u64 {
        let users = |class: &ClassPlan| match class.source {
            Source::Users { users, .. } => u64::from(users),
            Source::Arrivals { .. } => 0,
        };
        self.classes.iter().map(users).sum()
    }

    /// The class that users, think, arrivals and route describe.
    fn read_only_class(&mut self, parameters: &Parameters) -> Result<(), ParameterError> {
        let users = parameters.users as u32;
        let arrivals = &parameters.arrivals;
        let source = match (users, arrivals.as_str() == Some("none")) {
            (0, false) => Source::Arrivals {
                between: positive(fields::distribution("arrivals", arrivals)?, "arrivals")?,
            },
            (0, true) => {
                let remedy = "give users (with think), or arrivals, or classes";
                return Err(ParameterError::new(SYSTEM, "users", "nobody", remedy));
            }
            (_, true) => Source::Users { users, think: parameters.think.clone() },
            (_, false) => {
                let remedy = "give users or arrivals, not both; for both, give classes";
                return Err(ParameterError::new(SYSTEM, "arrivals", arrivals, remedy));
            }
        };
        self.add("all".into(), source, 0, ("route", &parameters.route), None)
    }

    /// Reads one table of `classes`.
    fn read_class(&mut self, index: usize, value: &Value) -> Result<(), ParameterError> {
        let allowed = ["name", "users", "think", "arrivals", "route", "service", "priority"];
        let fields = Fields::new(format!("classes[{index}]"), value, &allowed)?;
        let name = fields.word("name", "give the class's name, such as editing")?;
        let stations = self.stations.iter().map(|station| station.name.as_str());
        let taken: Vec<&str> = stations.chain(self.classes.iter().map(|class| class.name.as_str())).collect();
        fields::check_name(&fields.at("name"), name, &taken)?;
        let source = match (fields.get("users"), fields.distribution("arrivals")?) {
            (Some(_), None) => Source::Users {
                users: fields.integer("users", 0, 1, MOST_USERS)? as u32,
                think: fields.distribution("think")?.unwrap_or(Distribution::deterministic(0.0)),
            },
            (None, Some(between)) => {
                fields.absent("think", "leave it out: customers who arrive from outside do not think")?;
                Source::Arrivals { between: positive(between, &fields.at("arrivals"))? }
            }
            (None, None) => return Err(fields.wrong("users", "give users (with think) or arrivals")),
            (Some(_), Some(_)) => return Err(fields.wrong("arrivals", "give users or arrivals, not both")),
        };
        let priority = fields.integer("priority", 0, 0, LEAST_URGENT)? as u32;
        let route_path = fields.at("route");
        let all = json!("all");
        let route = (route_path.as_str(), fields.get("route").unwrap_or(&all));
        let names: Vec<&str> = self.stations.iter().map(|station| station.name.as_str()).collect();
        let service = fields
            .get("service")
            .map(|value| Fields::new(fields.at("service"), value, &names))
            .transpose()?;
        self.add(name.to_owned(), source, priority, route, service.as_ref())
    }

    /// Adds a class that takes `route`, with its `services` by station.
    fn add(
        &mut self,
        name: String,
        source: Source,
        priority: u32,
        route: (&str, &Value),
        services: Option<&Fields<'_>>,
    ) -> Result<(), ParameterError> {
        let names: Vec<&str> = self.stations.iter().map(|station| station.name.as_str()).collect();
        let route = Route::read(route.0, route.1, &names)?;
        let first = self.steps.len() as u32;
        for (number, next) in route.steps {
            let station = &self.stations[number];
            let of_class =
                services.map(|services| services.distribution(&station.name)).transpose()?.flatten();
            // The service that a class gives wins over that of its station.
            let service = of_class.or(station.service.clone()).ok_or_else(|| ParameterError {
                system: SYSTEM.into(),
                parameter: format!("stations[{number}].service"),
                problem: "must be given".into(),
                remedy: "give a distribution, such as exponential(mean=0.5), here or to every class".into(),
            })?;
            self.steps.push(Step { station: number as u32, service, priority, next: next.moved(first) });
        }
        self.check_time_passes(&name, &source, first as usize)?;
        let steps = first as usize..self.steps.len();
        self.classes.push(ClassPlan { name, source, start: route.start.moved(first), steps });
        Ok(())
    }

    /// Refuses users who neither think nor are served: they would circulate for ever at one instant.
    fn check_time_passes(&self, class: &str, source: &Source, first: usize) -> Result<(), ParameterError> {
        let Source::Users { think, .. } = source else { return Ok(()) };
        let idle = self.steps[first..].iter().find(|step| step.service.mean() < 1e-9);
        match idle {
            Some(step) if think.mean() < 1e-9 => {
                let station = &self.stations[step.station as usize].name;
                let given =
                    format!("no time, for class {class}, whose service at {station} takes none either");
                Err(ParameterError::new(
                    SYSTEM,
                    "think",
                    given,
                    "give a think time, or a service at each station",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The longest time slice, and its station.
fn longest_slice(stations: &[StationPlan]) -> Option<(usize, Span)> {
    let slices = stations.iter().enumerate().filter_map(|(index, station)| match &station.discipline {
        Discipline::RoundRobin { slice, .. } => Some((index, *slice)),
        Discipline::Feedback { slices, .. } => slices.iter().max().map(|slice| (index, *slice)),
        _ => None,
    });
    slices.max_by_key(|(_, slice)| *slice)
}

/// Refuses arrivals without end at one time: times between them that are always zero.
fn positive(between: Distribution, path: &str) -> Result<Distribution, ParameterError> {
    if between.mean() >= 1e-9 {
        return Ok(between);
    }
    let given = format!("a mean of {} s", between.mean());
    Err(ParameterError::new(SYSTEM, path, given, "give times between arrivals with a mean above 1e-9 [s]"))
}
