//! The extension module `thinktime._native`: types across the border, and nothing else.

use pyo3::prelude::*;

mod arrays;
mod convert;
mod log;
mod quantities;
mod recorder;
mod script;
mod simulation;
mod stats;
mod terminals;
mod theory;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    log::register(module)?;
    quantities::register(module)?;
    recorder::register(module)?;
    script::register(module)?;
    simulation::register(module)?;
    stats::register(module)?;
    terminals::register(module)?;
    theory::register(module)
}
