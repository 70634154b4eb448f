//! Rows of the trace: where the time of tasks went, by user and command, as programs in the kernel counted it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use thinktime_log::{Incident, LogError, LogWriter, Row, Value, vocabulary};
use thinktime_tracer::{Latency, Losses, Owner, TraceError, Tracer};

use crate::proc::process_stat::Name;
use crate::processes::By;
use crate::processes::census::Key;
use crate::processes::commands::{OTHER, program};
use crate::sample::rows::Interval;
use crate::sample::sheet::Sheet;

/// A trace that runs.
pub struct Trace {
    tracer: Tracer,
    owner: Owner,
    /// Sheet of table `latencies`.
    pub sheet: Sheet,
    /// What ended since the sample before.
    latencies: Vec<Latency>,
    /// What was lost, as the log was last told.
    told: Losses,
}

/// What was lost in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    durations: u64,
    accounts: u64,
}

impl Lost {
    /// Counts it among the incidents of the log.
    pub fn tell(self, writer: &mut LogWriter) -> Result<(), LogError> {
        for (count, detail) in [
            (self.durations, "durations found no room in the tables of the trace, and are in no row"),
            (self.accounts, "commands found no room in the tables of the trace, and count as (other)"),
        ] {
            if count > 0 {
                writer.count(&Incident { count, ..Incident::now("trace_lost", detail) })?;
            }
        }
        Ok(())
    }
}

/// What a row is about.
type Place = (Option<Key>, Arc<str>, &'static str, &'static str, u64, Option<u64>);

impl Trace {
    /// Attaches the programs.
    pub fn open(by: By) -> Result<Trace, TraceError> {
        let owner = if by == By::Session { Owner::Session } else { Owner::User };
        Ok(Trace {
            tracer: Tracer::open(owner, false)?,
            owner,
            sheet: Sheet::new(vocabulary::latencies()),
            latencies: Vec::new(),
            told: Losses::default(),
        })
    }

    /// Reads what ended since the last call.
    pub fn sample(&mut self) {
        self.latencies = self.tracer.read();
    }

    /// Quantities that are not measured here, with the reasons.
    pub fn missing(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.tracer.missing().iter().map(|(quantity, why)| (*quantity, why.as_str()))
    }

    /// What was lost since the last call.
    pub fn take_losses(&mut self) -> Lost {
        let now = self.tracer.losses();
        let before = std::mem::replace(&mut self.told, now);
        Lost { durations: now.durations - before.durations, accounts: now.accounts - before.accounts }
    }

    /// A row for each bucket that is not empty, by user, command, quantity and reason.
    pub fn rows(&self, interval: Interval) -> Vec<Row> {
        // One command may have several accounts: kernel threads of one name, or two CPUs that opened it at once.
        let mut buckets: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
        for latency in &self.latencies {
            let key = latency.account.owner.map(|number| match self.owner {
                Owner::User => Key::Uid(number),
                Owner::Session => Key::Session(number as i32),
            });
            let command = match &key {
                Some(_) => program(&Name::new(&latency.account.name), latency.account.is_kernel),
                None => OTHER.into(),
            };
            let Latency { quantity, reason, at_least_ns, below_ns, .. } = *latency;
            let sums = buckets.entry((key, command, quantity, reason, at_least_ns, below_ns)).or_default();
            sums.0 += latency.count;
            sums.1 += latency.total_ns;
        }
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let row = |(place, (count, total_ns)): (Place, (u64, u64))| {
            let (key, command, quantity, reason, at_least_ns, below_ns) = place;
            let mut row = self.sheet.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("user", key.map_or(Value::Null, |key| key.text().into()));
            row.set("command", &*command);
            row.set("quantity", quantity);
            row.set("reason", reason);
            row.set("at_least_s", seconds(at_least_ns));
            row.set("below_s", below_ns.map(seconds));
            row.set("count", count);
            row.set("total_s", seconds(total_ns));
            row.finish()
        };
        buckets.into_iter().map(row).collect()
    }

    /// Facts for the manifest.
    pub fn to_json(&self) -> Json {
        let losses = self.tracer.losses();
        json!({
            "mode": "aggregated",
            "attached": "tp_btf",
            "missing": self.tracer.missing(),
            "durations_lost": losses.durations,
            "accounts_lost": losses.accounts,
            "beginnings_unseen": losses.unseen,
        })
    }
}
