//! Synthetic interactive users, for `thinktime.cli.play` and `thinktime.cli.demo`.

use std::ffi::OsString;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use thinktime_terminals::TerminalsError;
use thinktime_terminals::driver::{Progress, Verdict};
use thinktime_terminals::nursery::{self, Nursery};
use thinktime_terminals::play::{self, PlayOptions};
use thinktime_terminals::population::Course;
use thinktime_terminals::workload::{Workload, table_iii};

use crate::log::{NativeLogWriter, json, log_error, to_json};

create_exception!(_native, NativePlayError, PyRuntimeError, "The users cannot be played.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativePlayError", module.py().get_type::<NativePlayError>())?;
    module.add_class::<NativeNursery>()?;
    module.add_function(wrap_pyfunction!(serve_nursery, module)?)?;
    module.add_function(wrap_pyfunction!(workload, module)?)?;
    module.add_function(wrap_pyfunction!(check_workload, module)?)?;
    module.add_function(wrap_pyfunction!(compute_loop, module)?)?;
    module.add_function(wrap_pyfunction!(course, module)?)
}

fn play_error(error: TerminalsError) -> PyErr {
    match error {
        TerminalsError::Input { .. } => PyValueError::new_err(error.to_string()),
        TerminalsError::Log(error) => log_error(error),
        _ => NativePlayError::new_err(error.to_string()),
    }
}

/// A built-in workload, as JSON.
#[pyfunction]
fn workload(name: &str) -> PyResult<String> {
    to_json(&Workload::named(name).map_err(play_error)?)
}

/// A workload from JSON, with its defaults filled in and checked.
#[pyfunction]
fn check_workload(text: &str) -> PyResult<String> {
    let workload: Workload = json(text)?;
    workload.check().map_err(play_error)?;
    to_json(&workload)
}

/// The distribution of Brachman's Table III for a mean CPU burst in milliseconds, as JSON.
#[pyfunction]
fn compute_loop(burst_ms: u32) -> PyResult<String> {
    to_json(&table_iii(burst_ms).map_err(play_error)?)
}

/// When how many users play, as JSON; refuses what cannot be played.
#[pyfunction]
#[pyo3(signature = (users, hold_s, ramp_s = None))]
fn course(users: &str, hold_s: f64, ramp_s: Option<f64>) -> PyResult<String> {
    let users = users.parse().map_err(play_error)?;
    to_json(&Course::new(users, hold_s, ramp_s).map_err(play_error)?)
}

/// Serves as the nursery of the process that started this one; never returns.
#[pyfunction]
fn serve_nursery(py: Python<'_>) {
    py.detach(|| nursery::serve())
}

/// The process that starts the users' processes: `command` must call `serve_nursery` at once.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeNursery(Mutex<Option<Nursery>>);

#[pymethods]
impl NativeNursery {
    #[new]
    fn new(py: Python<'_>, command: Vec<OsString>) -> PyResult<Self> {
        let [program, arguments @ ..] = &command[..] else {
            return Err(PyValueError::new_err("command: is empty; give a program and its arguments"));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        let nursery = py.detach(|| Nursery::spawn(command)).map_err(play_error)?;
        Ok(NativeNursery(Mutex::new(Some(nursery))))
    }

    /// Calibrates the compute loop and measures the floor.
    fn prepare(&self, py: Python<'_>, options: &str, on_progress: Py<PyAny>) -> PyResult<String> {
        let options: PlayOptions = json(options)?;
        let prepared =
            self.observed(py, on_progress, |nursery, observe| play::prepare(nursery, &options, observe))?;
        to_json(&prepared)
    }

    /// Plays without a log, to learn what an interaction demands.
    fn rehearse(
        &self,
        py: Python<'_>,
        options: &str,
        prepared: &str,
        on_progress: Py<PyAny>,
    ) -> PyResult<String> {
        let (options, prepared): (PlayOptions, play::Prepared) = (json(options)?, json(prepared)?);
        let demand = self.observed(py, on_progress, |nursery, observe| {
            play::rehearse(nursery, &options, &prepared, observe)
        })?;
        to_json(&demand)
    }

    /// Plays into the log. `on_progress` gets the progress as JSON, and ends the play by returning False.
    fn play(
        &self,
        py: Python<'_>,
        options: &str,
        prepared: &str,
        writer: &NativeLogWriter,
        on_progress: Py<PyAny>,
    ) -> PyResult<String> {
        let (options, prepared): (PlayOptions, play::Prepared) = (json(options)?, json(prepared)?);
        let writer = writer.shared();
        let played = self.observed(py, on_progress, |nursery, observe| {
            play::play(nursery, &options, &prepared, &writer, observe)
        })?;
        to_json(&played)
    }

    /// Measures what one fork, page fault and context switch cost, in a process with an array like a user's.
    fn measure_direct(&self, py: Python<'_>, array_bytes: u64, on_progress: Py<PyAny>) -> PyResult<String> {
        let costs = self.observed(py, on_progress, |nursery, observe| {
            play::measure_direct(nursery, array_bytes, observe)
        })?;
        to_json(&costs)
    }

    /// Ends every process that was started, and waits until they are gone.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl NativeNursery {
    /// Runs `act` without the GIL. Its observer runs Python's signal handlers and then `on_progress`; what
    /// either raises ends the work in good order, and is raised here.
    fn observed<T: Send>(
        &self,
        py: Python<'_>,
        on_progress: Py<PyAny>,
        act: impl FnOnce(&Nursery, &mut dyn FnMut(&Progress) -> Verdict) -> Result<T, TerminalsError> + Send,
    ) -> PyResult<T> {
        let mut raised = None;
        let done = py.detach(|| {
            // A panic in a play leaves the nursery as usable as it was.
            let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let nursery = guard.as_ref().ok_or_else(|| NativePlayError::new_err("the nursery is closed"))?;
            act(nursery, &mut |progress| match Python::attach(|py| show(py, &on_progress, progress)) {
                Ok(verdict) => verdict,
                Err(error) => {
                    raised = Some(error);
                    Verdict::Stop
                }
            })
            .map_err(play_error)
        });
        match raised {
            Some(error) => Err(error),
            None => done,
        }
    }
}

fn show(py: Python<'_>, on_progress: &Py<PyAny>, progress: &Progress) -> PyResult<Verdict> {
    py.check_signals()?;
    let go_on = on_progress.call1(py, (to_json(progress)?,))?.extract::<bool>(py)?;
    Ok(if go_on { Verdict::GoOn } else { Verdict::Stop })
}
