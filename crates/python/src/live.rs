//! The view of a log on the terminal, for `thinktime live`.

use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use thinktime_live::{Counted, LiveError, Prediction, Shared, ViewOptions, view};
use thinktime_log::OpenMode;
use thinktime_recorder::live::{Destination, record_and_view};
use thinktime_recorder::{GivenOptions, RecordSummary};

use crate::convert::Plain;
use crate::recorder::{checked, record_error};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeView>()
}

fn view_error(error: LiveError) -> PyErr {
    if error.is_input() {
        return PyValueError::new_err(error.to_string());
    }
    PyRuntimeError::new_err(error.to_string())
}

/// The users who fit, as Python says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    fits: Option<u64>,
    low: Option<u64>,
    high: Option<u64>,
    knee: Option<(u64, u64)>,
    limit: String,
    goal: String,
    by_people: bool,
}

/// How a view begins, as Python says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct How {
    at: Option<String>,
    speed: f64,
}

/// A view, which other threads tell what they know.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeView {
    shared: Shared,
    /// The mouse chooses and scrolls from the start.
    mouse: bool,
}

#[pymethods]
impl NativeView {
    #[new]
    #[pyo3(signature = (*, mouse))]
    fn new(mouse: bool) -> Self {
        NativeView { shared: Shared::default(), mouse }
    }

    /// Hands over how many users fit.
    fn predict(&self, prediction: Plain<Given>) {
        let given = prediction.0;
        self.shared.predict(Ok(Prediction {
            fits: given.fits,
            low: given.low,
            high: given.high,
            knee: given.knee,
            limit: given.limit,
            goal: given.goal,
            counted: if given.by_people { Counted::People } else { Counted::Population },
        }));
    }

    /// Hands over why it is not known how many users fit.
    fn cannot_predict(&self, reason: &str) {
        self.shared.predict(Err(reason.into()));
    }

    /// Shows the log until a key or a signal ends it.
    fn show(&self, py: Python<'_>, log: PathBuf, how: Plain<How>) -> PyResult<()> {
        let How { at, speed } = how.0;
        let options = ViewOptions { at, speed, title: None, mouse: self.mouse };
        py.detach(|| view(&log, &options, &self.shared)).map(drop).map_err(view_error)
    }

    /// Records, and shows that; into a folder that is removed at the end without `log`. `opened` is called with the folder
    /// before the view begins.
    #[pyo3(signature = (log, mode, options, opened))]
    fn record(
        &self,
        py: Python<'_>,
        log: Option<PathBuf>,
        mode: Plain<OpenMode>,
        options: Plain<GivenOptions>,
        opened: Py<PyAny>,
    ) -> PyResult<Plain<RecordSummary>> {
        let options = checked(options.0)?;
        let destination = match log {
            None => Destination::Temporary,
            Some(path) => Destination::Log { path, mode: mode.0 },
        };
        let mut raised = None;
        let tell = |path: &Path| {
            if let Err(error) = Python::attach(|py| opened.call1(py, (path,)).map(drop)) {
                raised = Some(error);
                self.shared.stop();
            }
        };
        let how = ViewOptions { mouse: self.mouse, ..ViewOptions::default() };
        let summary = py.detach(|| record_and_view(&destination, &options, &how, &self.shared, tell));
        match raised {
            Some(error) => Err(error),
            None => summary.map(Plain).map_err(record_error),
        }
    }
}
