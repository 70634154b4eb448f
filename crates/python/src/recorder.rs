//! The Linux recorder, for `thinktime.sources.linux`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use thinktime_log::{OpenMode, Session};
use thinktime_recorder::doctor::{self, Examination};
use thinktime_recorder::{
    Control, GivenOptions, Progress, RecordOptions, RecordSummary, RecorderError, SignalGuard, record_to,
};

use crate::convert::Plain;
use crate::log::NativeLogWriter;

create_exception!(_native, NativeRecordError, PyRuntimeError, "Recording failed.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeRecordError", module.py().get_type::<NativeRecordError>())?;
    module.add_class::<NativeRecording>()?;
    module.add_function(wrap_pyfunction!(record, module)?)?;
    module.add_function(wrap_pyfunction!(record_session, module)?)?;
    module.add_function(wrap_pyfunction!(examine_machine, module)?)
}

/// The Python exception of a recorder's error: `ValueError` where an argument was wrong, so that the command line
/// exits with status 2.
pub(crate) fn record_error(error: RecorderError) -> PyErr {
    match error {
        error if error.is_input() => PyValueError::new_err(error.to_string()),
        error => NativeRecordError::new_err(error.to_string()),
    }
}

/// The options, once all of them are in their ranges.
pub(crate) fn checked(given: GivenOptions) -> PyResult<RecordOptions> {
    let options = RecordOptions::try_from(given).map_err(record_error)?;
    options.check().map_err(record_error)?;
    Ok(options)
}

/// The session of a log for a recording with `options`.
#[pyfunction]
fn record_session(options: Plain<GivenOptions>) -> PyResult<Plain<Session>> {
    Ok(Plain(checked(options.0)?.session()))
}

/// What this machine can measure: as text for people, and as facts for programs.
#[pyfunction]
fn examine_machine(py: Python<'_>) -> PyResult<(String, Plain<Examination>)> {
    let examination = py.detach(doctor::examine).map_err(record_error)?;
    Ok((examination.to_string(), Plain(examination)))
}

/// Records until SIGINT, SIGTERM or the duration; SIGHUP starts a new part. Returns the summary.
///
/// `on_progress` is called after every sample, `on_notice` with a sentence when the log is in trouble; an exception
/// from either ends the recording.
#[pyfunction]
#[pyo3(signature = (path, mode, options, on_progress = None, on_notice = None))]
fn record(
    py: Python<'_>,
    path: PathBuf,
    mode: Plain<OpenMode>,
    options: Plain<GivenOptions>,
    on_progress: Option<Py<PyAny>>,
    on_notice: Option<Py<PyAny>>,
) -> PyResult<Plain<RecordSummary>> {
    let options = checked(options.0)?;
    let control = Control::new().map_err(record_error)?;
    // The recorder knows no Python: an exception waits here until the recording has ended in good order.
    let raised = Arc::new(Mutex::new(None));
    if let Some(show) = on_progress {
        let (raised, control_of_show) = (Arc::clone(&raised), control.clone());
        control.on_progress(move |progress: &Progress| {
            if let Err(error) = Python::attach(|py| show.call1(py, (Plain(progress),)).map(drop)) {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                control_of_show.stop();
            }
        });
    }
    if let Some(say) = on_notice {
        let (raised, control_of_say) = (Arc::clone(&raised), control.clone());
        control.on_notice(move |notice: &str| {
            if let Err(error) = Python::attach(|py| say.call1(py, (notice,)).map(drop)) {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                control_of_say.stop();
            }
        });
    }
    let summary = py.detach(|| {
        // For the time of the recording only: Python's own handlers, which could not run in here, come back after it.
        let _guard = SignalGuard::install(&control)?;
        record_to(&path, mode.0, &options, &control)
    });
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    summary.map(Plain).map_err(record_error)
}

/// A recording in a thread of its own, into a log that others write too.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeRecording {
    control: Control,
    thread: Mutex<Option<JoinHandle<Result<RecordSummary, RecorderError>>>>,
}

#[pymethods]
impl NativeRecording {
    /// Begins a recording. On return the first sample is taken, or `stop` reports the error.
    #[new]
    fn new(py: Python<'_>, writer: &NativeLogWriter, options: Plain<GivenOptions>) -> PyResult<Self> {
        let options = checked(options.0)?;
        let control = Control::new().map_err(record_error)?;
        let (writer, of_thread) = (writer.shared(), control.clone());
        let thread = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || thinktime_recorder::record(&writer, &options, &of_thread))
            .map_err(|error| NativeRecordError::new_err(error.to_string()))?;
        py.detach(|| {
            // By polling: it is over after some milliseconds, once a recording, and needs no second channel to the
            // thread.
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

    /// Ends the recording and returns its summary.
    fn stop(&self, py: Python<'_>) -> PyResult<Plain<RecordSummary>> {
        self.control.stop();
        // Without the GIL: the last sample and the seal of the part take their time.
        let joined = py.detach(|| {
            let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.map(JoinHandle::join)
        });
        match joined {
            None => Err(PyValueError::new_err("the recording was stopped already")),
            Some(Err(_)) => Err(NativeRecordError::new_err("the recorder's thread has panicked")),
            Some(Ok(summary)) => summary.map(Plain).map_err(record_error),
        }
    }
}
