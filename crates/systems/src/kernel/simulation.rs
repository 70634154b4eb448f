//! Runs of a system: its settings, how long, with which warm-up, how often; into memory or into a log.

use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

use serde_json::{Map, Value, json};
use thinktime_engine::{
    Batches, DuplicateReplications, LawViolation, Laws, Limits, Pool, Span, Streams, Time, common_cut,
    replicate,
};
use thinktime_log::{LogError, OpenMode, Session};
use thiserror::Error;

use super::cost::{Admission, Budget, RunLength};
use super::monitor::{LogMonitor, Tables};
use super::parameter::{Common, ParameterError, Settings};
use super::replicate::{Outcome, Prepared, Replication, RunError, System};

/// Reasons for a simulation without results.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// A parameter is missing, misspelt or out of its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A run contradicted itself: a defect of the model.
    #[error("replication {replication}: {violation}")]
    LawViolation { replication: u64, violation: LawViolation },
    /// Nothing in the configuration is random.
    #[error(transparent)]
    DuplicateReplications(#[from] DuplicateReplications),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The operating system gives no threads.
    #[error("the system refuses to start {threads} threads: {problem}")]
    Threads { threads: String, problem: String },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Choice of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmUp {
    /// This long, as the user gave it.
    Given(Span),
    /// MSER-5 on the main response, averaged over the replications.
    Mser5,
}

/// Length, warm-up and sampling interval of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPlan {
    /// Length of a run, the warm-up included.
    pub length: Span,
    /// Part of it without statistics.
    pub warm_up: WarmUp,
    /// Length of an interval of the log's `samples`.
    pub interval: Span,
}

/// Results of replications.
#[derive(Debug)]
pub struct Replications {
    /// Number of the first of `outcomes`.
    pub first_replication: u64,
    /// In the order of their numbers.
    pub outcomes: Vec<Outcome>,
    /// The warm-up that was cut.
    pub warm_up: Span,
    /// Whether MSER-5 found its end in the first half of the runs; none where it was given.
    pub settled: Option<bool>,
    /// What each of them may take, also when it is run again to be recorded.
    limits: Limits,
    /// What they may take together.
    budget: Budget,
}

impl Replications {
    /// The laws that were checked in every replication.
    pub fn laws(&self) -> Laws {
        let mut all = self.outcomes.iter().map(|outcome| &outcome.laws);
        let mut laws = all.next().cloned().unwrap_or_default();
        all.for_each(|other| laws.intersect(other));
        laws
    }
}

/// A system, ready to be replicated.
pub struct Simulation {
    /// The system.
    system: &'static System,
    /// Parameters in force.
    settings: Settings,
    /// Length, warm-up and sampling interval.
    plan: RunPlan,
    /// The configuration.
    prepared: Box<dyn Prepared>,
}

/// Start of simulated time for systems without a date of their own: 2000-01-01 00:00 UTC.
const EPOCH_US: i64 = 946_684_800_000_000;

impl Simulation {
    /// Checks `given` parameters of `system`.
    pub fn new(system: &'static System, given: &Map<String, Value>) -> Result<Simulation, ParameterError> {
        let settings = Settings::resolve(system.name, system.parameters(), &system.complete(given))?;
        let plan = RunPlan::read(&settings)?;
        let prepared = system.prepare(&settings)?;
        Ok(Simulation { system, settings, plan, prepared })
    }

    /// The configuration, checked and ready to run.
    pub fn prepared(&self) -> &dyn Prepared {
        &*self.prepared
    }

    /// All parameters with the values in force, given or default.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Refuses a number of replications whose estimated cost is above `budget`.
    pub fn check_cost(&self, replications: u64, budget: Budget) -> Result<(), ParameterError> {
        self.admission(replications, budget).check()
    }

    /// Runs `replications` within `budget`, on `threads` threads at most, by default one per core. `done` is called
    /// after each of them, from any thread, and stops the rest by returning false.
    ///
    /// # Errors
    /// Their estimated cost is above the budget, one of them reached its share of it, or there are no figures.
    pub fn run(
        &self,
        seed: u64,
        replications: Range<u64>,
        threads: Option<usize>,
        budget: Budget,
        done: impl Fn(u64) -> bool + Sync + Send,
    ) -> Result<Replications, SimulationError> {
        let admission = self.admission(replications.end.saturating_sub(replications.start), budget);
        admission.check()?;
        let limits = admission.limits();
        let cores = available_parallelism().map_or(1, NonZero::get);
        // More threads than cores gain nothing, and fewer change no figure.
        let threads = threads.unwrap_or(cores).min(cores).min(admission.at_once());
        let pool = Pool::new(Some(threads)).map_err(|problem| SimulationError::Threads {
            threads: threads.to_string(),
            problem: problem.to_string(),
        })?;
        let stopped = AtomicBool::new(false);
        // MSER-5 needs a pass without a cut; the warm-up it finds is then the same for every replication.
        let pass = |warm_up: Span| {
            replicate(&pool, replications.clone(), |replication| {
                if stopped.load(Ordering::Relaxed) {
                    return Err(SimulationError::Stopped);
                }
                let run = self.timed(seed, replication, warm_up, limits);
                let outcome = self.replication(&run, None, &admission)?;
                // Replications under way finish; only those that have not begun are refused.
                stopped.fetch_or(!done(replication), Ordering::Relaxed);
                Ok(outcome)
            })
        };
        let (warm_up, settled) = match self.plan.warm_up {
            WarmUp::Given(warm_up) => (warm_up, None),
            WarmUp::Mser5 => {
                // The runs are made twice: their statistics cannot be cut afterwards, since no observation is
                // kept.
                let uncut = pass(Span::ZERO)?;
                let series: Vec<&Batches> = uncut.iter().map(|outcome| &outcome.batches).collect();
                let (time, cut) = common_cut(&series);
                (time.since(Time::ZERO), Some(cut.settled))
            }
        };
        let outcomes = pass(warm_up)?;
        // Copies would have a spread of zero, and their interval would be a lie.
        let rows: Vec<Vec<f64>> = outcomes.iter().map(|outcome| outcome.responses.clone()).collect();
        DuplicateReplications::refuse(&rows)?;
        Ok(Replications { first_replication: replications.start, outcomes, warm_up, settled, limits, budget })
    }

    /// Runs one replication, into `log` if there is one.
    /// The cost of a number of replications, and what they may cost.
    fn admission(&self, replications: u64, budget: Budget) -> Admission<'_> {
        let length_s = self.plan.length.seconds();
        // A sample is an event, and a row of the log: both are made only where somebody listens.
        let interval_s = self.plan.interval.seconds();
        let samples = length_s / interval_s;
        Admission {
            settings: &self.settings,
            cost: self.prepared.cost(RunLength { length_s, interval_s }).events("interval", samples),
            length_s,
            replications,
            passes: if self.plan.warm_up == WarmUp::Mser5 { 2 } else { 1 },
            budget,
        }
    }

    fn timed(&self, seed: u64, number: u64, warm_up: Span, limits: Limits) -> Replication {
        Replication {
            streams: Streams { seed, replication: number },
            warm_up: Time::ZERO + warm_up,
            end: Time::ZERO + self.plan.length,
            interval: self.plan.interval,
            limits,
        }
    }

    fn replication(
        &self,
        run: &Replication,
        log: Option<&mut LogMonitor>,
        admission: &Admission<'_>,
    ) -> Result<Outcome, SimulationError> {
        let replication = run.streams.replication;
        self.prepared.run(run, log).map_err(|error| match error {
            RunError::LawViolation(violation) => SimulationError::LawViolation { replication, violation },
            RunError::Exhausted { exhausted, now } => admission.exhausted(replication, exhausted, now).into(),
        })
    }

    /// Runs one replication again, as a session of the log at `dir`, with its trace if `trace`.
    ///
    /// Running twice is cheaper than keeping every replication in memory until it is known which are recorded.
    pub fn record(
        &self,
        dir: &Path,
        mode: OpenMode,
        seed: u64,
        number: u64,
        finished: &Replications,
        trace: bool,
    ) -> Result<(), SimulationError> {
        let session = Session {
            source: self.system.name.into(),
            boot_id: None,
            machine: self.machine(),
            options: json!({"seed": seed, "replication": number, "trace": trace}),
            start_us: self.starts_us(number, finished),
            end_us: None,
            facts: Map::new(),
        };
        let population = trace.then(|| self.prepared.population());
        let prepared = &self.prepared;
        let tables = Tables {
            samples: prepared.sample_columns(),
            users: prepared.samples_users(),
            trace_of: population,
        };
        // After the configuration has run once: a log is begun only for a run that holds its laws.
        let mut log = LogMonitor::begin(dir, mode, session, tables)?;
        let admission = self.admission(finished.outcomes.len().max(1) as u64, finished.budget);
        admission.check()?;
        let run = self.timed(seed, number, finished.warm_up, finished.limits);
        let outcome = self.replication(&run, Some(&mut log), &admission)?;
        let facts = [("replication", self.facts(number, finished, &outcome))];
        Ok(log.finish(outcome.ended, &facts)?)
    }

    /// Start of session `number` of a log: replications follow one another, a second apart.
    fn starts_us(&self, number: u64, finished: &Replications) -> i64 {
        // A second between them, so that no two sessions of a log overlap or touch.
        let apart = |length_ns: u64| (length_ns / 1000) as i64 + 1_000_000;
        let first = finished.first_replication;
        let before = finished.outcomes.iter().take(number.saturating_sub(first) as usize);
        let here: i64 = before.map(|outcome| apart(outcome.ended.0)).sum();
        let epoch = self.prepared.epoch_us().unwrap_or(EPOCH_US);
        // Replications before the first were not run: they are taken to last their full length.
        epoch + first as i64 * apart(self.plan.length.0) + here
    }

    /// The `machine` part of the manifest.
    fn machine(&self) -> Value {
        let mut machine = json!({"system": self.system.name, "parameters": self.settings.to_json()});
        let units: Map<String, Value> =
            self.system.parameters().iter().map(|p| (p.name(), json!(p.unit))).collect();
        machine["units"] = Value::Object(units);
        if let (Some(all), Value::Object(more)) = (machine.as_object_mut(), self.prepared.machine()) {
            all.extend(more);
        }
        machine
    }

    /// The `replication` part of the manifest.
    fn facts(&self, number: u64, finished: &Replications, outcome: &Outcome) -> Value {
        // A list, which keeps their order. JSON knows no nan: an absent figure is null.
        let responses: Vec<Value> = self
            .prepared
            .responses()
            .iter()
            .zip(&outcome.responses)
            .map(|(response, value)| {
                json!({
                    "name": response.name,
                    "value": value,
                    "unit": response.unit,
                    "description": response.description,
                    "quantile": response.quantile.map(|(distribution, share)| {
                        json!({"distribution": distribution, "share": share})
                    }),
                })
            })
            .collect();
        let distributions: Vec<Value> = outcome
            .distributions
            .iter()
            .map(|cells| {
                let (ends_s, counts): (Vec<f64>, Vec<u64>) =
                    cells.iter().map(|(end, count)| (end.seconds(), *count)).unzip();
                json!({"ends_s": ends_s, "counts": counts})
            })
            .collect();
        let laws: Map<String, Value> =
            outcome.laws.checked().iter().map(|(law, places)| ((*law).to_owned(), json!(places))).collect();
        json!({
            "number": number,
            "length_s": outcome.ended.seconds(),
            "warm_up_s": finished.warm_up.seconds(),
            "warm_up_settled": finished.settled,
            "responses": responses,
            "distributions": distributions,
            "laws_checked": laws,
            "events": outcome.events,
        })
    }
}

impl RunPlan {
    fn read(settings: &Settings) -> Result<RunPlan, ParameterError> {
        let Common { length, warm_up, interval } = settings.common()?;
        let warm_up = match &warm_up {
            Value::String(word) if word == "mser5" => WarmUp::Mser5,
            value => match value.as_f64() {
                Some(seconds) if seconds >= 0.0 && Span::from_seconds(seconds) < length => {
                    WarmUp::Given(Span::from_seconds(seconds))
                }
                _ => {
                    let remedy =
                        format!("give a number of seconds from 0 to below the length, {length}, or mser5");
                    return Err(settings.refuse("warm_up", &remedy));
                }
            },
        };
        Ok(RunPlan { length, warm_up, interval })
    }
}
