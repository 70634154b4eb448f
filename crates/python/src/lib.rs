//! The extension module `thinktime._native`: conversion of arguments, results and errors, and nothing else.
//!
//! Whatever takes long releases the GIL (`Python::detach`), so that other Python threads run and Ctrl-C is served.
//! Classes are `frozen` where they can be: they need no borrow flag, which raises an exception when two threads use an
//! object at a time. Signatures and types for Python are in `_native.pyi`.

use pyo3::prelude::*;

mod arrays;
mod convert;
mod live;
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
    module.add("SOURCES", env!("THINKTIME_SOURCES"))?;
    live::register(module)?;
    log::register(module)?;
    quantities::register(module)?;
    recorder::register(module)?;
    script::register(module)?;
    simulation::register(module)?;
    stats::register(module)?;
    terminals::register(module)?;
    theory::register(module)
}
