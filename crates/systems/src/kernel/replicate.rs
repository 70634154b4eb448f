//! A system as the rooms describe it, and one replication of any of them.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thinktime_engine::{
    Batches, Calendar, Exhausted, LawViolation, Laws, Limits, Model, Span, Streams, Tally, Time, run,
};
use thinktime_log::Column;
use thiserror::Error;

use super::cost::{Cost, RunLength};
use super::monitor::{LogMonitor, Monitor, NullMonitor};
use super::parameter::{Parameter, ParameterError, ParameterFile, Settings};

/// A checked configuration of a simulated system: what a room implements.
pub(crate) trait Configuration: Send + Sync + Sized + 'static {
    /// Name on the command line and in logs.
    const NAME: &'static str;
    /// One line that says what the system is.
    const SUMMARY: &'static str;
    /// The text of the room's `parameters.toml`.
    const PARAMETERS: &'static str;
    /// Whether rows of `users` are written with the samples.
    const SAMPLES_USERS: bool = false;

    /// The parameters as fields, one for each declared in [`Configuration::PARAMETERS`].
    type Parameters: DeserializeOwned;
    /// Totals of a replication, from which responses are computed.
    type Totals<'t>;
    /// The machine at work, reporting to a monitor.
    type Machine<'c, M: Monitor + 'c>: Simulated<'c, M> + Accounted<Configuration = Self>;

    /// Defaults of the parameters that every system has, where they follow from what was given.
    fn defaults(_given: &Map<String, Value>) -> Map<String, Value> {
        Map::new()
    }

    /// Checks parameters in their relation to each other.
    fn new(parameters: Self::Parameters, settings: &Settings) -> Result<Self, ParameterError>;

    /// The responses of a replication, in the order in which they are shown.
    fn responses(&self) -> Vec<Measured<Self>>;

    /// Columns of a row of the log's `samples`, after `start` and `length_s`.
    fn sample_columns(&self) -> Vec<Column>;

    /// Start of simulated time, microseconds since 1970 UTC, where the system has a date of its own.
    fn epoch_us(&self) -> Option<i64> {
        None
    }

    /// Facts about the machine for the log's manifest, in addition to its parameters: at least `cpus`.
    fn machine(&self) -> Value;

    /// Number of users at the terminals, for the log.
    fn population(&self) -> u64;

    /// Estimated events and memory of a run, without those of samples.
    fn cost(&self, run: RunLength) -> Cost;
}

/// A machine from its first event to its last; `machine.rs` of a room implements it.
pub(crate) trait Simulated<'c, M: Monitor>: Model + Accounted {
    /// A calendar with a slot for everything that can be due.
    fn calendar(config: &Self::Configuration) -> Calendar;

    /// The machine before its first event.
    fn new(config: &'c Self::Configuration, replication: &Replication, monitor: &'c mut M) -> Self;

    /// Ends the run: takes the last sample, reports unfinished interactions, and checks every law.
    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation>;
}

/// A machine that accounts for its run.
// Apart from `Simulated`, so that responses need the machine and the machine needs no responses.
pub(crate) trait Accounted {
    /// The configuration of the machine.
    type Configuration: Configuration;

    /// Totals from the begin of statistics up to `now`.
    fn totals(&self, now: Time) -> <Self::Configuration as Configuration>::Totals<'_>;

    /// Series of the main response, by which warm-up and batch means are judged.
    fn batches(&self) -> &Batches;
}

/// A configuration of any system, ready to run.
pub trait Prepared: Send + Sync {
    /// Descriptions of [`Outcome::responses`], in order.
    fn responses(&self) -> Vec<Response>;

    /// Columns of a row of the log's `samples`, after `start` and `length_s`.
    fn sample_columns(&self) -> Vec<Column>;

    /// Whether rows of `users` are written with the samples.
    fn samples_users(&self) -> bool;

    /// Start of simulated time, microseconds since 1970 UTC, where the system has a date of its own.
    fn epoch_us(&self) -> Option<i64>;

    /// Facts about the machine for the log's manifest, in addition to its parameters.
    fn machine(&self) -> Value;

    /// Number of users at the terminals, for the log.
    fn population(&self) -> u64;

    /// Estimated events and memory of a run, without those of samples.
    fn cost(&self, run: RunLength) -> Cost;

    /// One replication, from empty to its end, with every law checked.
    fn run(&self, replication: &Replication, log: Option<&mut LogMonitor>) -> Result<Outcome, RunError>;
}

/// A configuration with its responses, which are described once for all replications: their names are texts that
/// would cost as much as a short replication.
struct Ready<C: Configuration> {
    configuration: C,
    responses: Vec<Measured<C>>,
}

impl<C: Configuration> Prepared for Ready<C> {
    fn responses(&self) -> Vec<Response> {
        self.responses.iter().map(|measured| measured.response.clone()).collect()
    }

    fn sample_columns(&self) -> Vec<Column> {
        self.configuration.sample_columns()
    }

    fn samples_users(&self) -> bool {
        C::SAMPLES_USERS
    }

    fn epoch_us(&self) -> Option<i64> {
        self.configuration.epoch_us()
    }

    fn machine(&self) -> Value {
        self.configuration.machine()
    }

    fn population(&self) -> u64 {
        self.configuration.population()
    }

    fn cost(&self, run: RunLength) -> Cost {
        self.configuration.cost(run)
    }

    fn run(&self, replication: &Replication, log: Option<&mut LogMonitor>) -> Result<Outcome, RunError> {
        match log {
            Some(log) => replicate(&self.configuration, &self.responses, replication, log),
            // Two copies of the machine are compiled: in the one without a log, all reporting is removed.
            None => replicate(&self.configuration, &self.responses, replication, &mut NullMonitor),
        }
    }
}

/// Reasons for a replication without results.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// It contradicted itself: a defect of the model.
    #[error(transparent)]
    LawViolation(#[from] LawViolation),
    /// It reached a limit.
    #[error("the run reached its limit at {now}: {exhausted:?}")]
    Exhausted {
        /// The limit.
        exhausted: Exhausted,
        /// How far it came.
        now: Time,
    },
}

/// Runs one replication of `configuration`, and checks its laws.
pub(crate) fn replicate<C: Configuration, M: Monitor>(
    configuration: &C,
    responses: &[Measured<C>],
    replication: &Replication,
    monitor: &mut M,
) -> Result<Outcome, RunError> {
    let mut calendar = <C::Machine<'_, M>>::calendar(configuration);
    calendar.limit(replication.limits);
    let mut machine = C::Machine::new(configuration, replication, monitor);
    run(&mut machine, &mut calendar, replication.warm_up, replication.end);
    // Filled by the checks that run: a law that nobody checked is not reported.
    if let Some(exhausted) = calendar.exhausted() {
        // Not finished: a run cut short in the middle of an event need not keep its laws.
        return Err(RunError::Exhausted { exhausted, now: calendar.now() });
    }
    let mut laws = Laws::default();
    machine.finish(&mut calendar, &mut laws)?;
    let now = calendar.now();
    let totals = machine.totals(now);
    // Responses are computed after the laws have held: no figure comes from a run that contradicts itself.
    let distributions = distributions(responses, &totals);
    Ok(Outcome {
        responses: responses.iter().map(|measured| measured.of(&totals, &distributions)).collect(),
        distributions,
        batches: machine.batches().clone(),
        laws,
        events: calendar.events(),
        ended: now,
    })
}

/// The distributions of which the responses are quantiles, each once.
fn distributions<C: Configuration>(
    responses: &[Measured<C>],
    totals: &C::Totals<'_>,
) -> Vec<Vec<(Span, u64)>> {
    let mut found = Vec::new();
    for measured in responses {
        match measured.value {
            Computed::Quantile(index, _, tally) if index == found.len() => {
                found.push(tally(totals, index).cells());
            }
            _ => {}
        }
    }
    found
}

/// A simulated system.
pub struct System {
    /// Name on the command line and in logs.
    pub name: &'static str,
    /// One line that says what it is.
    pub summary: &'static str,
    parameters: LazyLock<Vec<Parameter>>,
    prepare: fn(&Settings) -> Result<Box<dyn Prepared>, ParameterError>,
    defaults: fn(&Map<String, Value>) -> Map<String, Value>,
}

impl System {
    /// The system that `C` configures.
    pub(crate) const fn of<C: Configuration>() -> System {
        System {
            name: C::NAME,
            summary: C::SUMMARY,
            parameters: LazyLock::new(|| ParameterFile::parameters(C::PARAMETERS)),
            prepare: |settings| {
                let configuration = C::new(settings.own()?, settings)?;
                Ok(Box::new(Ready { responses: configuration.responses(), configuration }))
            },
            defaults: C::defaults,
        }
    }

    /// Its own parameters, followed by those of every system: `length`, `warm_up` and `interval`.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// What was given, with the defaults that follow from it.
    pub fn complete(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let mut complete = (self.defaults)(given);
        complete.extend(given.clone());
        complete
    }

    /// Checks parameters in their relation to each other, and prepares all that replications share.
    pub fn prepare(&self, settings: &Settings) -> Result<Box<dyn Prepared>, ParameterError> {
        (self.prepare)(settings)
    }
}

impl fmt::Debug for System {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// One replication to run.
#[derive(Clone, Copy, Debug)]
pub struct Replication {
    /// Its random numbers.
    pub streams: Streams,
    /// Statistics begin here.
    pub warm_up: Time,
    /// The run ends here, or before, when all work is done.
    pub end: Time,
    /// Length of the intervals of `samples`.
    pub interval: Span,
    /// Most that it may take.
    pub limits: Limits,
}

/// Description of one response of a replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Key in results.
    pub name: Cow<'static, str>,
    /// Empty for a pure number.
    pub unit: &'static str,
    /// One line for people.
    pub description: Cow<'static, str>,
    /// Index of the distribution of which it is a quantile, and the share below it.
    pub quantile: Option<(usize, f64)>,
}

/// A response, and its computation from the totals of a replication.
pub(crate) struct Measured<C: Configuration> {
    /// Its description.
    pub response: Response,
    /// Its computation.
    value: Computed<C>,
}

/// Computation of a response from totals.
enum Computed<C: Configuration> {
    // Functions and not closures: a list of responses is then data that threads can share.
    Of(fn(&C::Totals<'_>) -> f64),
    /// One of several alike, with its index.
    At(usize, fn(&C::Totals<'_>, usize) -> f64),
    /// A quantile of a tally, with its index and share.
    Quantile(usize, f64, for<'t> fn(&'t C::Totals<'_>, usize) -> &'t Tally),
}

impl<C: Configuration> Measured<C> {
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        description: impl Into<Cow<'static, str>>,
        value: fn(&C::Totals<'_>) -> f64,
    ) -> Measured<C> {
        let response = Response { name: name.into(), unit, description: description.into(), quantile: None };
        Measured { response, value: Computed::Of(value) }
    }

    /// One of several responses that are computed alike, such as one for each station.
    pub fn at(
        index: usize,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        description: impl Into<Cow<'static, str>>,
        value: fn(&C::Totals<'_>, usize) -> f64,
    ) -> Measured<C> {
        let response = Response { name: name.into(), unit, description: description.into(), quantile: None };
        Measured { response, value: Computed::At(index, value) }
    }

    /// The quantile of a share `q` of a tally, with its index; indices begin with 0, in the order of the responses.
    pub fn quantile(
        index: usize,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        q: f64,
        tally: for<'t> fn(&'t C::Totals<'_>, usize) -> &'t Tally,
    ) -> Measured<C> {
        let (name, description) = (name.into(), description.into());
        let response = Response { name, unit: "s", description, quantile: Some((index, q)) };
        Measured { response, value: Computed::Quantile(index, q, tally) }
    }

    /// Not a number where there is none, such as the mean of no observation.
    fn of(&self, totals: &C::Totals<'_>, distributions: &[Vec<(Span, u64)>]) -> f64 {
        let value = match self.value {
            Computed::Of(value) => value(totals),
            Computed::At(index, value) => value(totals, index),
            Computed::Quantile(index, q, _) => Tally::quantile(&distributions[index], q),
        };
        // A ratio to a count of none is as little a number as the mean of none.
        if value.is_finite() { value } else { f64::NAN }
    }
}

/// Results of one replication.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Values of the responses; not a number where there is none, such as the mean of no observation.
    pub responses: Vec<f64>,
    /// The distributions of which responses are quantiles: end of each cell, and observations in it.
    pub distributions: Vec<Vec<(Span, u64)>>,
    /// Series of the main response, by which warm-up and batch means are judged.
    pub batches: Batches,
    /// The laws that were checked, and held.
    pub laws: Laws,
    /// Number of events, for rates of simulation.
    pub events: u64,
    /// When the run ended: at its end, or when all its work was done.
    pub ended: Time,
}
