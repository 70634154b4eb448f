//! One interaction as the driver observed it, and as a row of the log.

use std::sync::Arc;

use rustix::time::ClockId;
use thinktime_log::{Column, Kind, Row, TableSchema, Type, Value, vocabulary};

use crate::accounts::Used;
use crate::nursery::message::Service;
use crate::user::compute::nanoseconds;
use crate::user::waits::Waits;

/// One interaction, from the input's due time to the prompt that ends it.
///
/// Instants are CLOCK_MONOTONIC [ns]: setting the wall clock must not change a response time.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Number of the user, from 1.
    pub user: u32,
    /// Number of this interaction among those of the user, from 0.
    pub index: u64,
    /// Name of the class in the workload.
    pub class: Arc<str>,
    /// Users playing when the input was due.
    pub population: u32,
    /// Think time before the input, typing included; in an open-loop play, time since the user's previous input was
    /// due [s].
    pub think_s: f64,
    /// True if the user waits for the reply.
    pub waited: bool,
    /// Instant at which the input was due.
    pub arrival_ns: u64,
    /// Instant at which the driver wrote the input to the terminal; `None` if the play ended before.
    pub sent_ns: Option<u64>,
    /// Instant at which the driver read the first output that is not the echo.
    pub first_output_ns: Option<u64>,
    /// Instant at which the driver read the prompt; `None` for an unfinished interaction.
    pub completion_ns: Option<u64>,
    /// Bytes that the driver read before it, echo excluded.
    pub output_bytes: u64,
    /// Report of the user's process; `None` if it never arrived.
    pub(crate) service: Option<Service>,
    /// What the programs at the terminal took; `None` where it was not read from outside.
    pub(crate) used: Option<Used>,
    /// Wall clock less monotonic clock when the input was sent [µs].
    pub wall_offset_us: i64,
}

/// Counts of a user's process in one interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Minor page faults, children included.
    pub page_faults_minor: u64,
    /// Blocks read from the scratch file.
    pub reads: u64,
    /// Blocks written to the scratch file.
    pub writes: u64,
    /// Bytes written to the terminal, prompt included.
    pub output_bytes: u64,
    /// Children forked.
    pub forks: u64,
}

/// Wall clock less monotonic clock [µs].
///
/// Read for each interaction, so that dates in the log follow a wall clock that is set while durations within
/// an interaction do not change.
pub(crate) fn wall_offset_us() -> i64 {
    let wall_us = nanoseconds(ClockId::Realtime) / 1000;
    wall_us as i64 - (nanoseconds(ClockId::Monotonic) / 1000) as i64
}

impl Interaction {
    /// Time from due input to prompt [s]; `None` for an unfinished interaction.
    pub fn response_s(&self) -> Option<f64> {
        // Saturating: an input is never answered before it is due, and a defect must not become 584 years.
        self.completion_ns.map(|end_ns| end_ns.saturating_sub(self.arrival_ns) as f64 * 1e-9)
    }

    /// Time from due input to the first slice of service [s].
    pub fn reaction_s(&self) -> Option<f64> {
        self.service.as_ref().map(|service| service.began_ns.saturating_sub(self.arrival_ns) as f64 * 1e-9)
    }

    /// Exact CPU time received [s].
    pub fn service_s(&self) -> Option<f64> {
        let reported = self.service.as_ref().map(|service| service.usage.cpu_ns());
        reported.or(self.used.map(|used| used.cpu_ns)).map(|ns| ns as f64 * 1e-9)
    }

    /// Counts of the user's process; `None` if its report never arrived.
    pub fn counts(&self) -> Option<Counts> {
        self.service.as_ref().map(|service| Counts {
            page_faults_minor: service.usage.page_faults_minor,
            reads: service.reads,
            writes: service.writes,
            output_bytes: service.output_bytes,
            forks: service.forks,
        })
    }

    /// Waits for a CPU and for block I/O, as far as they are parts of the response.
    fn waits(&self) -> Waits {
        let Some(service) = &self.service else {
            return self.used.map_or_else(Waits::default, |used| used.waits);
        };
        let Some(end_ns) = self.completion_ns else { return service.waits };
        // A parent that waits for a CPU while its child has one waits beside it.
        let response_ns = end_ns.saturating_sub(self.sent_ns.unwrap_or(self.arrival_ns));
        service.waits.within(service.usage.cpu_ns(), response_ns.saturating_add(SLACK_NS))
    }

    /// The interaction as a row of the log.
    pub(crate) fn row(&self, schema: &TableSchema) -> Row {
        // By name, not by position: the vocabulary may gain columns that this source does not fill.
        let service = self.service.as_ref();
        let seconds = |ns: u64| Value::F64(ns as f64 * 1e-9);
        let waited = |ns: Option<i64>| ns.map_or(Value::Null, |ns| seconds(ns.max(0) as u64));
        let instant = |ns: Option<u64>| {
            ns.map_or(Value::Null, |ns| Value::Time((ns / 1000) as i64 + self.wall_offset_us))
        };
        let reported = |value: &dyn Fn(&Service) -> Value| service.map_or(Value::Null, value);
        let waits = self.waits();
        // By the user's process, or read from outside.
        let either = |by_process: &dyn Fn(&Service) -> Value, from_outside: &dyn Fn(&Used) -> Value| {
            service.map(by_process).or(self.used.as_ref().map(from_outside)).unwrap_or(Value::Null)
        };
        let block_bytes = |way: usize| {
            let bytes = self.used.and_then(|used| used.block_bytes);
            bytes.map_or(Value::Null, |bytes| bytes[way].into())
        };
        schema
            .columns
            .iter()
            .map(|column| match column.name.as_str() {
                "user" => user_label(self.user).into(),
                "class" => Value::Text(self.class.clone()),
                "population" => u64::from(self.population).into(),
                "think_s" => self.think_s.into(),
                "waited" => Value::Bool(self.waited),
                "due" => instant(Some(self.arrival_ns)),
                "sent" => instant(self.sent_ns),
                "first_service" => instant(service.map(|service| service.began_ns)),
                "first_output" => instant(self.first_output_ns),
                "completion" => instant(self.completion_ns),
                "service_s" => {
                    either(&|service| seconds(service.usage.cpu_ns()), &|used| seconds(used.cpu_ns))
                }
                "user_s" => either(&|service| seconds(service.split_ns().0), &|used| seconds(used.user_ns)),
                "system_s" => {
                    either(&|service| seconds(service.split_ns().1), &|used| seconds(used.system_ns))
                }
                "page_faults_minor" => either(&|service| service.usage.page_faults_minor.into(), &|used| {
                    used.page_faults_minor.into()
                }),
                "page_faults_major" => either(&|service| service.usage.page_faults_major.into(), &|used| {
                    used.page_faults_major.into()
                }),
                READ_BYTES => block_bytes(0),
                WRITE_BYTES => block_bytes(1),
                "reads" => reported(&|service| service.reads.into()),
                "writes" => reported(&|service| service.writes.into()),
                // By the process that wrote them, where it says so; what was read has a carriage return for each line too.
                "output_bytes" => service.map_or(self.output_bytes, |service| service.output_bytes).into(),
                "forks" => reported(&|service| service.forks.into()),
                "run_delay_s" => waited(waits.run_delay_ns),
                "io_delay_s" => waited(waits.io_delay_ns),
                _ => Value::Null,
            })
            .collect()
    }
}

/// Name of a user in the log.
pub(crate) fn user_label(user: u32) -> String {
    format!("user:{user}")
}

/// Time by which the kernel may count CPU time and waits late: a tick of 10 ms [ns].
const SLACK_NS: u64 = 10_000_000;
const READ_BYTES: &str = "read_bytes";
const WRITE_BYTES: &str = "write_bytes";

/// Columns of table `interactions`: this source fills all of the vocabulary, though not for every kind of work. Where
/// terminals are measured from outside, two more: the kernel counts bytes of block devices, not reads and writes of files.
pub(crate) fn schema(is_measured: bool) -> TableSchema {
    let mut schema = vocabulary::interactions();
    if is_measured {
        schema.columns.extend([
            Column::new(READ_BYTES, Type::U64, "byte", Kind::Counter, "Bytes read from block devices"),
            Column::new(WRITE_BYTES, Type::U64, "byte", Kind::Counter, "Bytes written to block devices"),
        ]);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::usage::Usage;

    fn finished() -> Interaction {
        let usage = Usage {
            own_ns: 4_000_000,
            own_user_ns: 3_500_000,
            own_system_ns: 500_000,
            children_user_ns: 900_000,
            children_system_ns: 100_000,
            ..Usage::default()
        };
        Interaction {
            user: 3,
            index: 0,
            class: "edit".into(),
            population: 7,
            think_s: 1.5,
            waited: true,
            arrival_ns: 1_000_000_000,
            sent_ns: Some(1_000_100_000),
            first_output_ns: Some(1_010_000_000),
            completion_ns: Some(1_020_000_000),
            output_bytes: 30,
            service: Some(Service {
                user: 3,
                began_ns: 1_000_200_000,
                usage,
                waits: Waits { run_delay_ns: Some(7_000_000), io_delay_ns: Some(0) },
                ..Service::default()
            }),
            used: None,
            wall_offset_us: 1_700_000_000_000_000,
        }
    }

    #[test]
    fn a_finished_interaction_fills_every_column() {
        let schema = schema(false);
        let row = finished().row(&schema);
        for (column, value) in schema.columns.iter().zip(&row) {
            assert_ne!(*value, Value::Null, "{}", column.name);
        }
        let value = |name| row[schema.position(name).expect("a column")].clone();
        assert_eq!(value("due"), Value::Time(1_700_000_001_000_000));
        assert_eq!(value("completion"), Value::Time(1_700_000_001_020_000));
        assert_eq!(value("service_s"), Value::F64(0.005));
        assert_eq!(value("run_delay_s"), Value::F64(0.007));
        assert_eq!(value("user"), Value::Text("user:3".into()));
    }

    #[test]
    fn waits_longer_than_a_response_divide_none() {
        let schema = schema(false);
        let delay = |forks, run_delay_ns| {
            let mut interaction = finished();
            let service = interaction.service.as_mut().expect("finished");
            service.forks = forks;
            service.waits.run_delay_ns = Some(run_delay_ns);
            interaction.row(&schema)[schema.position("run_delay_s").expect("a column")].clone()
        };
        // 5 ms of CPU time in a response of 19.9 ms.
        assert_eq!(delay(1, 14_000_000), Value::F64(14e6 * 1e-9));
        assert_eq!(delay(1, 26_000_000), Value::Null);
        // Of a single process, a wait that cannot have been: kernels tell of such now and then.
        assert_eq!(delay(0, 14_000_000), Value::F64(14e6 * 1e-9));
        assert_eq!(delay(0, 26_000_000), Value::Null);
    }

    #[test]
    fn what_was_read_from_outside_fills_the_columns_that_it_can() {
        let used = Used {
            cpu_ns: 5_000_000,
            user_ns: 4_000_000,
            system_ns: 1_000_000,
            page_faults_minor: 7,
            block_bytes: Some([4096, 0]),
            waits: Waits { run_delay_ns: Some(2_000_000), io_delay_ns: None },
            ..Used::default()
        };
        let interaction = Interaction { service: None, used: Some(used), ..finished() };
        let schema = schema(true);
        let row = interaction.row(&schema);
        let value = |name| row[schema.position(name).expect("a column")].clone();
        assert_eq!((interaction.service_s(), value("service_s")), (Some(0.005), Value::F64(0.005)));
        assert_eq!((value("user_s"), value("system_s")), (Value::F64(0.004), Value::F64(0.001)));
        assert_eq!((value("page_faults_minor"), value("page_faults_major")), (7u64.into(), 0u64.into()));
        assert_eq!((value("read_bytes"), value("write_bytes")), (4096u64.into(), 0u64.into()));
        assert_eq!((value("run_delay_s"), value("io_delay_s")), (Value::F64(0.002), Value::Null));
        assert_eq!((value("reads"), value("first_service")), (Value::Null, Value::Null));
    }

    #[test]
    fn children_that_only_end_are_the_kernels() {
        let mut service = finished().service.expect("finished");
        assert_eq!(service.split_ns(), (4_400_000, 600_000));
        service.children_are_kernel = true;
        assert_eq!(service.split_ns(), (3_500_000, 1_500_000));
        assert_eq!(service.usage.cpu_ns(), 5_000_000);
    }

    #[test]
    fn an_unfinished_one_has_neither_completion_nor_service() {
        let schema = schema(false);
        let unfinished =
            Interaction { completion_ns: None, first_output_ns: None, service: None, ..finished() };
        assert_eq!(unfinished.response_s(), None);
        let row = unfinished.row(&schema);
        for name in ["completion", "first_service", "first_output", "service_s", "reads", "page_faults_minor"]
        {
            assert_eq!(row[schema.position(name).expect("a column")], Value::Null, "{name}");
        }
    }
}
