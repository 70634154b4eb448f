//! Ways through the network.

use serde_json::Value;
use thinktime_engine::Alias;

use crate::kernel::ParameterError;

use super::fields::{Fields, SYSTEM};

/// Remedy for a wrong route.
pub const ALLOWED: &str = "give all, a list of stations in the order of visits, or a table of probabilities such \
                           as {start = \"cpu\", cpu = {disk = 0.8, leave = 0.2}, disk = {cpu = 1}}";

/// Largest deviation of a sum of probabilities from 1: decimal fractions lose as much.
const SLACK: f64 = 1e-6;
/// Largest number of visits in a list.
const MOST_STEPS: usize = 10_000;

/// Destination of a customer.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The step of this index.
    Step(u32),
    /// Out of the network.
    Leave,
    /// One of these steps, or [`LEAVE`], at random.
    Random(Alias<u32>),
}

/// Stands for leaving in [`Next::Random`].
pub const LEAVE: u32 = u32::MAX;

impl Next {
    /// The same, if the first step has the index `first`.
    pub fn moved(&self, first: u32) -> Next {
        match self {
            Next::Step(step) => Next::Step(step + first),
            Next::Leave => Next::Leave,
            Next::Random(table) => Next::Random(table.map(|to| if to == LEAVE { LEAVE } else { to + first })),
        }
    }
}

/// A way through the network: steps, each at a station.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// First step.
    pub start: Next,
    /// Index of the station of each step, and the destination from there.
    pub steps: Vec<(usize, Next)>,
}

impl Route {
    /// Reads the route at `path`.
    pub fn read(path: &str, value: &Value, stations: &[&str]) -> Result<Route, ParameterError> {
        match value {
            Value::String(word) if word == "all" => Ok(Route::sequence((0..stations.len()).collect())),
            Value::Array(names) if (1..=MOST_STEPS).contains(&names.len()) => {
                let number =
                    |(index, name): (usize, &Value)| station(&format!("{path}[{index}]"), name, stations);
                names.iter().enumerate().map(number).collect::<Result<_, _>>().map(Route::sequence)
            }
            Value::Object(_) => Route::table(path, value, stations),
            _ => Err(ParameterError::new(SYSTEM, path, value, ALLOWED)),
        }
    }

    /// One visit to each of `stations`, in this order.
    fn sequence(stations: Vec<usize>) -> Route {
        let last = stations.len() - 1;
        let next = |index: usize| if index == last { Next::Leave } else { Next::Step(index as u32 + 1) };
        let steps = stations.into_iter().enumerate().map(|(index, station)| (station, next(index))).collect();
        Route { start: Next::Step(0), steps }
    }

    /// One step per station, whether it is reached or not.
    fn table(path: &str, value: &Value, stations: &[&str]) -> Result<Route, ParameterError> {
        let mut allowed = vec!["start"];
        allowed.extend(stations);
        let fields = Fields::new(path.into(), value, &allowed)?;
        let row = |name: &str| match fields.get(name) {
            Some(row) => ways(&fields.at(name), row, stations).map(Some),
            None => Ok(None),
        };
        let start = row("start")?
            .ok_or_else(|| fields.wrong("start", "give the first station, or its probabilities"))?;
        if start.iter().any(|(to, _)| *to == LEAVE) {
            return Err(fields.wrong("start", "give stations only: who comes makes at least one visit"));
        }
        let rows: Vec<Option<Ways>> = stations.iter().map(|name| row(name)).collect::<Result<_, _>>()?;
        let reached = reached(&start, &rows, path, stations)?;
        if let Some(stuck) = stuck(&reached, &rows) {
            let remedy = "give a way from there to leave, with a probability above 0";
            return Err(ParameterError::new(
                SYSTEM,
                path,
                format!("no way out from {}", stations[stuck]),
                remedy,
            ));
        }
        let steps =
            rows.iter().enumerate().map(|(station, row)| (station, row.as_ref().map_or(Next::Leave, next)));
        Ok(Route { start: next(&start), steps: steps.collect() })
    }
}

/// Steps, or [`LEAVE`], and their probabilities.
type Ways = Vec<(u32, f64)>;

/// Destination by `ways`.
fn next(ways: &Ways) -> Next {
    match ways[..] {
        [(LEAVE, _)] => Next::Leave,
        [(step, _)] => Next::Step(step),
        _ => {
            let (to, weights): (Vec<u32>, Vec<f64>) = ways.iter().copied().unzip();
            Next::Random(Alias::new(&to, &weights))
        }
    }
}

/// Index of the station `name`.
fn station(path: &str, name: &Value, stations: &[&str]) -> Result<usize, ParameterError> {
    let Some(name) = name.as_str() else {
        return Err(ParameterError::new(SYSTEM, path, name, "give the name of a station"));
    };
    stations
        .iter()
        .position(|station| *station == name)
        .ok_or_else(|| ParameterError::unknown(SYSTEM, &format!("station, in {path}"), name, stations))
}

/// A row of probabilities, or the only destination.
fn ways(path: &str, value: &Value, stations: &[&str]) -> Result<Ways, ParameterError> {
    let step = |name: &str| match name {
        "leave" => Ok(LEAVE),
        _ => station(path, &Value::from(name), stations).map(|number| number as u32),
    };
    let row = match value {
        Value::String(name) => return Ok(vec![(step(name)?, 1.0)]),
        Value::Object(row) => row,
        _ => {
            let remedy = "give the next station, leave, or a table of probabilities";
            return Err(ParameterError::new(SYSTEM, path, value, remedy));
        }
    };
    let mut ways = Ways::new();
    for (name, probability) in row {
        let to = step(name)?;
        let part = probability.as_f64().filter(|part| (0.0..=1.0).contains(part)).ok_or_else(|| {
            ParameterError::new(
                SYSTEM,
                &format!("{path}.{name}"),
                probability,
                "give a probability from 0 to 1",
            )
        })?;
        // A way with probability 0 is none: its station needs no row.
        if part > 0.0 {
            ways.push((to, part));
        }
    }
    let sum: f64 = ways.iter().map(|(_, part)| part).sum();
    if (sum - 1.0).abs() > SLACK {
        let given = format!("probabilities that sum to {sum}");
        return Err(ParameterError::new(SYSTEM, path, given, "give probabilities that sum to 1"));
    }
    // What decimal fractions miss is spread over all ways.
    ways.iter_mut().for_each(|(_, part)| *part /= sum);
    Ok(ways)
}

/// Stations that can be reached; each must have a row.
fn reached(
    start: &Ways,
    rows: &[Option<Ways>],
    path: &str,
    stations: &[&str],
) -> Result<Vec<usize>, ParameterError> {
    let mut open: Vec<usize> = start.iter().map(|(to, _)| *to as usize).collect();
    let mut reached = Vec::new();
    while let Some(station) = open.pop() {
        if reached.contains(&station) {
            continue;
        }
        reached.push(station);
        let Some(row) = &rows[station] else {
            return Err(ParameterError {
                system: SYSTEM.into(),
                parameter: format!("{path}.{}", stations[station]),
                problem: "must be given: customers come there".into(),
                remedy: "give the next station, leave, or a table of probabilities".into(),
            });
        };
        open.extend(row.iter().filter(|(to, _)| *to != LEAVE).map(|(to, _)| *to as usize));
    }
    Ok(reached)
}

/// A reached station from which no way leads out, if there is one.
fn stuck(reached: &[usize], rows: &[Option<Ways>]) -> Option<usize> {
    let mut leads_out: Vec<bool> = vec![false; rows.len()];
    // As many passes as there are stations find the longest way.
    for _ in reached {
        for &station in reached {
            let ways = rows[station].iter().flatten();
            leads_out[station] |= ways.clone().any(|(to, _)| *to == LEAVE || leads_out[*to as usize]);
        }
    }
    reached.iter().copied().find(|station| !leads_out[*station])
}
