//! The law of commands: what a user's commands used in an interval adds up to what the user used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, Float64Array, PrimitiveArray};

use crate::laws::{COMMANDS_ADD_UP, Report, Rows, value};

/// Amounts that both tables have.
const AMOUNTS: [&str; 8] = [
    "user_s",
    "system_s",
    "cpu_exact_s",
    "run_delay_s",
    "page_faults_minor",
    "page_faults_major",
    "read_bytes",
    "write_bytes",
];
/// How many of them are CPU times; they come first.
const CPU_TIMES: usize = 3;
/// Rows of users of a part that are compared; a hostile log must not fill memory.
const USERS_MAX: usize = 1 << 20;
/// Rounding of sums of doubles.
const ROUNDING: f64 = 1e-9;
const ROUNDING_S: f64 = 1e-6;

/// What a user used in an interval by each of the two tables, null where one of the rows has null.
struct Pair {
    /// Row of the user.
    row: usize,
    of_user: [Option<f64>; AMOUNTS.len()],
    of_commands: [Option<f64>; AMOUNTS.len()],
}

/// A column of counts or of seconds.
struct Amount<'a> {
    counts: Option<&'a PrimitiveArray<UInt64Type>>,
    seconds: Option<&'a Float64Array>,
}

impl Amount<'_> {
    fn at(&self, index: usize) -> Option<f64> {
        value(self.counts, index).map(|count| count as f64).or_else(|| value(self.seconds, index))
    }
}

/// Sums over the rows of the last part of `samples`.
#[derive(Default)]
pub(crate) struct Commands {
    file: PathBuf,
    pairs: BTreeMap<(i64, Box<str>), Pair>,
    has_commands: bool,
}

impl Commands {
    /// Adds a batch of `users` or of `commands`.
    pub fn rows(&mut self, rows: Rows<'_>) {
        let users = rows.batch.column_by_name("user").and_then(|users| users.as_string_opt::<i32>());
        let (Some(starts), Some(users)) = (rows.times("start"), users) else { return };
        let amounts = AMOUNTS.map(|name| Amount { counts: rows.counts(name), seconds: rows.floats(name) });
        let is_users = rows.schema.name == "users";
        self.has_commands |= !is_users && rows.len() > 0;
        if is_users {
            self.file = rows.file.into();
        }
        for index in (0..rows.len()).filter(|index| users.is_valid(*index)) {
            let Some(start) = value(Some(starts), index) else { continue };
            let key = (start, Box::from(users.value(index)));
            if self.pairs.len() >= USERS_MAX && !self.pairs.contains_key(&key) {
                continue;
            }
            let zero = [Some(0.0); AMOUNTS.len()];
            let pair = self.pairs.entry(key).or_insert(Pair { row: 0, of_user: zero, of_commands: zero });
            if is_users {
                pair.row = rows.first + index;
                add(&mut pair.of_user, &amounts, index);
            } else {
                add(&mut pair.of_commands, &amounts, index);
            }
        }
    }

    /// Compares the rows of the last part, and forgets them. `by_group`: the CPU times of users are those of control
    /// groups, which know of more than their processes.
    pub fn close(&mut self, is_comparable: bool, by_group: bool, report: &mut Report) {
        let pairs = std::mem::take(&mut self.pairs);
        // Without any row of commands in this part, they were not recorded.
        if !std::mem::take(&mut self.has_commands) || !is_comparable {
            return;
        }
        for ((_, user), pair) in &pairs {
            compare(user, pair, if by_group { CPU_TIMES } else { 0 }, &self.file, report);
        }
    }
}

fn add(sums: &mut [Option<f64>; AMOUNTS.len()], amounts: &[Amount<'_>; AMOUNTS.len()], index: usize) {
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum = sum.zip(amount.at(index)).map(|(sum, amount)| sum + amount);
    }
}

/// Compares the amounts from place `first`.
fn compare(user: &str, pair: &Pair, first: usize, file: &Path, report: &mut Report) {
    for ((column, of_user), of_commands) in AMOUNTS.iter().zip(pair.of_user).zip(pair.of_commands).skip(first)
    {
        let Some((of_user, of_commands)) = of_user.zip(of_commands) else { continue };
        if (of_user - of_commands).abs() > ROUNDING * of_user.abs() + ROUNDING_S {
            let message = || format!("{of_user}; the commands of {user} in this interval have {of_commands}");
            report.row(&COMMANDS_ADD_UP, file, pair.row, column, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AMOUNTS, CPU_TIMES, Commands, Pair};
    use crate::laws::Report;

    /// Defects of one user whose commands have `of_commands` of every amount where the user has 1.
    fn broken(of_commands: [f64; AMOUNTS.len()], by_group: bool) -> Vec<String> {
        let mut commands = Commands { has_commands: true, ..Commands::default() };
        let pair = Pair { row: 0, of_user: [Some(1.0); AMOUNTS.len()], of_commands: of_commands.map(Some) };
        commands.pairs.insert((0, "/a".into()), pair);
        let mut report = Report::default();
        commands.close(true, by_group, &mut report);
        report.defects.into_iter().map(|defect| defect.item).collect()
    }

    #[test]
    fn groups_may_have_cpu_time_that_no_command_had_and_nothing_else() {
        let mut times = [1.0; AMOUNTS.len()];
        times[..CPU_TIMES].fill(0.5);
        assert_eq!(broken(times, false), AMOUNTS[..CPU_TIMES]);
        assert!(broken(times, true).is_empty());
        let mut faults = [1.0; AMOUNTS.len()];
        faults[CPU_TIMES + 1] = 0.5;
        assert_eq!(broken(faults, true), ["page_faults_minor"]);
        assert_eq!(broken(faults, false), ["page_faults_minor"]);
    }
}
