//! Synthetic interactive users, for `thinktime.cli.play` and `thinktime.cli.demo`.

use std::ffi::OsString;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use thinktime_quantities::Distribution;
use thinktime_terminals::TerminalsError;
use thinktime_terminals::driver::{Progress, Verdict};
use thinktime_terminals::load::population::Schedule;
use thinktime_terminals::load::workload::{Workload, table_iii};
use thinktime_terminals::nursery::{self, Nursery};
use thinktime_terminals::play::{self, Baseline, Demand, PlayOptions, Played, Prepared};
use thinktime_terminals::shell::Planned;
use thinktime_terminals::shell::play::{self as shell, ScriptOptions};
use thinktime_terminals::user::direct::DirectCost;

use crate::convert::Plain;
use crate::log::{NativeLogWriter, log_error};

create_exception!(_native, NativePlayError, PyRuntimeError, "The users cannot be played.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativePlayError", module.py().get_type::<NativePlayError>())?;
    module.add_class::<NativeNursery>()?;
    module.add_function(wrap_pyfunction!(serve_nursery, module)?)?;
    module.add_function(wrap_pyfunction!(workload, module)?)?;
    module.add_function(wrap_pyfunction!(read_workload, module)?)?;
    module.add_function(wrap_pyfunction!(compute_loop, module)?)?;
    module.add_function(wrap_pyfunction!(schedule, module)?)?;
    module.add_function(wrap_pyfunction!(script_lines, module)?)?;
    module.add_function(wrap_pyfunction!(missing_programs, module)?)
}

/// The Python exception of a play's error: `ValueError` where an argument was wrong.
fn play_error(error: TerminalsError) -> PyErr {
    match error {
        TerminalsError::Input { .. } => PyValueError::new_err(error.to_string()),
        TerminalsError::Log(error) => log_error(error),
        _ => NativePlayError::new_err(error.to_string()),
    }
}

/// A built-in workload.
#[pyfunction]
fn workload(name: &str) -> PyResult<Plain<Workload>> {
    Workload::named(name).map(Plain).map_err(play_error)
}

/// The workload in the text of a JSON file, with its defaults filled in and checked.
#[pyfunction]
fn read_workload(text: &str) -> PyResult<Plain<Workload>> {
    // With the path of the wrong value: serde's own message has a line and a column alone.
    let workload: Workload = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    workload.check().map_err(play_error)?;
    Ok(Plain(workload))
}

/// The distribution of Brachman's Table III for a mean CPU burst in milliseconds.
#[pyfunction]
fn compute_loop(burst_ms: u32) -> PyResult<Plain<Distribution>> {
    table_iii(burst_ms).map(Plain).map_err(play_error)
}

/// The numbers of users over time, from the notation of the command line.
#[pyfunction]
#[pyo3(signature = (users, step_s, ramp_s = None))]
fn schedule(users: &str, step_s: f64, ramp_s: Option<f64>) -> PyResult<Plain<Schedule>> {
    let users = users.parse().map_err(play_error)?;
    Schedule::new(users, step_s, ramp_s).map(Plain).map_err(play_error)
}

/// What a user of a script types in one pass, and when.
#[pyfunction]
fn script_lines(options: Plain<ScriptOptions>, user: u32) -> PyResult<Plain<Vec<Planned>>> {
    shell::plan(&options.0, user).map(Plain).map_err(play_error)
}

/// Programs that a script needs and its host does not have.
#[pyfunction]
fn missing_programs(py: Python<'_>, options: Plain<ScriptOptions>) -> PyResult<Vec<String>> {
    py.detach(|| shell::missing(&options.0)).map_err(play_error)
}

/// Serves as the nursery of the process that started this one; never returns.
#[pyfunction]
fn serve_nursery(py: Python<'_>) {
    py.detach(|| nursery::serve())
}

/// The process that starts the users' processes: `command` must call `serve_nursery` at once.
#[pyclass(frozen, module = "thinktime._native")]
// `None` once it is closed. The lock also keeps two plays apart: the nursery answers one driver.
struct NativeNursery(Mutex<Option<Nursery>>);

#[pymethods]
impl NativeNursery {
    #[new]
    /// Starts `command` as the nursery.
    fn new(py: Python<'_>, command: Vec<OsString>) -> PyResult<Self> {
        let [program, arguments @ ..] = &command[..] else {
            return Err(PyValueError::new_err("command: is empty; give a program and its arguments"));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        let nursery = py.detach(|| Nursery::spawn(command)).map_err(play_error)?;
        Ok(NativeNursery(Mutex::new(Some(nursery))))
    }

    /// Calibrates the compute loop and measures the baseline.
    fn prepare(
        &self,
        py: Python<'_>,
        options: Plain<PlayOptions>,
        on_progress: Py<PyAny>,
    ) -> PyResult<Plain<Prepared>> {
        self.observed(py, on_progress, |nursery, observe| play::prepare(nursery, &options.0, observe))
    }

    /// Plays without a log, to learn the demand of an interaction.
    fn rehearse(
        &self,
        py: Python<'_>,
        options: Plain<PlayOptions>,
        prepared: Plain<Prepared>,
        on_progress: Py<PyAny>,
    ) -> PyResult<Plain<Demand>> {
        self.observed(py, on_progress, |nursery, observe| {
            play::rehearse(nursery, &options.0, &prepared.0, observe)
        })
    }

    /// Plays into the log. `on_progress` gets the progress as a dict, and ends the play by returning False.
    fn play(
        &self,
        py: Python<'_>,
        options: Plain<PlayOptions>,
        prepared: Plain<Prepared>,
        writer: &NativeLogWriter,
        on_progress: Py<PyAny>,
    ) -> PyResult<Plain<Played>> {
        let writer = writer.shared();
        self.observed(py, on_progress, |nursery, observe| {
            play::play(nursery, &options.0, &prepared.0, &writer, observe)
        })
    }

    /// Measures what an empty command takes on the channel of a script; None if it was left out.
    fn floor(
        &self,
        py: Python<'_>,
        options: Plain<ScriptOptions>,
        on_progress: Py<PyAny>,
    ) -> PyResult<Plain<Option<Baseline>>> {
        self.observed(py, on_progress, |nursery, observe| shell::floor(nursery, &options.0, observe))
    }

    /// Plays a script into the log.
    fn play_script(
        &self,
        py: Python<'_>,
        options: Plain<ScriptOptions>,
        floor: Plain<Option<Baseline>>,
        writer: &NativeLogWriter,
        on_progress: Py<PyAny>,
    ) -> PyResult<Plain<Played>> {
        let writer = writer.shared();
        self.observed(py, on_progress, |nursery, observe| {
            shell::play(nursery, &options.0, floor.0.as_ref(), &writer, observe)
        })
    }

    /// Measures the cost of one fork, page fault and context switch, in a process with an array like a user's.
    fn measure_direct(
        &self,
        py: Python<'_>,
        array_bytes: u64,
        on_progress: Py<PyAny>,
    ) -> PyResult<Plain<Vec<DirectCost>>> {
        self.observed(py, on_progress, |nursery, observe| play::measure_direct(nursery, array_bytes, observe))
    }

    /// Ends every process that was started, and waits until all have ended.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl NativeNursery {
    /// Runs `act` without the GIL. Its observer runs Python's signal handlers and then `on_progress`; an exception
    /// from either ends the work in good order and is raised here.
    fn observed<T: Send>(
        &self,
        py: Python<'_>,
        on_progress: Py<PyAny>,
        act: impl FnOnce(&Nursery, &mut dyn FnMut(&Progress) -> Verdict) -> Result<T, TerminalsError> + Send,
    ) -> PyResult<Plain<T>> {
        let mut raised = None;
        let done = py.detach(|| {
            // A panic in a play does not damage the nursery: it is another process.
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
        // The exception of the caller comes first: the error of a play that was stopped is its consequence.
        match raised {
            Some(error) => Err(error),
            None => done.map(Plain),
        }
    }
}

/// The decision of `on_progress`, after Python has had a chance to act on Ctrl-C.
fn show(py: Python<'_>, on_progress: &Py<PyAny>, progress: &Progress) -> PyResult<Verdict> {
    py.check_signals()?;
    let go_on = on_progress.call1(py, (Plain(progress),))?.extract::<bool>(py)?;
    Ok(if go_on { Verdict::Continue } else { Verdict::Stop })
}
