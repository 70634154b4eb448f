//! What a source always knows is not null: everything that a simulation writes, and of a recorder what its kernel has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use arrow_array::Array;
use serde_json::{Map, Value as Json};

use crate::laws::manifest::Machine;
use crate::laws::{KNOWN_VALUES, Report, Rows};
use crate::manifest::{Manifest, Session};

/// Columns that are null where something did not happen, or has no amount; by table.
const MAY_BE_NULL: [(&str, &str); 8] = [
    ("interactions", "sent"),
    ("interactions", "first_service"),
    ("interactions", "first_output"),
    ("interactions", "completion"),
    ("events", "user"),
    ("events", "cpu"),
    ("events", "amount"),
    ("events", "unit"),
];
/// Times without which a row says nothing; by table.
const NEVER_NULL: [(&str, &str); 2] = [("interactions", "due"), ("events", "time")];
/// What a recorder knows of every user who has a row.
const OF_USERS: [&str; 7] = [
    "user_s",
    "system_s",
    "cpu_exact_s",
    "page_faults_minor",
    "page_faults_major",
    "processes",
    "memory_bytes",
];
/// Columns of `samples` that a recorder reads from a file, unless it says that the file is missing. A value may be null
/// where a counter was set back, and not in every interval.
const OF_FILES: [(&str, &str); 11] = [
    ("user_s", "/proc/stat"),
    ("system_s", "/proc/stat"),
    ("idle_s", "/proc/stat"),
    ("context_switches", "/proc/stat"),
    ("interrupts", "/proc/stat"),
    ("forks", "/proc/stat"),
    ("psi_cpu_some_s", "/proc/pressure/cpu"),
    ("psi_memory_some_s", "/proc/pressure/memory"),
    ("psi_memory_full_s", "/proc/pressure/memory"),
    ("psi_io_some_s", "/proc/pressure/io"),
    ("psi_io_full_s", "/proc/pressure/io"),
];

/// Values and rows of a column.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    values: usize,
    rows: usize,
}

/// State of the law.
#[derive(Debug)]
pub(crate) struct Known {
    /// Every session has a recorder that says what it could not read.
    has_recorder: bool,
    /// Files that the recorder of some session could not read, and whatever an incident names.
    missing: BTreeSet<&'static str>,
    counts: BTreeMap<&'static str, Count>,
    file: PathBuf,
}

impl Known {
    /// Before the first row.
    pub fn new(manifest: &Manifest) -> Known {
        let missing = |session: &Session| session.facts.get("recorder")?.get("missing")?.as_object().cloned();
        let said: Option<Vec<Map<String, Json>>> = manifest.sessions.iter().map(missing).collect();
        let said = said.filter(|said| !said.is_empty());
        let listed =
            |file: &str| said.iter().flatten().flat_map(Map::keys).any(|name| name.starts_with(file));
        let named = |file: &str| manifest.incidents.iter().any(|incident| incident.detail.contains(file));
        let files = OF_FILES.into_iter().map(|(_, file)| file);
        let missing = files.filter(|file| listed(file) || named(file)).collect();
        Known { has_recorder: said.is_some(), missing, counts: BTreeMap::new(), file: PathBuf::new() }
    }

    /// Checks a batch of rows.
    pub fn check(&mut self, rows: Rows<'_>, machine: &Machine, report: &mut Report) {
        let table = rows.schema.name.as_str();
        for column in &rows.schema.columns {
            let name = column.name.as_str();
            let Some(array) = rows.batch.column_by_name(name).filter(|array| array.null_count() > 0) else {
                continue;
            };
            let is_known = NEVER_NULL.contains(&(table, name))
                || machine.is_simulated && !MAY_BE_NULL.contains(&(table, name))
                || self.has_recorder && table == "users" && OF_USERS.contains(&name);
            for index in (0..rows.len()).filter(|index| is_known && array.is_null(*index)) {
                let message = || "null, and its source knows the value".into();
                report.row(&KNOWN_VALUES, rows.file, rows.first + index, name, message);
            }
        }
        if table == "samples" && self.has_recorder {
            self.file = rows.file.into();
            for (name, file) in OF_FILES {
                let Some(array) = rows.batch.column_by_name(name) else { continue };
                if !self.missing.contains(file) {
                    let count = self.counts.entry(name).or_default();
                    count.rows += rows.len();
                    count.values += rows.len() - array.null_count();
                }
            }
        }
    }

    /// Whole columns of a recorder, after the last row.
    pub fn finish(&self, machine: &Machine, report: &mut Report) {
        for (name, count) in &self.counts {
            // One interval may be that of a reset.
            if machine.is_complete && count.rows > 1 && count.values == 0 {
                let message =
                    format!("null in all {} rows, and recorder.missing names no reason", count.rows);
                report.push(&KNOWN_VALUES, &self.file, String::new(), name, message);
            }
        }
    }
}
