//! The responses of a replication of a network.

use std::borrow::Cow;

use thinktime_engine::station::{AnyStation, Roster, Station};
use thinktime_engine::{Batches, Tally, Time};

use crate::kernel::{Accounted, Measured, Monitor};

use super::model::Model;
use super::plan::{Plan, StationPlan};

type Row = Measured<Plan>;

/// Totals of a run from which responses are computed.
pub struct RunTotals<'a> {
    /// At the end of the run.
    stations: &'a [AnyStation],
    /// The configuration.
    plan: &'a Plan,
    /// Response times by class.
    by_class: &'a [Tally],
    /// Response times of all classes together.
    overall: Cow<'a, Tally>,
    /// Time since statistics began [s].
    length_s: f64,
    /// Mean number of customers at the stations.
    mean_present: f64,
    /// End of the run.
    now: Time,
}

impl<M: Monitor> Accounted for Model<'_, M> {
    type Configuration = Plan;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        // With one class, as mostly, its tally is that of all: no histogram is copied.
        let mut overall = Cow::Borrowed(&self.responses[0]);
        self.responses[1..].iter().for_each(|tally| overall.to_mut().merge(tally));
        RunTotals {
            stations: &self.stations,
            plan: self.plan,
            by_class: &self.responses,
            overall,
            length_s: now.since(self.system.since()).seconds(),
            mean_present: self.system.mean_present(now),
            now,
        }
    }

    fn batches(&self) -> &Batches {
        &self.batches
    }
}

impl RunTotals<'_> {
    /// Response times by index: all classes together, then each class.
    fn tally(&self, index: usize) -> &Tally {
        if index == 0 { &self.overall } else { &self.by_class[index - 1] }
    }

    /// Customers of a station.
    fn roster(&self, station: usize) -> &Roster {
        self.stations[station].roster()
    }

    /// Share of the time for which the server of a station switches.
    fn switching(&self, station: usize) -> f64 {
        self.roster(station).mean_overhead(self.now, self.stations[station].overhead(self.now))
    }

    /// Mean share of the servers of a station that serve.
    fn utilisation(&self, station: usize) -> f64 {
        // A delay has as many servers as customers: its utilisation is the mean number in service.
        let servers = self.plan.stations[station].servers().unwrap_or(1) as f64;
        (self.roster(station).busy().mean(self.now) - self.switching(station)) / servers
    }
}

/// The responses, in the order in which they are shown: of all classes, of each where there are several, of stations.
pub fn responses(plan: &Plan) -> Vec<Row> {
    let completed = "Interactions completed";
    let mut all = vec![
        Row::new("throughput_per_s", "1/s", "Interactions completed per second", |run| {
            run.overall.count() as f64 / run.length_s
        }),
        Row::new("completed", "interaction", completed, |run| run.overall.count() as f64),
        Row::new("mean_present", "", "Mean number of customers at the stations", |run| run.mean_present),
    ];
    all.extend(of_tally(0, "", "all interactions"));
    if plan.classes.len() > 1 {
        for (index, class) in plan.classes.iter().enumerate() {
            let prefix = format!("{}_", class.name);
            let who = format!("interactions of class {}", class.name);
            let name = format!("{prefix}throughput_per_s");
            let description = format!("{who} completed per second");
            all.push(Row::at(index + 1, name, "1/s", description, |run, tally| {
                run.tally(tally).count() as f64 / run.length_s
            }));
            all.extend(of_tally(index + 1, &prefix, &who));
        }
    }
    all.extend(plan.stations.iter().enumerate().flat_map(|(index, station)| of_station(index, station)));
    all
}

/// Responses about the response times of tally `index`.
fn of_tally(index: usize, prefix: &str, who: &str) -> [Row; 6] {
    let response = |name: &str, statistic: &str, value: fn(&RunTotals, usize) -> f64| {
        let name = format!("{prefix}{name}_response_s");
        Row::at(index, name, "s", format!("{statistic} of the response time of {who}"), value)
    };
    let quantile = |name: &str, q: f64| {
        let name = format!("{prefix}{name}_response_s");
        let description = format!("Quantile {q} of the response time of {who}");
        Row::quantile(index, name, description, q, |run, tally| run.tally(tally))
    };
    [
        response("mean", "Mean", |run, tally| run.tally(tally).mean()),
        response("sd", "Standard deviation", |run, tally| run.tally(tally).variance().sqrt()),
        quantile("median", 0.5),
        quantile("p90", 0.9),
        quantile("p95", 0.95),
        quantile("p99", 0.99),
    ]
}

/// Responses about one station.
fn of_station(index: usize, station: &StationPlan) -> Vec<Row> {
    let name = &station.name;
    let response = |response: &str, unit, text: &str, value: fn(&RunTotals, usize) -> f64| {
        Row::at(index, format!("{name}_{response}"), unit, format!("{text} at station {name}"), value)
    };
    let utilisation = "Mean share of the servers that serve; customers in service where each has one,";
    let mut all = vec![
        response("utilisation", "", utilisation, |run, station| run.utilisation(station)),
        response("throughput_per_s", "1/s", "Customers served per second", |run, station| {
            run.roster(station).balance().left() as f64 / run.length_s
        }),
        response("mean_present", "", "Mean number of customers", |run, station| {
            run.roster(station).balance().mean_present(run.now)
        }),
        response("mean_stay_s", "s", "Mean time from arrival to departure", |run, station| {
            run.roster(station).mean_stay()
        }),
        response("mean_wait_s", "s", "Mean time of that without service", |run, station| {
            run.roster(station).mean_wait()
        }),
    ];
    if station.switches() {
        all.push(response(
            "switching",
            "",
            "Share of the time in which the server switches",
            |run, station| run.switching(station),
        ));
    }
    all
}
