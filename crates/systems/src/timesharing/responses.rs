//! The responses of a replication, and the rows of the log's samples.

use thinktime_engine::station::{AnyStation, Station};
use thinktime_engine::{Span, Tally, Time};
use thinktime_log::{Column, Kind, Role, Type, Value};

use super::config::Config;
use crate::kernel::Measured;

type Row = Measured<Config>;

/// Responses of some users together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// Interactions completed.
    pub completed: u64,
    /// Sum of their response times [ns].
    pub responses: u128,
}

/// What a run measures.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    /// Response times.
    pub all: Tally,
    /// The same by class.
    pub classes: Vec<Tally>,
    /// By group.
    pub groups: Vec<Group>,
    /// Sum of the parts of the responses that were neither CPU time nor delay [ns].
    pub waited: u128,
}

impl Measures {
    pub(super) fn new(config: &Config) -> Measures {
        Measures {
            all: Tally::default(),
            classes: config.classes.iter().map(|_| Tally::default()).collect(),
            groups: vec![Group::default(); config.groups],
            waited: 0,
        }
    }

    /// An interaction has ended.
    pub(super) fn record(&mut self, class: u32, group: usize, response: Span, served: Span) {
        self.all.record(response);
        self.classes[class as usize].record(response);
        let group = &mut self.groups[group];
        group.completed += 1;
        group.responses += u128::from(response.0);
        self.waited += u128::from((response - served).0);
    }
}

/// Totals of a run from which responses are computed.
pub(super) struct RunTotals<'a> {
    /// Measures of the run.
    pub measures: &'a Measures,
    /// The CPUs.
    pub processors: &'a AnyStation,
    /// Their number.
    pub cpus: u64,
    /// Time average of the interactions in progress.
    pub mean_present: f64,
    /// Time since statistics began [s].
    pub length_s: f64,
    /// End of the run.
    pub now: Time,
}

impl RunTotals<'_> {
    /// Response times by index: all, then each class.
    fn tally(&self, index: usize) -> &Tally {
        if index == 0 { &self.measures.all } else { &self.measures.classes[index - 1] }
    }

    /// Mean share of the CPUs at work.
    fn utilisation(&self) -> f64 {
        let overhead = self.processors.roster().mean_overhead(self.now, self.processors.overhead(self.now));
        (self.processors.roster().busy().mean(self.now) - overhead) / self.cpus as f64
    }
}

/// The responses, in the order in which they are shown: of all, of each class where there are several, of each group.
pub(super) fn responses(config: &Config) -> Vec<Row> {
    let mut all = vec![
        Row::new("throughput_per_s", "1/s", "Interactions completed per second", |run| {
            run.measures.all.count() as f64 / run.length_s
        }),
        Row::new("completed", "interaction", "Interactions completed", |run| run.measures.all.count() as f64),
        Row::new("mean_response_s", "s", "Mean of the response times", |run| run.measures.all.mean()),
        Row::new("sd_response_s", "s", "Standard deviation of the response times", |run| {
            run.measures.all.variance().sqrt()
        }),
    ];
    for (name, q) in [("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        let text = format!("Quantile {q} of the response times");
        all.push(Row::quantile(0, format!("{name}_response_s"), text, q, |run, index| run.tally(index)));
    }
    all.extend([
        Row::new(
            "mean_wait_s",
            "s",
            "Mean part of a response that is neither CPU time nor other delay",
            |run| run.measures.waited as f64 * 1e-9 / run.measures.all.count() as f64,
        ),
        Row::new("mean_present", "", "Mean number of interactions in progress", |run| run.mean_present),
        Row::new("cpu_utilisation", "", "Mean share of the CPUs at work, for users and background", |run| {
            run.utilisation()
        }),
    ]);
    if config.classes.len() > 1 {
        all.extend(
            config.classes.iter().enumerate().flat_map(|(index, class)| of_class(index + 1, &class.name)),
        );
    }
    all.extend((0..config.groups).flat_map(of_group));
    all
}

/// Responses of the class with tally `index`. Names are numbers, since those of classes may be any text.
fn of_class(index: usize, class: &str) -> [Row; 3] {
    let name = |what: &str| format!("class_{}_{what}", index - 1);
    [
        Row::at(
            index,
            name("completed"),
            "interaction",
            format!("Interactions of {class} completed"),
            |run, at| run.tally(at).count() as f64,
        ),
        Row::at(index, name("mean_response_s"), "s", format!("Mean response time of {class}"), |run, at| {
            run.tally(at).mean()
        }),
        Row::quantile(
            index,
            name("p90_response_s"),
            format!("Quantile 0.9 of the response times of {class}"),
            0.9,
            |run, at| run.tally(at),
        ),
    ]
}

/// Responses of group `index`.
fn of_group(index: usize) -> [Row; 2] {
    let completed = format!("Interactions of group {index} completed");
    let responses = format!("Sum of the response times of group {index}");
    [
        Row::at(index, format!("completed_by_group_{index}"), "interaction", completed, |run, at| {
            run.measures.groups[at].completed as f64
        }),
        Row::at(index, format!("responses_of_group_{index}_s"), "s", responses, |run, at| {
            run.measures.groups[at].responses as f64 * 1e-9
        }),
    ]
}

/// Columns of the log's samples.
pub(super) fn sample_columns() -> Vec<Column> {
    vec![
        Column::new("completions", Type::U64, "interaction", Kind::Counter, "Interactions completed")
            .role(Role::Throughput),
        Column::new("present", Type::U64, "", Kind::Gauge, "Interactions in progress").role(Role::Load),
        Column::new(
            "cpu_busy_s",
            Type::F64,
            "s",
            Kind::Counter,
            "Time in which CPUs were at work, summed over them",
        ),
        Column::new("runnable", Type::U64, "", Kind::Gauge, "Interactions and background work at the CPUs"),
    ]
}

/// State of the samples.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    /// Time of the last sample.
    since: Time,
    /// Interactions completed since then.
    pub completions: u64,
    /// Busy time at the last sample [ns], less what statistics have forgotten since.
    busy: i128,
}

impl Sampler {
    /// The sample that ends now: its start, length, and row.
    pub(super) fn take(
        &mut self,
        now: Time,
        processors: &AnyStation,
        present: u64,
    ) -> (Time, Span, Vec<Value>) {
        let (start, length) = (self.since, now.since(self.since));
        let busy = processors.roster().busy().area(now) as i128;
        let row = vec![
            Value::U64(self.completions),
            Value::U64(present),
            Value::F64((busy - self.busy) as f64 * 1e-9),
            Value::U64(processors.roster().balance().present()),
        ];
        *self = Sampler { since: now, completions: 0, busy };
        (start, length, row)
    }

    /// Keeps what statistics are about to forget.
    pub(super) fn restart(&mut self, now: Time, processors: &AnyStation) {
        // Below zero from here on, which is why it is signed.
        self.busy -= processors.roster().busy().area(now) as i128;
    }
}
