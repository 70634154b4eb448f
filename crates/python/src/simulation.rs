//! The simulated systems, for `thinktime.sources.simulated`.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};
use thinktime_log::OpenMode;
use thinktime_systems::{Budget, Parameter, Replications, SYSTEMS, Simulation, SimulationError, system};

use crate::convert::Plain;
use crate::log::log_error;

create_exception!(_native, NativeSimulationError, PyRuntimeError, "A simulation gave no figures.");

/// Period at which a waiting caller checks for Ctrl-C and shows progress: short for a person, long against the cost of
/// taking the GIL.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeSimulationError", module.py().get_type::<NativeSimulationError>())?;
    module.add_class::<NativeSimulation>()?;
    module.add_class::<NativeReplications>()?;
    module.add_function(wrap_pyfunction!(simulated_systems, module)?)
}

/// The Python exception of a simulation's error: `ValueError` where a parameter was wrong, `KeyboardInterrupt` where
/// the caller stopped it.
fn simulation_error(error: SimulationError) -> PyErr {
    match error {
        SimulationError::Parameter(_) | SimulationError::DuplicateReplications(_) => {
            PyValueError::new_err(error.to_string())
        }
        SimulationError::Log(error) => log_error(error),
        SimulationError::Stopped => PyKeyboardInterrupt::new_err(()),
        _ => NativeSimulationError::new_err(error.to_string()),
    }
}

/// A simulated system with its parameters.
#[derive(Serialize)]
struct SystemDescription {
    name: &'static str,
    summary: &'static str,
    parameters: Vec<ParameterDescription>,
}

/// A parameter as Python documents it; distributions and limits are texts already.
#[derive(Serialize)]
struct ParameterDescription {
    name: String,
    unit: &'static str,
    default: &'static Value,
    allowed: String,
    description: &'static str,
    source: &'static str,
    reference: &'static str,
    compared_with_calibration: bool,
}

impl ParameterDescription {
    /// The description of `parameter`.
    fn of(parameter: &'static Parameter) -> ParameterDescription {
        ParameterDescription {
            name: parameter.name(),
            unit: &parameter.unit,
            default: &parameter.default,
            allowed: parameter.allowed(),
            description: &parameter.description,
            source: parameter.source.kind(),
            reference: parameter.source.reference(),
            compared_with_calibration: parameter.compared_with_calibration,
        }
    }
}

/// Every simulated system with its parameters.
#[pyfunction]
fn simulated_systems() -> Plain<Vec<SystemDescription>> {
    let described = |system: &'static thinktime_systems::System| SystemDescription {
        name: system.name,
        summary: system.summary,
        parameters: system.parameters().iter().map(ParameterDescription::of).collect(),
    };
    Plain(SYSTEMS.iter().map(described).collect())
}

/// Name, unit, description; of a quantile, index of its distribution and share.
type Response = (String, String, String, Option<(usize, f64)>);

/// A system with checked parameters.
#[pyclass(frozen, module = "thinktime._native")]
// Counted, because the thread of `run` may outlive the Python object for an instant after an interrupt.
struct NativeSimulation(Arc<Simulation>);

/// Results of replications.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeReplications(Replications);

#[pymethods]
impl NativeSimulation {
    #[new]
    /// The system `name` with these parameters, checked; the others have their defaults.
    fn new(name: &str, parameters: Plain<Map<String, Value>>) -> PyResult<Self> {
        let simulation = system(name)
            .and_then(|system| Simulation::new(system, &parameters.0))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(NativeSimulation(Arc::new(simulation)))
    }

    /// All parameters by name, defaults filled in and distributions spelt out.
    fn parameters(&self) -> Plain<Value> {
        Plain(self.0.settings().to_json())
    }

    /// Facts about the machine for a log's manifest, in addition to its parameters.
    fn machine(&self) -> Plain<Value> {
        Plain(self.0.prepared().machine())
    }

    /// The responses, in order.
    fn responses(&self) -> Vec<Response> {
        let described = self.0.prepared().responses();
        described
            .into_iter()
            .map(|r| (r.name.into_owned(), r.unit.to_owned(), r.description.into_owned(), r.quantile))
            .collect()
    }

    /// Refuses `count` replications whose estimated cost is above `limits` on their events and memory [byte].
    fn check_cost(&self, count: u64, limits: (u64, u64)) -> PyResult<()> {
        let (events, bytes) = limits;
        let checked = self.0.check_cost(count, Budget { events, bytes });
        checked.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Results of `count` replications from number `first` on, within `limits` on their events and memory [byte].
    /// `progress` is called ten times per second with the number of those done, from this thread; an exception of it, or
    /// Ctrl-C, ends the run.
    #[pyo3(signature = (seed, first, count, *, limits, threads = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "Python calls it by keyword")]
    fn run(
        &self,
        py: Python<'_>,
        seed: u64,
        first: u64,
        count: u64,
        limits: (u64, u64),
        threads: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<NativeReplications> {
        let (events, bytes) = limits;
        let budget = Budget { events, bytes };
        let work = Work { seed, replications: first..first.saturating_add(count), threads, budget };
        // Relaxed throughout: a count to be shown and a flag order no other memory; results come through the channel.
        let (done, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (sender, mut receiver) = channel();
        let (simulation, counter, stopping) = (Arc::clone(&self.0), Arc::clone(&done), Arc::clone(&stop));
        // Not in this thread, which must keep checking for Ctrl-C.
        std::thread::spawn(move || sender.send(work.run(&simulation, &counter, &stopping)));
        loop {
            // A receiver may move between threads but not be shared (it is `Send` and not `Sync`): hence by
            // exclusive reference.
            let waiting = &mut receiver;
            match py.detach(move || waiting.recv_timeout(LOOK)) {
                Ok(finished) => return finished.map(NativeReplications).map_err(simulation_error),
                Err(RecvTimeoutError::Timeout) => {
                    let shown = py.check_signals().and_then(|()| match &progress {
                        Some(progress) => progress.call1((done.load(Ordering::Relaxed),)).map(drop),
                        None => Ok(()),
                    });
                    if let Err(error) = shown {
                        // Not joined: a replication stops only at its end, and an interrupt must not wait for it.
                        stop.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(NativeSimulationError::new_err("the simulation's thread has panicked"));
                }
            }
        }
    }

    /// Runs replication `number` of `finished` again as a session of the log at `path`.
    #[expect(clippy::too_many_arguments, reason = "Python calls it by keyword")]
    fn record(
        &self,
        py: Python<'_>,
        path: PathBuf,
        mode: Plain<OpenMode>,
        seed: u64,
        number: u64,
        finished: &NativeReplications,
        trace: bool,
    ) -> PyResult<()> {
        py.detach(|| self.0.record(&path, mode.0, seed, number, &finished.0, trace)).map_err(simulation_error)
    }
}

/// Arguments of a run, as its thread owns them.
struct Work {
    seed: u64,
    replications: Range<u64>,
    threads: Option<usize>,
    budget: Budget,
}

impl Work {
    /// Runs the replications; `done` counts those finished, `stop` ends the run after the next of them.
    fn run(
        self,
        simulation: &Simulation,
        done: &AtomicU64,
        stop: &AtomicBool,
    ) -> Result<Replications, SimulationError> {
        simulation.run(self.seed, self.replications, self.threads, self.budget, |_| {
            done.fetch_add(1, Ordering::Relaxed);
            !stop.load(Ordering::Relaxed)
        })
    }
}

#[pymethods]
impl NativeReplications {
    /// Responses of each replication, in the order of `NativeSimulation.responses`.
    fn responses(&self) -> Vec<Vec<f64>> {
        self.0.outcomes.iter().map(|outcome| outcome.responses.clone()).collect()
    }

    /// Distributions of replication `index` (from 0): end of each cell [s], and observations in it.
    fn distributions(&self, index: usize) -> Option<Vec<Vec<(f64, u64)>>> {
        let outcome = self.0.outcomes.get(index)?;
        let distributions = outcome.distributions.iter();
        Some(distributions.map(|cells| cells.iter().map(|(end, n)| (end.seconds(), *n)).collect()).collect())
    }

    /// Number of the first replication.
    #[getter]
    fn first_replication(&self) -> u64 {
        self.0.first_replication
    }

    /// Length of the warm-up that was left out [s].
    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.0.warm_up.seconds()
    }

    /// True if MSER-5 determined the end of the warm-up; `None` if the caller gave it.
    #[getter]
    fn settled(&self) -> Option<bool> {
        self.0.settled
    }

    /// Events of all replications.
    #[getter]
    fn events(&self) -> u64 {
        self.0.outcomes.iter().map(|outcome| outcome.events).sum()
    }

    /// Batch means of the main response in replication `index` (from 0), and observations in a batch.
    fn batches(&self, index: usize) -> Option<(Vec<f64>, u64)> {
        self.0.outcomes.get(index).map(|outcome| (outcome.batches.means(), outcome.batches.size()))
    }

    /// The laws that were checked in every replication, each with the places for which it was checked.
    fn laws(&self) -> Vec<(&'static str, Vec<String>)> {
        self.0.laws().checked().to_vec()
    }
}
