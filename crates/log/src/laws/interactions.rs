//! Laws of interactions: their steps follow each other, and service takes time.

use crate::laws::manifest::Machine;
use crate::laws::{INTERACTIONS_GO_FORWARD, Report, Rows, SERVICE_WITHIN_RESPONSE, value};

/// Steps of an interaction, in order of time.
pub(crate) const STEPS: [&str; 5] = ["due", "sent", "first_service", "first_output", "completion"];

/// Checks a batch of `interactions`.
pub(crate) fn check(rows: Rows<'_>, machine: &Machine, report: &mut Report) {
    // Times are of the wall clock: while it is set, completion may come before due.
    if machine.has_clock_step {
        return;
    }
    let steps = STEPS.map(|name| rows.times(name));
    let service = ["service_s", "user_s", "system_s"].map(|name| (name, rows.floats(name)));
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
        let (Some(cpus), Some(begun), Some(completion)) = (machine.cpus_max, begun, value(steps[4], index))
        else {
            continue;
        };
        let response_s = completion.saturating_sub(begun).max(0) as f64 * 1e-6;
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
