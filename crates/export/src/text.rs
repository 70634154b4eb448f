//! The text formats of metrics: OpenMetrics 1.0, and the older one of Prometheus (0.0.4).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Format of a text of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0, which names units.
    OpenMetrics,
    /// Text format 0.0.4, which node_exporter's textfile collector reads.
    Prometheus,
}

impl Format {
    /// The format that a scrape asks for, by its header `Accept`.
    pub(crate) fn accepted(accept: &str) -> Format {
        if accept.contains("application/openmetrics-text") { Format::OpenMetrics } else { Format::Prometheus }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// One value of a metric.
pub(crate) struct Sample<'a> {
    pub(crate) labels: Vec<(&'a str, &'a str)>,
    pub(crate) value: f64,
}

/// A metric with all its values.
pub(crate) struct Family<'a> {
    name: Cow<'a, str>,
    unit: &'static str,
    help: &'a str,
    is_counter: bool,
    samples: Vec<Sample<'a>>,
}

impl<'a> Family<'a> {
    pub(crate) fn counter(
        name: impl Into<Cow<'a, str>>,
        unit: &'static str,
        help: &'a str,
        samples: Vec<Sample<'a>>,
    ) -> Family<'a> {
        Family { name: name.into(), unit, help, is_counter: true, samples }
    }

    pub(crate) fn gauge(
        name: impl Into<Cow<'a, str>>,
        unit: &'static str,
        help: &'a str,
        samples: Vec<Sample<'a>>,
    ) -> Family<'a> {
        Family { name: name.into(), unit, help, is_counter: false, samples }
    }
}

/// Appends a metric; nothing where it has no value.
pub(crate) fn write_family(text: &mut String, family: &Family<'_>, format: Format) {
    if family.samples.is_empty() {
        return;
    }
    let sampled: Cow<'_, str> =
        if family.is_counter { format!("{}_total", family.name).into() } else { (*family.name).into() };
    let kind = if family.is_counter { "counter" } else { "gauge" };
    // OpenMetrics describes the counter by its name without `_total`, the older format by that of its values.
    let described = if format == Format::OpenMetrics { &*family.name } else { &*sampled };
    text.push_str("# HELP ");
    text.push_str(described);
    text.push(' ');
    escape(text, family.help, format == Format::OpenMetrics);
    // Writing to a string does not fail.
    let _ = write!(text, "\n# TYPE {described} {kind}\n");
    if format == Format::OpenMetrics && !family.unit.is_empty() {
        let _ = writeln!(text, "# UNIT {described} {}", family.unit);
    }
    for sample in &family.samples {
        text.push_str(&sampled);
        for (at, (name, value)) in sample.labels.iter().enumerate() {
            text.push(if at == 0 { '{' } else { ',' });
            text.push_str(name);
            text.push_str("=\"");
            escape(text, value, true);
            text.push('"');
        }
        if !sample.labels.is_empty() {
            text.push('}');
        }
        let _ = writeln!(text, " {}", sample.value);
    }
}

/// Appends `value` with backslashes and ends of lines escaped, and quotes where they end a text.
fn escape(text: &mut String, value: &str, quotes: bool) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            other => text.push(other),
        }
    }
}
