//! Rows of the log's `samples`: completions, customers at the stations, and busy time of each station.

use thinktime_engine::station::{AnyStation, Station};
use thinktime_engine::{Span, Time};
use thinktime_log::{Column, Kind, Role, Type, Value};

use super::plan::{Plan, StationPlan};

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

/// State of the samples.
pub struct Sampler {
    /// Time of the last sample.
    since: Time,
    /// Interactions completed since then.
    pub completions: u64,
    /// Busy time of each station at the last sample [ns], less what statistics have forgotten since.
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
        // Counted by the sampler itself: the tallies of responses are restarted with the statistics.
        self.completions = 0;
        (start, length, row)
    }

    /// Keeps what statistics are about to forget.
    pub fn restart(&mut self, now: Time, stations: &[AnyStation]) {
        for (station, before) in stations.iter().zip(&mut self.busy) {
            // Below zero from here on, which is why it is signed.
            *before -= station.roster().busy().area(now) as i128;
        }
    }
}
