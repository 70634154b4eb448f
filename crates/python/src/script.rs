//! Scripts of users, for `thinktime.sources.scripts`. A script crosses as its table with all defaults filled in, so
//! that Python needs no rules of its own.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;
use thinktime_script::{BUILTIN, Demand, SYSTEMS, Script};

use crate::convert::Plain;

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

/// The script of a TOML text, complete, as a table; with its demands on `system`, where one is named.
#[pyfunction]
#[pyo3(signature = (text, file, system = None))]
fn read_script(text: &str, file: &str, system: Option<&str>) -> PyResult<Plain<Value>> {
    Script::parse(text, file)
        .and_then(|script| system.map_or(Ok(()), |system| script.check_demands(system)).map(|()| script))
        .map(|script| Plain(script.to_json()))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A demand of an interaction, with the system that it is on.
#[derive(Serialize)]
struct SystemDemand {
    system: &'static str,
    name: &'static str,
    unit: &'static str,
    default: Option<f64>,
    description: &'static str,
}

/// The demands that an interaction can have on each system.
#[pyfunction]
fn script_demands() -> Plain<Vec<SystemDemand>> {
    let on = |system: &'static str, demand: &Demand| SystemDemand {
        system,
        name: demand.name,
        unit: demand.unit,
        default: demand.default,
        description: demand.description,
    };
    let all = SYSTEMS.iter().flat_map(|(system, demands)| demands.iter().map(|demand| on(system, demand)));
    Plain(all.collect())
}
