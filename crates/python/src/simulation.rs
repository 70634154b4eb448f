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
use thinktime_log::OpenMode;
use thinktime_systems::{Finished, SYSTEMS, Simulation, SimulationError, parameters, system};

use crate::convert::Plain;
use crate::log::{json, log_error, to_json};

create_exception!(_native, NativeSimulationError, PyRuntimeError, "A simulation gave no figures.");

/// How often a waiting caller looks for Ctrl-C and shows progress.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeSimulationError", module.py().get_type::<NativeSimulationError>())?;
    module.add_class::<NativeSimulation>()?;
    module.add_class::<NativeFinished>()?;
    module.add_function(wrap_pyfunction!(simulated_systems, module)?)
}

fn simulation_error(error: SimulationError) -> PyErr {
    match error {
        SimulationError::Parameter(_) | SimulationError::Identical(_) => {
            PyValueError::new_err(error.to_string())
        }
        SimulationError::Log(error) => log_error(error),
        SimulationError::Stopped => PyKeyboardInterrupt::new_err(()),
        _ => NativeSimulationError::new_err(error.to_string()),
    }
}

/// Every simulated system with its parameters, as JSON.
#[pyfunction]
fn simulated_systems() -> PyResult<String> {
    let all: Vec<serde_json::Value> = SYSTEMS
        .iter()
        .map(|system| {
            let parameters: Vec<_> = parameters(*system).iter().map(|p| p.describe()).collect();
            serde_json::json!({
                "name": system.name(),
                "summary": system.summary(),
                "parameters": parameters,
            })
        })
        .collect();
    to_json(&all)
}

/// A system with checked parameters.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeSimulation(Arc<Simulation>);

/// What replications gave.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeFinished(Finished);

#[pymethods]
impl NativeSimulation {
    #[new]
    fn new(name: &str, settings: &str) -> PyResult<Self> {
        let given: serde_json::Map<String, serde_json::Value> = json(settings)?;
        let simulation = system(name)
            .and_then(|system| Simulation::new(system, &given))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(NativeSimulation(Arc::new(simulation)))
    }

    /// The parameters, all of them, as JSON.
    fn parameters(&self) -> PyResult<String> {
        to_json(&self.0.settings().to_json())
    }

    /// What a log's manifest says of the machine beside its parameters, as JSON.
    fn machine(&self) -> PyResult<String> {
        to_json(&self.0.prepared().machine())
    }

    /// Name, unit and description of each response, in order.
    fn responses(&self) -> Vec<(String, String, String)> {
        let described = self.0.prepared().responses();
        described.into_iter().map(|r| (r.name, r.unit.to_owned(), r.description)).collect()
    }

    /// Runs replications; `progress` is called with the number of those done, from this thread.
    #[pyo3(signature = (seed, first, count, threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        seed: u64,
        first: u64,
        count: u64,
        threads: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<NativeFinished> {
        let work = Work { seed, replications: first..first.saturating_add(count), threads };
        let (done, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (sender, mut receiver) = channel();
        let (simulation, counter, stopping) = (Arc::clone(&self.0), Arc::clone(&done), Arc::clone(&stop));
        // Not this thread: it must go on looking for Ctrl-C.
        std::thread::spawn(move || sender.send(work.run(&simulation, &counter, &stopping)));
        loop {
            // A receiver may wander between threads, but not be shared: hence by exclusive reference.
            let waiting = &mut receiver;
            match py.detach(move || waiting.recv_timeout(LOOK)) {
                Ok(finished) => return finished.map(NativeFinished).map_err(simulation_error),
                Err(RecvTimeoutError::Timeout) => {
                    let shown = py.check_signals().and_then(|()| match &progress {
                        Some(progress) => progress.call1((done.load(Ordering::Relaxed),)).map(drop),
                        None => Ok(()),
                    });
                    if let Err(error) = shown {
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
        finished: &NativeFinished,
        trace: bool,
    ) -> PyResult<()> {
        py.detach(|| self.0.record(&path, mode.0, seed, number, &finished.0, trace)).map_err(simulation_error)
    }
}

/// What a run is asked to do.
struct Work {
    seed: u64,
    replications: Range<u64>,
    threads: Option<usize>,
}

impl Work {
    fn run(
        self,
        simulation: &Simulation,
        done: &AtomicU64,
        stop: &AtomicBool,
    ) -> Result<Finished, SimulationError> {
        simulation.run(self.seed, self.replications, self.threads, |_| {
            done.fetch_add(1, Ordering::Relaxed);
            !stop.load(Ordering::Relaxed)
        })
    }
}

#[pymethods]
impl NativeFinished {
    /// Figures of each replication, in the order of `NativeSimulation.responses`.
    fn responses(&self) -> Vec<Vec<f64>> {
        self.0.outcomes.iter().map(|outcome| outcome.responses.clone()).collect()
    }

    /// Number of the first replication.
    #[getter]
    fn first_replication(&self) -> u64 {
        self.0.first_replication
    }

    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.0.warm_up.seconds()
    }

    /// Whether MSER-5 found the end of the warm-up; none where it was given.
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

    /// Laws that every replication was checked by.
    fn laws(&self) -> Vec<&'static str> {
        self.0.outcomes.first().map_or_else(Vec::new, |outcome| outcome.laws.clone())
    }
}
