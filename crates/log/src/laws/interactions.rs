//! Laws of interactions: their steps follow each other, service takes time, parts are at most the
//! whole, and users wait for replies.

use std::collections::BTreeSet;
use std::path::PathBuf;

use arrow_array::Array;
use arrow_array::cast::AsArray;

use crate::laws::manifest::Machine;
use crate::laws::{
    INTERACTIONS_GO_FORWARD, PARTS_WITHIN_RESPONSE, POPULATION_HAS_ITS_USER, REPLIES_ARE_WAITED_FOR, Report,
    Rows, SERVICE_WITHIN_RESPONSE, value,
};

/// Steps of an interaction, in order of time.
pub(crate) const STEPS: [&str; 5] = ["due", "sent", "first_service", "first_output", "completion"];

/// Error of reading the waits of an interaction [s]: waits for I/O come in steps of a clock tick.
const WAITS_ERROR_S: f64 = 0.01;

/// Users who are remembered: with more, the law of replies is not checked.
const USERS_MAX: usize = 1 << 16;

/// State of the laws of interactions.
#[derive(Debug, Default)]
pub(crate) struct Interactions {
    users: BTreeSet<String>,
    /// Inputs that were waited for, and had no reply.
    unanswered: u64,
    file: PathBuf,
}

impl Interactions {
    /// Checks a batch of `interactions`.
    pub fn check(&mut self, rows: Rows<'_>, machine: &Machine, report: &mut Report) {
        self.file = rows.file.into();
        steps(rows, machine, report);
        if machine.has_closed_users {
            population(rows, report);
            self.count(rows);
        }
    }

    fn count(&mut self, rows: Rows<'_>) {
        let users = rows.batch.column_by_name("user").and_then(|users| users.as_string_opt::<i32>());
        let waited = rows.batch.column_by_name("waited").and_then(|waited| waited.as_boolean_opt());
        let (Some(users), Some(completions)) = (users, rows.times("completion")) else { return };
        for index in 0..rows.len() {
            if users.is_valid(index)
                && self.users.len() <= USERS_MAX
                && !self.users.contains(users.value(index))
            {
                self.users.insert(users.value(index).into());
            }
            let was_waited = waited.is_none_or(|waited| waited.is_valid(index) && waited.value(index));
            self.unanswered += u64::from(completions.is_null(index) && was_waited);
        }
    }

    /// The law of replies, after the last row: the end of a session finds each user with one input at most.
    pub fn finish(&self, machine: &Machine, report: &mut Report) {
        let most = self.users.len().saturating_mul(machine.sessions) as u64;
        if self.users.len() <= USERS_MAX && self.unanswered > most {
            let message = format!(
                "{} inputs that users waited for have no completion; {} users in {} sessions can leave {most}",
                self.unanswered,
                self.users.len(),
                machine.sessions
            );
            report.push(&REPLIES_ARE_WAITED_FOR, &self.file, String::new(), "completion", message);
        }
    }
}

fn population(rows: Rows<'_>, report: &mut Report) {
    let Some(population) = rows.counts("population") else { return };
    for (index, users) in population.iter().enumerate() {
        if users == Some(0) {
            let message = || "0 users play, and one of them typed this input".into();
            report.row(&POPULATION_HAS_ITS_USER, rows.file, rows.first + index, "population", message);
        }
    }
}

fn steps(rows: Rows<'_>, machine: &Machine, report: &mut Report) {
    // Times are of the wall clock: while it is set, completion may come before due.
    if machine.has_clock_step {
        return;
    }
    let steps = STEPS.map(|name| rows.times(name));
    let service = ["service_s", "user_s", "system_s"].map(|name| (name, rows.floats(name)));
    let waits = ["run_delay_s", "io_delay_s"].map(|name| (name, rows.floats(name)));
    for index in 0..rows.len() {
        let row = rows.first + index;
        let mut before: Option<(&str, i64)> = None;
        for (name, column) in STEPS.iter().zip(steps) {
            let Some(time) = value(column, index) else { continue };
            if let Some((earlier, _)) = before.filter(|(_, at)| time < *at) {
                let message = || format!("{name} is before {earlier}");
                report.row(&INTERACTIONS_GO_FORWARD, rows.file, row, name, message);
            }
            before = before.filter(|(_, at)| *at > time).or(Some((name, time)));
        }
        let begun = value(steps[1], index).or_else(|| value(steps[0], index));
        let (Some(begun), Some(completion)) = (begun, value(steps[4], index)) else { continue };
        let response_s = completion.saturating_sub(begun).max(0) as f64 * 1e-6;
        if let Some((name, parts_s)) =
            parts(service, waits, index).filter(|(_, parts_s)| *parts_s > 1.01 * response_s + WAITS_ERROR_S)
        {
            let message =
                || format!("CPU time and waits are {parts_s} s together in a response of {response_s} s");
            report.row(&PARTS_WITHIN_RESPONSE, rows.file, row, name, message);
        }
        let Some(cpus) = machine.cpus_max else { continue };
        // The CPU time of real processes is sampled at the tick, and read a little later than the clock.
        let limit = 1.05 * cpus * response_s + 0.1;
        for (name, column) in service {
            if let Some(service_s) = value(column, index).filter(|service_s| *service_s > limit) {
                let message =
                    || format!("{service_s} s of CPU time in a response of {response_s} s on {cpus} CPUs");
                report.row(&SERVICE_WITHIN_RESPONSE, rows.file, row, name, message);
            }
        }
    }
}

type Floats<'a> = (&'static str, Option<&'a arrow_array::Float64Array>);

/// Sum of the CPU time and the waits of a row, and the first of the waits; `None` where it has no wait: CPU time of work
/// that is done in parallel may exceed the response.
fn parts(service: [Floats<'_>; 3], waits: [Floats<'_>; 2], index: usize) -> Option<(&'static str, f64)> {
    let (first, _) = waits.iter().find(|(_, column)| value(*column, index).is_some())?;
    let waited_s: f64 = waits.iter().filter_map(|(_, column)| value(*column, index)).sum();
    let [total, user, system] = service.map(|(_, column)| value(column, index));
    let service_s = total.unwrap_or_else(|| user.unwrap_or(0.0) + system.unwrap_or(0.0));
    Some((first, service_s + waited_s))
}
