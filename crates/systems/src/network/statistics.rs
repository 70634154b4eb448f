//! What a network tells: figures of a replication, and rows of the log's samples.

use std::borrow::Cow;

use thinktime_engine::station::{AnyStation, Station};
use thinktime_engine::{Span, Tally, Time};
use thinktime_log::{Column, Kind, Role, Type, Value};

use crate::recorder::Monitor;
use crate::system::Response;

use super::model::Model;
use super::plan::{Plan, StationPlan};

const QUANTILES: [(&str, f64); 4] = [("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// What [`figures`] are, in that order.
pub fn responses(plan: &Plan) -> Vec<Response> {
    let mut all = vec![
        Response::new("throughput_per_s", "1/s", "Interactions completed a second"),
        Response::new("completed", "interaction", "Interactions completed"),
        Response::new("mean_present", "", "Mean number of customers at the stations"),
    ];
    all.extend(of_class("", "", "all interactions"));
    if plan.classes.len() > 1 {
        for class in &plan.classes {
            let prefix = format!("{}_", class.name);
            let who = format!("interactions of class {}", class.name);
            let name = format!("{prefix}throughput_per_s");
            all.push(Response::new(name, "1/s", format!("{who} completed a second")));
            all.extend(of_class(&prefix, &class.name, &who));
        }
    }
    all.extend(plan.stations.iter().flat_map(of_station));
    all
}

fn of_class(prefix: &str, _class: &str, who: &str) -> Vec<Response> {
    let response = |name: &str, what: &str| {
        Response::new(
            format!("{prefix}{name}_response_s"),
            "s",
            format!("{what} of the response time of {who}"),
        )
    };
    let mut all = vec![response("mean", "Mean"), response("sd", "Standard deviation")];
    all.extend(QUANTILES.map(|(name, q)| response(name, &format!("Quantile {q}"))));
    all
}

fn of_station(station: &StationPlan) -> Vec<Response> {
    let name = &station.name;
    let response = |figure: &str, unit, what: &str| {
        Response::new(format!("{name}_{figure}"), unit, format!("{what} at station {name}"))
    };
    let mut all = vec![
        response(
            "utilisation",
            "",
            "Mean part of the servers that serve; customers in service where each has one,",
        ),
        response("throughput_per_s", "1/s", "Customers served a second"),
        response("mean_present", "", "Mean number of customers"),
        response("mean_stay_s", "s", "Mean time from arrival to departure"),
        response("mean_wait_s", "s", "Mean time of that without service"),
    ];
    if station.switches() {
        all.push(response("switching", "", "Part of the time in which the server switches"));
    }
    all
}

/// The figures of a replication at its end.
pub fn figures<M: Monitor>(model: &Model<'_, M>, plan: &Plan, now: Time) -> Vec<f64> {
    let length = now.since(model.system.since()).seconds();
    let mut overall = Cow::Borrowed(&model.responses[0]);
    model.responses[1..].iter().for_each(|tally| overall.to_mut().merge(tally));
    let mut figures =
        vec![overall.count() as f64 / length, overall.count() as f64, model.system.mean_present(now)];
    figures.extend(times(&overall));
    if model.responses.len() > 1 {
        for tally in &model.responses {
            figures.push(tally.count() as f64 / length);
            figures.extend(times(tally));
        }
    }
    for (station, described) in model.stations.iter().zip(&plan.stations) {
        let roster = station.roster();
        let overhead = roster.mean_overhead(now, station.overhead(now));
        let servers = described.servers().unwrap_or(1) as f64;
        figures.extend([
            (roster.busy().mean(now) - overhead) / servers,
            roster.balance().left() as f64 / length,
            roster.balance().mean_present(now),
            roster.mean_stay(),
            roster.mean_wait(),
        ]);
        if described.switches() {
            figures.push(overhead);
        }
    }
    figures
}

fn times(tally: &Tally) -> impl Iterator<Item = f64> + '_ {
    let quantiles = QUANTILES.iter().map(|(_, q)| tally.quantile(*q));
    [tally.mean(), tally.variance().sqrt()].into_iter().chain(quantiles)
}

/// Columns of the log's samples.
pub fn sample_columns(plan: &Plan) -> Vec<Column> {
    let mut columns = vec![
        Column::new("completions", Type::U64, "interaction", Kind::Counter, "Interactions completed")
            .role(Role::Throughput),
        Column::new("present", Type::U64, "", Kind::Gauge, "Customers at the stations").role(Role::Load),
    ];
    for StationPlan { name, .. } in &plan.stations {
        let busy = format!("Time in which servers of {name} were busy, summed over them");
        columns.push(Column::new(&format!("{name}_busy_s"), Type::F64, "s", Kind::Counter, &busy));
        let present = format!("Customers at {name}");
        columns.push(Column::new(&format!("{name}_present"), Type::U64, "", Kind::Gauge, &present));
    }
    columns
}

/// Takes the samples.
pub struct Sampler {
    since: Time,
    /// Interactions completed since then.
    pub completions: u64,
    /// Busy time of each station at the last sample [ns], less what statistics have forgotten.
    busy: Vec<i128>,
}

impl Sampler {
    pub fn new(plan: &Plan) -> Sampler {
        Sampler { since: Time::ZERO, completions: 0, busy: vec![0; plan.stations.len()] }
    }

    /// The sample that ends now: its start, length, and row.
    pub fn take(&mut self, now: Time, stations: &[AnyStation], present: u64) -> (Time, Span, Vec<Value>) {
        let (start, length) = (self.since, now.since(self.since));
        let mut row = vec![Value::U64(self.completions), Value::U64(present)];
        for (station, before) in stations.iter().zip(&mut self.busy) {
            let busy = station.roster().busy().area(now) as i128;
            row.push(Value::F64((busy - *before) as f64 * 1e-9));
            row.push(Value::U64(station.roster().balance().present()));
            *before = busy;
        }
        self.since = now;
        self.completions = 0;
        (start, length, row)
    }

    /// Statistics are about to begin anew: what they forget is kept here.
    pub fn restart(&mut self, now: Time, stations: &[AnyStation]) {
        for (station, before) in stations.iter().zip(&mut self.busy) {
            *before -= station.roster().busy().area(now) as i128;
        }
    }
}
