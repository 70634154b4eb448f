//! Totals of the columns of a log, by the labels of their rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use thinktime_log::{Column, Kind, Role, Row, TableSchema, Value};

use crate::text::{Family, Format, Sample, write_family};

/// Totals that the recording adds to, and that scrapes read.
pub type SharedTotals = Arc<Mutex<Totals>>;

/// Tables that are exported, what their metrics are called after, and the most series of each metric.
///
/// `presence` is left out: who sits where is nobody's metric. Interactions and events are single occurrences.
static TABLES: [(&str, &str, usize); 7] = [
    ("samples", "machine", 1),
    ("users", "user", 200),
    ("commands", "command", 200),
    ("cpus", "cpu", 1024),
    ("disks", "disk", 100),
    ("interfaces", "interface", 100),
    ("groups", "group", 200),
];
/// Label of the series of all that have none of their own.
const OTHER: &str = "(other)";
/// Time without a row after which a series may make room for another, which then begins at zero [s].
const IDLE_S: f64 = 600.0;
/// Time without a reading after which a gauge is no longer exported [s].
const GAUGE_AGE_S: f64 = 120.0;

/// What one row of labels has had so far.
#[derive(Debug)]
struct Series {
    labels: Vec<Option<Arc<str>>>,
    /// By column with an amount; a counter that was never measured has none.
    values: Vec<Option<f64>>,
    /// Recorded time at which each gauge was read last [s].
    read_s: Vec<f64>,
    /// Recorded time of the last row [s].
    seen_s: f64,
}

/// One table: its amounts, its labels, and a series for each row of labels.
#[derive(Debug)]
struct Totalled {
    subject: &'static str,
    most: usize,
    amounts: Vec<(usize, Column)>,
    labels: Vec<(usize, String)>,
    places: BTreeMap<Vec<Option<Arc<str>>>, usize>,
    series: Vec<Series>,
}

/// Totals since the recording began, of every counter and gauge of its tables.
#[derive(Debug, Default)]
pub struct Totals {
    tables: Vec<(String, Totalled)>,
    samples: u64,
    /// Sum of the lengths of the intervals [s].
    recorded_s: f64,
    /// End of the last interval, seconds since 1970 UTC.
    end_s: Option<f64>,
    /// Rows that were added to the series of all others.
    merged: u64,
    gauge_age_s: f64,
}

impl Totals {
    /// Totals of those of `schemas` that are exported, whose gauges are read every `gauges_s` seconds.
    pub fn new<'a>(schemas: impl IntoIterator<Item = &'a TableSchema>, gauges_s: f64) -> Totals {
        let tables = schemas.into_iter().filter_map(|schema| {
            let (_, subject, most) = TABLES.iter().find(|(name, ..)| *name == schema.name)?;
            Some((schema.name.clone(), Totalled::new(schema, subject, *most)))
        });
        // One that is late, or at random later, is no reason to interrupt a series.
        let gauge_age_s = GAUGE_AGE_S.max(3.0 * gauges_s);
        Totals { tables: tables.collect(), gauge_age_s, ..Totals::default() }
    }

    /// Adds an interval: its rows by name of the table, in the order of the schema's columns.
    pub fn add<'a>(
        &mut self,
        start_us: i64,
        length_s: f64,
        rows: impl IntoIterator<Item = (&'a str, &'a [Row])>,
    ) {
        self.samples += 1;
        self.recorded_s += length_s;
        self.end_s = Some(start_us as f64 * 1e-6 + length_s);
        for (name, rows) in rows {
            let Some((_, table)) = self.tables.iter_mut().find(|(table, _)| table == name) else { continue };
            for row in rows {
                self.merged += u64::from(!table.add(row, self.recorded_s));
            }
        }
    }

    /// All metrics in `format`.
    pub fn render(&self, format: Format) -> String {
        let mut text = String::new();
        for family in self.own() {
            write_family(&mut text, &family, format);
        }
        for (_, table) in &self.tables {
            for at in 0..table.amounts.len() {
                write_family(&mut text, &table.family(at, self.recorded_s - self.gauge_age_s), format);
            }
        }
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    /// Metrics of the recording itself.
    fn own(&self) -> Vec<Family<'_>> {
        let one = |value: f64| vec![Sample { labels: Vec::new(), value }];
        let version = Sample { labels: vec![("version", env!("CARGO_PKG_VERSION"))], value: 1.0 };
        let mut families = vec![
            Family::gauge("thinktime_recorder_info", "", "Version of the recorder", vec![version]),
            Family::counter("thinktime_recorder_samples", "", "Intervals recorded", one(self.samples as f64)),
            Family::counter(
                "thinktime_recorder_recorded_seconds",
                "seconds",
                "Length of the intervals recorded, without gaps",
                one(self.recorded_s),
            ),
            Family::counter(
                "thinktime_recorder_merged_rows",
                "",
                "Rows that were added to the series (other), since all series of their metrics were taken",
                one(self.merged as f64),
            ),
        ];
        if let Some(end_s) = self.end_s {
            families.push(Family::gauge(
                "thinktime_recorder_last_sample_timestamp_seconds",
                "seconds",
                "End of the last interval, since 1970 UTC",
                one(end_s),
            ));
        }
        families
    }
}

impl Totalled {
    fn new(schema: &TableSchema, subject: &'static str, most: usize) -> Totalled {
        let columns = || schema.columns.iter().enumerate();
        // A CPU that was idle throughout has no row: its idle time cannot be added up.
        let is_partial = |column: &Column| subject == "cpu" && column.role == Some(Role::IdleTime);
        let of = |column: &Column| matches!(column.kind, Kind::Counter | Kind::Gauge) && !is_partial(column);
        let amounts = columns().filter(|(_, column)| of(column)).map(|(at, column)| (at, column.clone()));
        let labels = columns()
            .filter(|(_, column)| column.kind == Kind::Label)
            .map(|(at, column)| (at, column.name.clone()));
        Totalled {
            subject,
            most,
            amounts: amounts.collect(),
            labels: labels.collect(),
            places: BTreeMap::new(),
            series: Vec::new(),
        }
    }

    /// Adds a row; false if it had to go to the series of all others.
    fn add(&mut self, row: &[Value], now_s: f64) -> bool {
        let labels: Vec<Option<Arc<str>>> = self.labels.iter().map(|(at, _)| label(row.get(*at))).collect();
        let (place, is_own) = self.place(labels, now_s);
        let series = &mut self.series[place];
        series.seen_s = now_s;
        for (index, (at, column)) in self.amounts.iter().enumerate() {
            let Some(value) = row.get(*at).and_then(number) else { continue };
            let held = &mut series.values[index];
            // The gauge of all others is the sum of what was read in the same interval.
            let adds = column.kind == Kind::Counter || (!is_own && series.read_s[index] == now_s);
            *held = Some(if adds { held.unwrap_or(0.0) + value } else { value });
            series.read_s[index] = now_s;
        }
        is_own
    }

    /// The series of `labels`, or that of all others.
    fn place(&mut self, labels: Vec<Option<Arc<str>>>, now_s: f64) -> (usize, bool) {
        if let Some(place) = self.places.get(&labels) {
            return (*place, true);
        }
        let others: Vec<Option<Arc<str>>> = self.labels.iter().map(|_| Some(OTHER.into())).collect();
        // The last one is kept for all others.
        let is_full = self.series.len() + 1 >= self.most.max(2);
        if !is_full || self.labels.is_empty() {
            return (self.begin(labels, now_s), true);
        }
        let idle = |series: &Series| series.labels != others && now_s - series.seen_s >= IDLE_S;
        let oldest = (0..self.series.len())
            .filter(|place| idle(&self.series[*place]))
            .min_by(|one, other| self.series[*one].seen_s.total_cmp(&self.series[*other].seen_s));
        if let Some(place) = oldest {
            self.places.remove(&self.series[place].labels);
            self.series[place] = self.empty(labels.clone(), now_s);
            self.places.insert(labels, place);
            return (place, true);
        }
        let place = match self.places.get(&others) {
            Some(place) => *place,
            None => self.begin(others, now_s),
        };
        (place, false)
    }

    fn begin(&mut self, labels: Vec<Option<Arc<str>>>, now_s: f64) -> usize {
        let place = self.series.len();
        self.series.push(self.empty(labels.clone(), now_s));
        self.places.insert(labels, place);
        place
    }

    fn empty(&self, labels: Vec<Option<Arc<str>>>, now_s: f64) -> Series {
        let columns = self.amounts.len();
        Series {
            labels,
            values: vec![None; columns],
            read_s: vec![f64::NEG_INFINITY; columns],
            seen_s: now_s,
        }
    }

    /// The metric of amount number `at`; of gauges, those that were read since `since_s`.
    fn family(&self, at: usize, since_s: f64) -> Family<'_> {
        let (_, column) = &self.amounts[at];
        let (name, unit) = metric_name(self.subject, column);
        let is_counter = column.kind == Kind::Counter;
        let samples = self.series.iter().filter_map(|series| {
            let value = series.values[at]?;
            if !is_counter && series.read_s[at] < since_s {
                return None;
            }
            let labels = self.labels.iter().zip(&series.labels);
            let labels = labels.filter_map(|((_, name), text)| Some((name.as_str(), text.as_deref()?)));
            Some(Sample { labels: labels.collect(), value })
        });
        let help = column.description.as_str();
        if is_counter {
            Family::counter(name, unit, help, samples.collect())
        } else {
            Family::gauge(name, unit, help, samples.collect())
        }
    }
}

/// Name of the metric of a column, without the `_total` of a counter, and its unit where Prometheus has a word for it.
fn metric_name(subject: &str, column: &Column) -> (String, &'static str) {
    let mut name = format!("thinktime_{subject}_");
    if let Some(stem) = column.name.strip_suffix("_s") {
        let _ = write!(name, "{stem}_seconds");
        return (name, "seconds");
    }
    name.push_str(&column.name);
    let unit = if column.name.ends_with("_bytes") { "bytes" } else { "" };
    (name, unit)
}

fn label(value: Option<&Value>) -> Option<Arc<str>> {
    match value? {
        Value::Text(text) => Some(text.clone()),
        Value::U64(number) => Some(number.to_string().into()),
        Value::I64(number) => Some(number.to_string().into()),
        Value::Bool(yes) => Some(if *yes { "true" } else { "false" }.into()),
        Value::Null | Value::F64(_) | Value::Time(_) => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::U64(number) => Some(*number as f64),
        Value::I64(number) => Some(*number as f64),
        Value::F64(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    }
}
