//! Scripts of users, for `thinktime.sources.scripts`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use thinktime_script::{BUILTIN, SYSTEMS, Script};

use crate::log::to_json;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(builtin_scripts, module)?)?;
    module.add_function(wrap_pyfunction!(read_script, module)?)?;
    module.add_function(wrap_pyfunction!(script_demands, module)?)
}

/// Name and TOML text of each built-in script.
#[pyfunction]
fn builtin_scripts() -> Vec<(&'static str, &'static str)> {
    BUILTIN.iter().filter_map(|name| Script::builtin(name).map(|text| (*name, text))).collect()
}

/// The script of a TOML text as JSON, complete; with its demands on `system`, where one is named.
#[pyfunction]
#[pyo3(signature = (text, file, system = None))]
fn read_script(text: &str, file: &str, system: Option<&str>) -> PyResult<String> {
    let script = Script::parse(text, file)
        .and_then(|script| system.map_or(Ok(()), |system| script.check_demands(system)).map(|()| script))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    to_json(&script.to_json())
}

/// What an interaction can ask of each system, as JSON.
#[pyfunction]
fn script_demands() -> PyResult<String> {
    let all: Vec<serde_json::Value> = SYSTEMS
        .iter()
        .flat_map(|(system, demands)| demands.iter().map(move |demand| (system, demand)))
        .map(|(system, demand)| {
            serde_json::json!({
                "system": system,
                "name": demand.name,
                "unit": demand.unit,
                "default": demand.default,
                "description": demand.description,
            })
        })
        .collect();
    to_json(&all)
}
