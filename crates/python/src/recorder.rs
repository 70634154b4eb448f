//! The Linux recorder, for `thinktime.sources.linux`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use thinktime_log::OpenMode;
use thinktime_recorder::{
    Control, OptionsText, Progress, RecordOptions, RecordSummary, RecorderError, SignalGuard, doctor,
    record_to,
};

use crate::log::{NativeLogWriter, json, to_json};

create_exception!(_native, NativeRecordError, PyRuntimeError, "Recording failed.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeRecordError", module.py().get_type::<NativeRecordError>())?;
    module.add_class::<NativeRecording>()?;
    module.add_function(wrap_pyfunction!(record, module)?)?;
    module.add_function(wrap_pyfunction!(record_session, module)?)?;
    module.add_function(wrap_pyfunction!(examine_machine, module)?)
}

fn record_error(error: RecorderError) -> PyErr {
    match error {
        error if error.is_input() => PyValueError::new_err(error.to_string()),
        error => NativeRecordError::new_err(error.to_string()),
    }
}

fn options(text: &str) -> PyResult<RecordOptions> {
    json::<OptionsText>(text)?.try_into().map_err(record_error)
}

fn open_mode(mode: &str) -> PyResult<OpenMode> {
    match mode {
        "create" => Ok(OpenMode::Create),
        "continue" => Ok(OpenMode::Continue),
        "replace" => Ok(OpenMode::Replace),
        other => Err(PyValueError::new_err(format!("mode {other:?} is none of create, continue, replace"))),
    }
}

/// The session of a log for a recording with `options`, as JSON.
#[pyfunction]
fn record_session(options_text: &str) -> PyResult<String> {
    let options = options(options_text)?;
    options.check().map_err(record_error)?;
    to_json(&options.session())
}

/// What this machine can measure: as text, and as JSON.
#[pyfunction]
fn examine_machine(py: Python<'_>) -> PyResult<(String, String)> {
    let findings = py.detach(doctor::examine).map_err(record_error)?;
    Ok((findings.to_string(), to_json(&findings)?))
}

/// Records until SIGINT, SIGTERM or the duration; SIGHUP starts a new part. Returns the summary as JSON.
///
/// `on_progress` gets the progress as JSON after every sample; what it raises ends the recording.
#[pyfunction]
#[pyo3(signature = (path, mode, options_text, on_progress = None))]
fn record(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    options_text: &str,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (options, mode) = (options(options_text)?, open_mode(mode)?);
    let control = Control::new().map_err(record_error)?;
    let raised = Arc::new(Mutex::new(None));
    if let Some(show) = on_progress {
        let (raised, control_of_show) = (Arc::clone(&raised), control.clone());
        control.on_progress(move |progress: &Progress| {
            if let Err(error) = Python::attach(|py| show.call1(py, (to_json(progress)?,)).map(drop)) {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                control_of_show.stop();
            }
        });
    }
    let done = py.detach(|| {
        let _guard = SignalGuard::install(&control)?;
        record_to(&path, mode, &options, &control)
    });
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    to_json(&done.map_err(record_error)?)
}

/// A recording in a thread of its own, into a log that others write too.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeRecording {
    control: Control,
    thread: Mutex<Option<JoinHandle<Result<RecordSummary, RecorderError>>>>,
}

#[pymethods]
impl NativeRecording {
    /// Begins. When this returns, the first sample is taken, or `stop` will say what failed.
    #[new]
    fn new(py: Python<'_>, writer: &NativeLogWriter, options_text: &str) -> PyResult<Self> {
        let options = options(options_text)?;
        options.check().map_err(record_error)?;
        let control = Control::new().map_err(record_error)?;
        let (writer, of_thread) = (writer.shared(), control.clone());
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || thinktime_recorder::record(&writer, &options, &of_thread))
            .map_err(|error| NativeRecordError::new_err(error.to_string()))?;
        py.detach(|| {
            while !control.has_begun() && !thread.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Ok(NativeRecording { control, thread: Mutex::new(Some(thread)) })
    }

    /// Ends the open part of the log and starts a new one.
    fn new_part(&self) {
        self.control.new_part();
    }

    /// Ends the recording; its summary as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        self.control.stop();
        let done = py.detach(|| {
            let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.map(JoinHandle::join)
        });
        match done {
            None => Err(PyValueError::new_err("the recording was stopped already")),
            Some(Err(_)) => Err(NativeRecordError::new_err("the recording stopped by a mistake of its own")),
            Some(Ok(summary)) => to_json(&summary.map_err(record_error)?),
        }
    }
}
