//! Rows of the table `users`.

use thinktime_log::{Row, Value, vocabulary};

use crate::machine;
use crate::processes::census::{Account, Census};
use crate::rows::Interval;
use crate::sheet::Sheet;

/// Makes the rows of the users who did anything.
#[derive(Debug)]
pub struct UserSheet {
    pub sheet: Sheet,
    tick_s: f64,
    /// Whether the source measures waiting for a CPU.
    has_wait: bool,
}

impl UserSheet {
    pub fn new(has_wait: bool) -> UserSheet {
        UserSheet {
            sheet: Sheet::new(vocabulary::users()),
            tick_s: 1.0 / machine::clock_ticks() as f64,
            has_wait,
        }
    }

    pub fn rows(&self, interval: Interval, census: &Census) -> Vec<Row> {
        let did_something = census.accounts().iter().filter(|(_, account)| !account.usage.is_zero());
        did_something.map(|(key, account)| self.row(interval, &key.text(), account)).collect()
    }

    fn row(&self, interval: Interval, user: &str, account: &Account) -> Row {
        let usage = &account.usage;
        let mut row = self.sheet.row();
        row.set("start", Value::Time(interval.start_us));
        row.set("user", user);
        row.set("user_s", usage.user_ticks as f64 * self.tick_s);
        row.set("system_s", usage.system_ticks as f64 * self.tick_s);
        row.set("cpu_exact_s", usage.exact_ns as f64 * 1e-9);
        row.set("run_delay_s", self.has_wait.then_some(usage.wait_ns as f64 * 1e-9));
        row.set("page_faults_minor", usage.faults_minor);
        row.set("page_faults_major", usage.faults_major);
        row.set("read_bytes", account.sees_io.then_some(usage.read_bytes));
        row.set("write_bytes", account.sees_io.then_some(usage.write_bytes));
        row.set("processes", account.processes);
        row.set("memory_bytes", account.resident_pages.saturating_mul(machine::page_bytes()));
        row.finish()
    }
}
