//! Exact solutions of closed networks, for `thinktime.models.networks`, which checks the arguments.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use thinktime_theory::load_dependent::{self, Station};
use thinktime_theory::{fixed_rate, multiclass};

use crate::arrays::doubles;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mva, module)?)?;
    module.add_function(wrap_pyfunction!(mva_by_population, module)?)?;
    module.add_function(wrap_pyfunction!(mva_rates, module)?)?;
    module.add_function(wrap_pyfunction!(mva_classes, module)?)
}

type Arrays<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

type NumberAndArrays<'py> = (f64, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Throughput with all customers; and residence times, mean numbers and utilisations by station.
#[pyfunction]
fn mva(py: Python<'_>, demands: Vec<f64>, think: f64, population: u32) -> PyResult<NumberAndArrays<'_>> {
    // With the GIL: usual populations take microseconds, less than releasing it and waiting for it again may.
    let solution = fixed_rate::at_population(&demands, think, population);
    Ok((
        solution.throughput,
        doubles(py, &solution.residence)?,
        doubles(py, &solution.queues)?,
        doubles(py, &solution.utilisation)?,
    ))
}

/// Throughputs, and mean numbers as rows, with 1, 2, ... customers.
#[pyfunction]
fn mva_by_population(py: Python<'_>, demands: Vec<f64>, think: f64, population: u32) -> PyResult<Arrays<'_>> {
    let solved = py.detach(|| fixed_rate::all_populations(&demands, think, population));
    Ok((doubles(py, &solved.throughput)?, doubles(py, &solved.queues)?))
}

type ThreeArrays<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Throughputs, and mean numbers at stations of fixed rate as rows, with 1, 2, ... customers, where other stations
/// have a rate for each number of customers; the mean numbers at those are a row for each station.
#[pyfunction]
fn mva_rates(
    py: Python<'_>,
    fixed: Vec<f64>,
    think: f64,
    demands: Vec<f64>,
    rates: Vec<Vec<f64>>,
    population: u32,
) -> PyResult<ThreeArrays<'_>> {
    let stations: Vec<Station> =
        demands.into_iter().zip(rates).map(|(demand, rates)| Station { demand, rates }).collect();
    let solved = py.detach(|| load_dependent::all_populations(&fixed, think, &stations, population));
    Ok((
        doubles(py, &solved.throughput)?,
        doubles(py, &solved.fixed_queues)?,
        doubles(py, &solved.queues.concat())?,
    ))
}

/// Throughputs of several classes, and residence times as rows of stations. `demands` are rows of stations;
/// a station without rates is a delay.
#[pyfunction]
fn mva_classes(
    py: Python<'_>,
    demands: Vec<Vec<f64>>,
    rates: Vec<Option<Vec<f64>>>,
    think: Vec<f64>,
    population: Vec<u32>,
) -> PyResult<Arrays<'_>> {
    let stations: Vec<multiclass::Station> = demands
        .into_iter()
        .zip(rates)
        .map(|(demands, rates)| multiclass::Station {
            demands,
            service: rates.map_or(multiclass::Service::Delay, multiclass::Service::Rates),
        })
        .collect();
    let solution = py.detach(|| multiclass::at_population(&stations, &think, &population));
    Ok((doubles(py, &solution.throughput)?, doubles(py, &solution.residence)?))
}
