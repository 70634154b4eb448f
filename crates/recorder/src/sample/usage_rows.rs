//! Rows of the users and of their commands, from the census.

use std::collections::BTreeMap;

use thinktime_log::{Row, Value, vocabulary};

use crate::kernel::host;
use crate::processes::census::{Account, Census};
use crate::processes::commands::{Command, OTHER};
use crate::processes::usage::Usage;
use crate::sample::rows::Interval;
use crate::sample::sheet::{Draft, Sheet};

/// Waiting that the source of processes measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// For a CPU.
    pub cpu: bool,
    /// For a disk.
    pub io: bool,
    /// For a page from swap.
    pub swap: bool,
}

/// Makes the rows of the users with any usage, and of their commands.
#[derive(Debug)]
pub struct UsageSheets {
    /// Sheet of table `users`.
    pub users: Sheet,
    /// Sheet of table `commands`.
    pub commands: Sheet,
    waits: Waits,
    /// Most rows of commands in an interval, without those of the other commands of each user.
    commands_max: usize,
}

impl UsageSheets {
    /// Sheets for a source of processes that measures `waits`.
    pub fn new(waits: Waits, commands_max: usize) -> UsageSheets {
        UsageSheets {
            users: Sheet::new(vocabulary::users()),
            commands: Sheet::new(vocabulary::commands()),
            waits,
            commands_max,
        }
    }

    /// A row for each user with any usage in the interval.
    pub fn user_rows(&self, interval: Interval, census: &Census) -> Vec<Row> {
        active(census).map(|(user, account)| self.user_row(interval, &user, account)).collect()
    }

    /// The row of one of them.
    pub fn user_row(&self, interval: Interval, user: &str, account: &Account) -> Row {
        let mut row = self.users.row();
        row.set("start", Value::Time(interval.start_us));
        row.set("user", user);
        self.amounts(&mut row, &account.usage, account.sees_io);
        row.set("inherited_s", account.inherited_ns as f64 * 1e-9);
        row.set("processes", account.processes);
        row.set("memory_bytes", account.resident_pages.saturating_mul(host::page_bytes()));
        row.finish()
    }

    /// A row for each of the largest commands of the interval, and one for the others of each user.
    pub fn command_rows(&self, interval: Interval, census: &Census) -> Vec<Row> {
        let users: Vec<_> = active(census).collect();
        let mut others: BTreeMap<usize, Command> = BTreeMap::new();
        let mut all = Vec::new();
        for (index, (_, account)) in users.iter().enumerate() {
            let (named, joined) = account.commands.active();
            if !joined.is_idle() {
                others.entry(index).or_default().add(joined);
            }
            all.extend(named.map(|(name, command)| (index, &**name, command)));
        }
        if all.len() > self.commands_max {
            let sums = sums(census);
            all.sort_by(|(_, _, one), (_, _, other)| {
                weight(&other.usage, &sums).total_cmp(&weight(&one.usage, &sums))
            });
            for (index, _, command) in all.drain(self.commands_max..) {
                others.entry(index).or_default().add(command);
            }
            all.sort_by_key(|(index, name, _)| (*index, *name));
        }
        let all = all.iter().map(|(index, name, command)| (*index, *name, *command));
        let others = others.iter().map(|(index, command)| (*index, OTHER, command));
        all.chain(others)
            .map(|(index, name, command)| {
                let (user, account) = &users[index];
                self.command_row(interval, user, account, name, command)
            })
            .collect()
    }

    fn command_row(
        &self,
        interval: Interval,
        user: &str,
        account: &Account,
        name: &str,
        command: &Command,
    ) -> Row {
        let mut row = self.commands.row();
        row.set("start", Value::Time(interval.start_us));
        row.set("user", user);
        row.set("command", name);
        self.amounts(&mut row, &command.usage, account.sees_io);
        row.set("processes", command.processes);
        row.set("started", command.started);
        row.set("ended", command.ended);
        row.set("lifetime_s", command.lifetime_ns as f64 * 1e-9);
        row.set("memory_bytes", command.resident_pages.saturating_mul(host::page_bytes()));
        row.finish()
    }

    /// Sets the amounts that both tables have.
    fn amounts(&self, row: &mut Draft<'_>, usage: &Usage, sees_io: bool) {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        row.set("user_s", seconds(usage.user_ns));
        row.set("system_s", seconds(usage.system_ns));
        row.set("cpu_exact_s", seconds(usage.exact_ns));
        row.set("run_delay_s", self.waits.cpu.then_some(seconds(usage.wait_ns)));
        row.set("io_delay_s", self.waits.io.then_some(seconds(usage.io_wait_ns)));
        row.set("swap_delay_s", self.waits.swap.then_some(seconds(usage.swap_wait_ns)));
        row.set("page_faults_minor", usage.faults_minor);
        row.set("page_faults_major", usage.faults_major);
        // Null where the recorder is not permitted to see it: 0 would mean that nothing was read.
        row.set("read_bytes", sees_io.then_some(usage.read_bytes));
        row.set("write_bytes", sees_io.then_some(usage.write_bytes));
    }
}

/// Users without usage have no row; a log of a large machine would be mostly zeros.
fn active(census: &Census) -> impl Iterator<Item = (String, &Account)> {
    let active = census.accounts().iter().filter(|(_, account)| !account.usage.is_zero());
    active.map(|(key, account)| (key.text(), account))
}

/// Everything that the users used.
fn sums(census: &Census) -> Usage {
    census.accounts().values().fold(Usage::default(), |mut sum, account| {
        sum += account.usage;
        sum
    })
}

/// Largest share that `usage` has of CPU time, of waiting, or of I/O.
fn weight(usage: &Usage, all: &Usage) -> f64 {
    let waits =
        |usage: &Usage| usage.wait_ns.saturating_add(usage.io_wait_ns).saturating_add(usage.swap_wait_ns);
    let bytes = |usage: &Usage| usage.read_bytes.saturating_add(usage.write_bytes);
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    share(usage.exact_ns, all.exact_ns)
        .max(share(waits(usage), waits(all)))
        .max(share(bytes(usage), bytes(all)))
}
