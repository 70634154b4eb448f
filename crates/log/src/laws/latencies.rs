//! The laws of traced durations: each lies in its bucket, and slices of CPU time are within the CPU time of the machine.

use std::path::{Path, PathBuf};

use arrow_array::Array;
use arrow_array::cast::AsArray;

use crate::laws::manifest::Machine;
use crate::laws::{LATENCIES_IN_BUCKETS, Report, Rows, SLICES_WITHIN_CPU_TIME, value};

/// Rounding of sums of doubles, of which each is that of whole nanoseconds.
const ROUNDING: f64 = 1e-9;
/// Slices are as long as tasks have a CPU, interrupts and the hypervisor's time included, and by another clock.
const SLICES_SHARE: f64 = 0.02;
/// For each CPU: a slice is counted when it ends, so that the first reading and the last differ by slices in progress.
const SLICES_S: f64 = 0.1;

/// What a CPU had to give to tasks, or to what interrupts them.
const GIVEN: [&str; 4] = ["cpu_exact_s", "steal_s", "irq_s", "softirq_s"];

/// Sums over the log.
#[derive(Default)]
pub(crate) struct Latencies {
    file: PathBuf,
    slices_s: f64,
    given_s: f64,
    has_given: bool,
    is_unknown: bool,
}

impl Latencies {
    /// Adds a batch of `samples`.
    pub fn samples(&mut self, rows: Rows<'_>) {
        let columns = GIVEN.map(|name| rows.floats(name));
        for index in 0..rows.len() {
            self.is_unknown |= value(columns[0], index).is_none();
            self.given_s += columns.iter().filter_map(|column| value(*column, index)).sum::<f64>();
            self.has_given = true;
        }
    }

    /// Checks a batch of `latencies`.
    pub fn rows(&mut self, rows: Rows<'_>, report: &mut Report) {
        self.file = rows.file.into();
        let quantities =
            rows.batch.column_by_name("quantity").and_then(|column| column.as_string_opt::<i32>());
        let (lower, upper) = (rows.floats("at_least_s"), rows.floats("below_s"));
        let (counts, sums) = (rows.counts("count"), rows.floats("total_s"));
        for index in 0..rows.len() {
            let (Some(count), Some(total_s)) = (value(counts, index), value(sums, index)) else { continue };
            let (lower_s, upper_s) = (value(lower, index), value(upper, index));
            let least_s = count as f64 * lower_s.unwrap_or(0.0);
            let most_s = count as f64 * upper_s.unwrap_or(f64::INFINITY);
            let is_bucket = lower_s.zip(upper_s).is_none_or(|(lower_s, upper_s)| lower_s < upper_s);
            // Without a duration there is no row, and no sum that an infinite bound could be multiplied into.
            let is_within =
                count > 0 && total_s >= least_s * (1.0 - ROUNDING) && total_s <= most_s * (1.0 + ROUNDING);
            if !is_bucket || !is_within {
                report.row(&LATENCIES_IN_BUCKETS, rows.file, rows.first + index, "total_s", || {
                    format!("{count} durations of {total_s} s together cannot be in their bucket")
                });
            }
            if quantities.is_some_and(|names| names.is_valid(index) && names.value(index) == "slice") {
                self.slices_s += total_s;
            }
        }
    }

    /// Compares the sums, after the last row.
    pub fn finish(&self, machine: &Machine, report: &mut Report) {
        if !self.has_given || self.is_unknown || !machine.is_recorded || !machine.is_complete {
            return;
        }
        let cpus = machine.cpus_max.unwrap_or(1.0);
        if self.slices_s > (1.0 + SLICES_SHARE) * self.given_s + SLICES_S * cpus {
            let message = format!("slices are {} s, and CPUs gave {} s", self.slices_s, self.given_s);
            let file: &Path = &self.file;
            report.push(&SLICES_WITHIN_CPU_TIME, file, String::new(), "total_s", message);
        }
    }
}
