//! Totals against sums made by hand, and their bounds: whatever comes, nothing is lost and the text does not grow.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use thinktime_export::{Format, Totals};
use thinktime_log::{Row, TableSchema, Value, vocabulary};

/// Most series of a metric of commands.
const COMMANDS_MAX: usize = 200;

/// A row of `schema` with these values, and null elsewhere.
fn row(schema: &TableSchema, values: &[(&str, Value)]) -> Row {
    let mut row = vec![Value::Null; schema.columns.len()];
    for (name, value) in values {
        row[schema.position(name).unwrap()] = value.clone();
    }
    row
}

fn text(text: &str) -> Value {
    Value::Text(Arc::from(text))
}

fn command(user: &str, name: &str, used_s: f64, processes: u64) -> Row {
    let schema = vocabulary::commands();
    row(
        &schema,
        &[
            ("user", text(user)),
            ("command", text(name)),
            ("cpu_exact_s", Value::F64(used_s)),
            ("processes", Value::U64(processes)),
        ],
    )
}

/// Values of metric `name` by their labels as they stand in the text.
fn values(rendered: &str, name: &str) -> BTreeMap<String, f64> {
    let of_metric = |line: &str| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = rest.rsplit_once(' ')?;
        (labels.is_empty() || labels.starts_with('{')).then(|| (labels.to_owned(), value.parse().unwrap()))
    };
    rendered.lines().filter_map(of_metric).collect()
}

const CPU: &str = "thinktime_command_cpu_exact_seconds_total";

#[test]
fn an_empty_recording_says_so_and_nothing_else() {
    let totals = Totals::new(&vocabulary::tables(), 30.0);
    let rendered = totals.render(Format::OpenMetrics);
    assert!(rendered.ends_with("# EOF\n"));
    assert!(!rendered.contains("thinktime_machine"));
    assert_eq!(values(&rendered, "thinktime_recorder_samples_total")[""], 0.0);
}

#[test]
fn counters_add_up_and_gauges_are_the_last() {
    let schema = vocabulary::commands();
    let mut totals = Totals::new([&schema], 30.0);
    for (used_s, processes) in [(0.25, 3), (0.5, 2)] {
        totals.add(0, 1.0, [("commands", &[command("u", "c", used_s, processes)][..])]);
    }
    let rendered = totals.render(Format::Prometheus);
    assert_eq!(values(&rendered, CPU)["{user=\"u\",command=\"c\"}"], 0.75);
    assert_eq!(values(&rendered, "thinktime_command_processes")["{user=\"u\",command=\"c\"}"], 2.0);
    // What was never measured is absent, and not zero.
    assert!(values(&rendered, "thinktime_command_io_delay_seconds_total").is_empty());
}

#[test]
fn a_gauge_that_is_no_longer_read_goes() {
    let schema = vocabulary::commands();
    let mut totals = Totals::new([&schema], 30.0);
    totals.add(0, 1.0, [("commands", &[command("u", "c", 0.1, 3)][..])]);
    totals.add(0, 119.0, []);
    assert_eq!(values(&totals.render(Format::Prometheus), "thinktime_command_processes").len(), 1);
    totals.add(0, 2.0, []);
    let rendered = totals.render(Format::Prometheus);
    assert!(values(&rendered, "thinktime_command_processes").is_empty());
    assert_eq!(values(&rendered, CPU).len(), 1);
}

#[test]
fn a_gauge_that_is_read_rarely_stays_until_it_is_read_again() {
    let schema = vocabulary::commands();
    let mut totals = Totals::new([&schema], 600.0);
    totals.add(0, 1.0, [("commands", &[command("u", "c", 0.1, 3)][..])]);
    totals.add(0, 700.0, []);
    assert_eq!(values(&totals.render(Format::Prometheus), "thinktime_command_processes").len(), 1);
}

#[test]
fn a_series_of_long_ago_makes_room_and_a_recent_one_does_not() {
    let schema = vocabulary::commands();
    let mut totals = Totals::new([&schema], 30.0);
    let rows: Vec<Row> = (0..COMMANDS_MAX - 1).map(|at| command("u", &format!("c{at}"), 1.0, 1)).collect();
    totals.add(0, 1.0, [("commands", &rows[..])]);
    totals.add(0, 1.0, [("commands", &[command("u", "new", 1.0, 1)][..])]);
    let rendered = totals.render(Format::Prometheus);
    assert_eq!(values(&rendered, CPU)["{user=\"(other)\",command=\"(other)\",name=\"(other)\"}"], 1.0);
    assert_eq!(values(&rendered, "thinktime_recorder_merged_rows_total")[""], 1.0);
    // Ten minutes later all but one are idle.
    totals.add(0, 700.0, [("commands", &rows[..1])]);
    totals.add(0, 1.0, [("commands", &[command("u", "new", 2.0, 1)][..])]);
    let rendered = totals.render(Format::Prometheus);
    let found = values(&rendered, CPU);
    assert_eq!(found["{user=\"u\",command=\"new\"}"], 2.0);
    assert_eq!(found["{user=\"u\",command=\"c0\"}"], 2.0);
    assert!(!found.contains_key("{user=\"u\",command=\"c1\"}"));
    assert_eq!(found.len(), COMMANDS_MAX);
}

#[test]
fn names_of_strangers_end_neither_a_label_nor_a_line() {
    let schema = vocabulary::commands();
    let mut totals = Totals::new([&schema], 30.0);
    totals.add(0, 1.0, [("commands", &[command("u", "a\"} 1\nb\\", 1.0, 1)][..])]);
    for format in [Format::OpenMetrics, Format::Prometheus] {
        let rendered = totals.render(format);
        assert_eq!(values(&rendered, CPU)["{user=\"u\",command=\"a\\\"} 1\\nb\\\\\"}"], 1.0);
    }
}

#[test]
fn no_two_columns_have_one_name() {
    let tables = vocabulary::tables();
    let mut totals = Totals::new(&tables, 30.0);
    for schema in &tables {
        let full: Row = schema.columns.iter().map(|_| Value::U64(1)).collect();
        totals.add(0, 1.0, [(schema.name.as_str(), &[full][..])]);
    }
    let rendered = totals.render(Format::OpenMetrics);
    let mut kinds: Vec<&str> = rendered.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let all = kinds.len();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), all);
    // Who sits where is not exported.
    assert!(!rendered.contains("presence"));
}

proptest! {
    /// The sum over all series is the sum of all rows, however many commands there are, and the series are bounded.
    #[test]
    fn nothing_is_lost_among_many_commands(
        rows in proptest::collection::vec((0_u32..400, 0_u32..1000), 1..600),
    ) {
        let schema = vocabulary::commands();
        let mut totals = Totals::new([&schema], 30.0);
        let mut sum = 0.0;
        for (name, quarter_s) in rows {
            // Exact in binary, so that sums agree in any order.
            let used_s = f64::from(quarter_s) * 0.25;
            sum += used_s;
            totals.add(0, 1.0, [("commands", &[command("u", &format!("c{name}"), used_s, 1)][..])]);
        }
        let found = values(&totals.render(Format::Prometheus), CPU);
        prop_assert!(found.len() <= COMMANDS_MAX);
        prop_assert_eq!(found.values().sum::<f64>(), sum);
    }
}
