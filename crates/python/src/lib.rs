//! The extension module `thinktime._native`: types across the border, and nothing else.

use pyo3::prelude::*;

mod log;
mod recorder;
mod simulation;
mod terminals;
mod theory;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    log::register(module)?;
    recorder::register(module)?;
    simulation::register(module)?;
    terminals::register(module)?;
    theory::register(module)
}
