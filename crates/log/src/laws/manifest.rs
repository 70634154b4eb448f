//! Laws of the manifest: sessions, incidents, and the facts of the recorder.

use std::path::Path;

use serde_json::Value as Json;

use crate::laws::intervals::Totals;
use crate::laws::{CPUS_ARE_KNOWN, FACTS_AGREE, POSSIBLE_MANIFEST, Report};
use crate::manifest::{Incident, Manifest, Session};

/// More CPUs than a machine has: kernels are built for at most 8,192.
const CPUS_MAX: f64 = 1e6;
/// The unit of CPU time in nearly every kernel [s].
const TICK_S: f64 = 0.01;
/// CPU time of each CPU between the readings of the whole machine and of the processes, where the recorder does not
/// say how much it was [s]: what a session attributes exceeds its total by so much at its end.
const READING_S: f64 = 0.1;
/// Incidents that explain a gap between intervals, or a fact that differs from the rows.
const LOSSES: [&str; 10] = [
    "reboot",
    "suspend",
    "interval_dropped",
    "disk_full",
    "rows_lost",
    "journal_changed",
    "damaged_block",
    "killed",
    "ledger_lost",
    "manifest_changed",
];

/// Facts of the manifest with which rows are compared.
pub(crate) struct Machine {
    /// Most CPUs that any session or the table of CPUs has; `None` where a session does not know.
    pub cpus_max: Option<f64>,
    /// Fewest CPUs of a session.
    pub cpus_min: Option<f64>,
    /// Unit of CPU time [s].
    pub tick_s: f64,
    pub sessions: usize,
    /// The wall clock was set, or may have been: sar does not record it, and counts whole seconds.
    pub has_clock_step: bool,
    /// A recorder wrote every session.
    pub is_recorded: bool,
    /// A simulation wrote every session.
    pub is_simulated: bool,
    /// Users type only after the reply, or the think time after it: nobody arrives from outside, and nobody types by
    /// a schedule.
    pub has_closed_users: bool,
    /// Every interval begins where the one before ends: a recorder wrote them, and nothing was lost.
    pub is_contiguous: bool,
    /// Most by which CPU time counted in whole ticks makes that of users too long [s].
    pub rounding_s: f64,
    /// CPU time that passed while the counters of one sample were read, the most of all samples [s].
    pub reading_max_s: f64,
    /// All parts are there and were read.
    pub is_complete: bool,
    /// The CPU time of users is that of control groups, which know more than their processes do.
    pub is_by_group: bool,
}

impl Machine {
    /// Facts of the log's sessions, which are checked; `cpus_with_rows` CPUs are in the table of CPUs.
    pub fn of(
        manifest: &Manifest,
        dir: &Path,
        cpus_with_rows: usize,
        is_complete: bool,
        report: &mut Report,
    ) -> Machine {
        let file = Manifest::path(dir);
        for (index, session) in manifest.sessions.iter().enumerate() {
            if let Some((item, message)) = wrong_session(session) {
                report.push(&POSSIBLE_MANIFEST, &file, format!("session {}", index + 1), item, message);
            }
        }
        for incident in &manifest.incidents {
            if let Some(message) = wrong_incident(incident) {
                let place = format!("incident {:?}", incident.kind);
                report.push(&POSSIBLE_MANIFEST, &file, place, "incidents", message);
            }
        }
        let cpus: Option<Vec<f64>> = manifest.sessions.iter().map(cpus_of).collect();
        let cpus = cpus.filter(|cpus| !cpus.is_empty());
        let of_manifest = cpus.as_ref().map(|cpus| cpus.iter().copied().fold(0.0, f64::max));
        if let Some(most) = of_manifest.filter(|most| cpus_with_rows as f64 > *most) {
            let message = format!("{cpus_with_rows} CPUs have rows in cpus, and the machine has {most}");
            report.push(&CPUS_ARE_KNOWN, &file, String::new(), "machine.cpus", message);
        }
        let had = |kind: &str| manifest.incidents.iter().any(|incident| incident.kind == kind);
        let is_recorded = manifest.sessions.iter().all(|session| session.facts.contains_key("recorder"));
        let is_simulated = !manifest.sessions.is_empty()
            && manifest.sessions.iter().all(|session| session.facts.contains_key("replication"));
        Machine {
            cpus_max: of_manifest.map(|most| most.max(cpus_with_rows as f64)),
            cpus_min: cpus.map(|cpus| cpus.into_iter().fold(f64::INFINITY, f64::min)),
            tick_s: manifest.sessions.iter().filter_map(tick_of).fold(TICK_S, f64::max),
            rounding_s: manifest.sessions.iter().map(rounding_s).sum(),
            reading_max_s: manifest.sessions.iter().filter_map(reading_max_s).fold(0.0, f64::max),
            sessions: manifest.sessions.len(),
            has_clock_step: had("clock_step")
                || manifest.sessions.iter().any(|session| session.source == "sar"),
            is_recorded,
            is_simulated,
            has_closed_users: (is_simulated || is_recorded) && !manifest.sessions.iter().any(has_open_users),
            is_contiguous: is_recorded && is_complete && !had("clock_step") && !LOSSES.into_iter().any(had),
            is_complete,
            is_by_group: manifest.sessions.iter().any(|session| session.options["by"] == "cgroup"),
        }
    }

    /// Compares what the recorder says of its sessions with the rows that are there.
    pub fn facts_agree(&self, manifest: &Manifest, dir: &Path, totals: &Totals, report: &mut Report) {
        let file = Manifest::path(dir);
        for (index, session) in manifest.sessions.iter().enumerate() {
            let recorder = session.facts.get("recorder");
            for (item, message) in recorder.map(|facts| wrong_facts(facts, session)).unwrap_or_default() {
                report.push(&FACTS_AGREE, &file, format!("session {}", index + 1), item, message);
            }
        }
        // The facts are those of the end; a session that runs, or was killed, has older ones.
        let is_over = manifest.sessions.iter().all(|session| session.end_us.is_some());
        if !self.is_contiguous || !is_over || manifest.retired_through_part > 0 {
            return;
        }
        let sum = |path: &str| -> Option<f64> {
            manifest
                .sessions
                .iter()
                .map(|session| session.facts.get("recorder")?.pointer(path)?.as_f64())
                .sum()
        };
        let mut pairs = vec![("recorder.recorded_s", sum("/recorded_s"), totals.length_s)];
        // Where the exact time was known in every interval.
        if sum("/users/n") == Some(totals.rows as f64) {
            pairs.push(("recorder.users.attributed_s", sum("/users/attributed_s"), totals.users_exact_s));
        }
        for (item, fact, rows) in pairs {
            let off = fact.map(|fact| ((fact - rows).abs(), 1e-6 * fact.abs() + 1e-3));
            if off.is_some_and(|(off, most)| off.is_nan() || off > most) {
                let message = format!("{} s; the rows of the log have {rows} s", fact.unwrap_or_default());
                report.push(&FACTS_AGREE, &file, String::new(), item, message);
            }
        }
    }
}

fn cpus_of(session: &Session) -> Option<f64> {
    session.machine.get("cpus")?.as_f64().filter(|cpus| *cpus > 0.0 && *cpus <= CPUS_MAX)
}

fn tick_of(session: &Session) -> Option<f64> {
    let ticks = session.machine.get("clock_ticks_per_second")?.as_f64()?;
    (ticks >= 1.0).then(|| 1.0 / ticks)
}

fn reading_max_s(session: &Session) -> Option<f64> {
    session.facts.get("recorder")?.pointer("/users/reading_max_s")?.as_f64()
}

/// Most by which the CPU time of users in a session may be too long, because totals of processes are cut to ticks [s].
///
/// The totals that grew are counted. Each has user and system time, so that two ticks are the most. A total that grows by
/// a small part f of a tick grows by a whole one with probability f: over many of these, the variance is a tick squared
/// for each one seen to grow; of totals that grow much, it is at most half of that. Six standard errors are exceeded by
/// chance in one session of a billion.
fn rounding_s(session: &Session) -> f64 {
    let totals =
        session.facts.get("recorder").and_then(|facts| facts.pointer("/users/totals_in_ticks")?.as_f64());
    let totals = totals.filter(|totals| *totals >= 0.0).unwrap_or(0.0);
    let tick_s = tick_of(session).unwrap_or(TICK_S);
    (2.0 * tick_s * totals).min(6.0 * tick_s * totals.sqrt())
}

/// Inputs of a session come by a schedule, or from outside.
fn has_open_users(session: &Session) -> bool {
    let of_machine = |path: &str| session.machine.pointer(path).is_some_and(|value| !value.is_null());
    let is_open = session.facts.get("terminals").and_then(|facts| facts.get("open"));
    of_machine("/parameters/arrivals")
        || of_machine("/parameters/classes")
        || is_open.is_some_and(|open| *open != Json::Bool(false))
}

fn wrong_session(session: &Session) -> Option<(&'static str, String)> {
    let cpus = session.machine.get("cpus").and_then(Json::as_f64);
    if let Some(cpus) = cpus.filter(|cpus| *cpus > CPUS_MAX) {
        return Some(("machine.cpus", format!("{cpus:e} CPUs; no machine has as many")));
    }
    None
}

fn wrong_incident(incident: &Incident) -> Option<String> {
    if incident.count == 0 {
        return Some("the count is 0".into());
    }
    // The wall clock may have been set back in between.
    let is_reversed = incident.last_us < incident.first_us && incident.kind != "clock_step";
    is_reversed.then(|| "the last one is before the first".into())
}

/// Facts of one session that contradict each other.
fn wrong_facts(recorder: &Json, session: &Session) -> Vec<(&'static str, String)> {
    let cpus = session.machine.get("cpus").and_then(Json::as_f64).unwrap_or(1.0).clamp(1.0, CPUS_MAX);
    let number = |path: &str| recorder.pointer(path).and_then(Json::as_f64);
    let mut wrong = Vec::new();
    if let (Some(exact_s), Some(attributed_s)) = (number("/users/exact_s"), number("/users/attributed_s")) {
        // Sums of adjoining intervals differ by the readings at their ends; each dropped one adds ends.
        let pieces = 1.0 + number("/dropped_intervals").unwrap_or(0.0).max(0.0);
        let reading_s = number("/users/reading_max_s").map_or(READING_S * cpus, |most_s| most_s * pieces);
        if !(attributed_s >= 0.0 && attributed_s <= 1.02 * exact_s + 0.05 + reading_s + rounding_s(session)) {
            let message = format!("{attributed_s} s of {exact_s} s are attributed to users");
            wrong.push(("recorder.users.attributed_s", message));
        }
        let rest_s = number("/users/unattributed_s").unwrap_or(exact_s - attributed_s);
        if (exact_s - attributed_s - rest_s).abs() > 1e-6 * exact_s.abs() + 1e-6 {
            let message = format!("{rest_s} s; {exact_s} s less {attributed_s} s are another amount");
            wrong.push(("recorder.users.unattributed_s", message));
        }
    }
    wrong
}
