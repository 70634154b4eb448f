//! Reading a log, also while it is being written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields};
use serde::Serialize;

use crate::error::LogError;
use crate::folder::Folder;
use crate::history::Superseded;
use crate::journal::Contents;
use crate::ledger::Ledger;
use crate::manifest::Manifest;
use crate::part::{PartFile, batch_of, journal_name, journal_numbers, part_numbers, widen};
use crate::schema::{Row, TableSchema};

/// How often a log is looked at again because its writer sealed a part, or removed one, in between.
const LOOKS_MAX: usize = 5;

/// A log as it stood when it was opened: complete parts, and the rows of the open part.
#[derive(Debug)]
pub struct Log {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) ledger: Option<Ledger>,
    /// Why the ledger that the manifest names was not read; the parts are then those that are there.
    pub(crate) ledger_error: Option<String>,
    /// Why not all sessions before the last were read.
    pub(crate) sessions_error: Option<String>,
    pub(crate) journals: Vec<(u64, Contents)>,
    /// The complete parts of each table, in order. Listed once: a part that is sealed later would
    /// otherwise be missed here and still hide the rows of its journal there.
    parts: BTreeMap<String, Vec<PartFile>>,
    /// Parts that the ledger lists and that are not there.
    pub(crate) missing: Vec<PartFile>,
    /// Files that are called as parts are and that the ledger does not list; they are not read.
    pub(crate) unlisted: Vec<PartFile>,
}

/// Complete parts of a table that store the same columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartGroup {
    /// The parts, in order of time.
    pub files: Vec<PathBuf>,
    /// Their rows.
    pub rows: u64,
    /// Columns of an earlier version of the format: the name in the files, and the name that they have in the
    /// schema of the table. Their values are to be cast to the type of that schema.
    pub superseded: BTreeMap<String, String>,
}

impl Log {
    /// Opens the log in folder `dir`.
    pub fn open(dir: &Path) -> Result<Log, LogError> {
        let folder = Folder::open(dir)?;
        let mut log = Log::look(&folder)?;
        for _ in 1..LOOKS_MAX {
            if log.is_consistent() {
                break;
            }
            // A writer at work puts parts in place, then the manifest that lists them, then removes the journal:
            // what does not fit together now does so in a moment, or never.
            let again = Log::look(&folder)?;
            let is_same = again.manifest.ledger == log.manifest.ledger
                && again.manifest.ended_sessions == log.manifest.ended_sessions;
            log = again;
            if is_same {
                break;
            }
        }
        Ok(log)
    }

    fn is_consistent(&self) -> bool {
        self.missing.is_empty()
            && self.unlisted.is_empty()
            && self.ledger_error.is_none()
            && self.sessions_error.is_none()
            && self.lost_journal().is_none()
    }

    /// Number of a journal that the manifest announces, that is not there, and that was not sealed.
    pub(crate) fn lost_journal(&self) -> Option<u64> {
        let is_lost = |number: &u64| {
            *number > self.manifest.merged_through_part
                && self.journals.iter().all(|(open, _)| open != number)
        };
        self.manifest.open_part.filter(is_lost)
    }

    fn look(folder: &Folder) -> Result<Log, LogError> {
        let mut manifest = Manifest::read(folder)?;
        let (ledger, ledger_error) = match manifest.read_ledger(folder) {
            Ok(ledger) => (ledger, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (mut sessions, sessions_error) = match manifest.read_ended(folder) {
            Ok(sessions) => (sessions, None),
            Err(error) => (manifest.salvage_ended(folder), Some(error.to_string())),
        };
        sessions.append(&mut manifest.sessions);
        manifest.sessions = sessions;
        // Journals are read before parts are listed: a writer seals by putting parts in place and
        // removing the journal afterwards, so that what is gone from here is there by then.
        let mut open = Vec::new();
        for number in journal_numbers(folder)? {
            match Contents::read(folder, &journal_name(number)) {
                Ok(contents) => open.push((number, contents)),
                // Sealed between listing and reading: its rows are in the parts, which are listed below.
                Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for (number, contents) in &open {
            for schema in contents.tables() {
                // A table declared since the manifest was last written; the copy in memory alone is changed.
                manifest.declare(schema)?;
            }
            // Otherwise it is sealed but not removed yet, and the manifest has its incidents already.
            if *number > manifest.merged_through_part {
                for incident in &contents.incidents {
                    manifest.count(incident.clone());
                }
                manifest.take_facts(&contents.facts);
            }
        }
        let mut log = Log {
            dir: folder.path().into(),
            manifest,
            ledger,
            ledger_error,
            sessions_error,
            journals: open,
            parts: BTreeMap::new(),
            missing: Vec::new(),
            unlisted: Vec::new(),
        };
        let names: Vec<String> = log.manifest.tables.iter().map(|schema| schema.name.clone()).collect();
        for table in names {
            log.list(folder, &table)?;
        }
        Ok(log)
    }

    /// Finds the parts of `table`.
    fn list(&mut self, folder: &Folder, table: &str) -> Result<(), LogError> {
        let there = part_numbers(folder, table)?;
        let file = |number: u64| PartFile::new(folder, table, number);
        let Some(ledger) = &self.ledger else {
            self.parts.insert(table.into(), there.into_iter().map(file).collect());
            return Ok(());
        };
        let mut parts = Vec::new();
        for (number, _) in ledger.of_table(table) {
            match there.binary_search(&number) {
                Ok(_) => parts.push(file(number)),
                Err(_) => self.missing.push(file(number)),
            }
        }
        for number in there {
            let is_listed = ledger.get(table, number).is_some();
            // One that is being sealed is not listed yet: its rows are those of the journal.
            let is_open = self.journals.iter().any(|(open, _)| *open == number);
            if !is_listed && !is_open {
                self.unlisted.push(file(number));
            }
        }
        self.parts.insert(table.into(), parts);
        Ok(())
    }

    /// The manifest, with the incidents of the open part.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The schema of `table`: the union of its columns over all parts.
    pub fn schema(&self, table: &str) -> Option<&TableSchema> {
        self.manifest.tables.iter().find(|schema| schema.name == table)
    }

    /// The complete parts of `table`, in order of time.
    pub fn parts(&self, table: &str) -> Vec<PathBuf> {
        self.part_files(table).iter().map(|part| part.path.clone()).collect()
    }

    pub(crate) fn part_files(&self, table: &str) -> &[PartFile] {
        self.parts.get(table).map_or(&[], Vec::as_slice)
    }

    /// The complete parts of `table` as they lie on the disk, neighbours with the same columns together, so
    /// that each group can be scanned as one. A part whose columns are not of the types that the manifest has
    /// is refused: whoever scans it would take its values for something else, or fail without a file's name.
    pub fn part_groups(&self, table: &str) -> Result<Vec<PartGroup>, LogError> {
        let Some(declared) = self.schema(table) else { return Ok(Vec::new()) };
        let mut groups: Vec<PartGroup> = Vec::new();
        let mut last_columns = Vec::new();
        let folder = Folder::open(&self.dir)?;
        for part in self.part_files(table) {
            // The footer alone is read.
            let footer = part.reader(part.open(&folder)?)?;
            let rows = u64::try_from(footer.metadata().file_metadata().num_rows()).unwrap_or(0);
            let schema = footer.schema().clone();
            refuse_other_types(part, schema.fields(), declared)?;
            let fields = schema.fields().iter();
            let columns: Vec<(String, DataType)> =
                fields.clone().map(|field| (field.name().clone(), field.data_type().clone())).collect();
            match groups.last_mut() {
                Some(group) if columns == last_columns => {
                    group.files.push(part.path.clone());
                    group.rows = group.rows.saturating_add(rows);
                }
                _ => {
                    let old = |field: &Arc<Field>| {
                        Some((field.name().clone(), Superseded::of_field(table, field)?))
                    };
                    let superseded = fields.filter_map(old).map(|(name, old)| (name, old.by.to_owned()));
                    let files = vec![part.path.clone()];
                    groups.push(PartGroup { superseded: superseded.collect(), rows, files });
                }
            }
            last_columns = columns;
        }
        Ok(groups)
    }

    /// The rows of `table` that are in no complete part yet, and the number of the journal that holds them.
    pub(crate) fn open_batches(&self, table: &str) -> Result<Vec<(u64, RecordBatch)>, LogError> {
        let Some(schema) = self.schema(table) else { return Ok(Vec::new()) };
        let is_sealed = |number: u64| self.part_files(table).iter().any(|part| part.number == number);
        let arrow = schema.arrow();
        let mut batches = Vec::new();
        // The same rows twice otherwise, when the log was opened while its writer sealed.
        for (number, contents) in self.journals.iter().filter(|(number, _)| !is_sealed(*number)) {
            let own = contents.tables().find(|own| own.name == table);
            let rows: Vec<Row> = contents.rows(table);
            if let (Some(own), false) = (own, rows.is_empty()) {
                batches.push((*number, widen(&batch_of(own, &rows)?, table, &arrow)?));
            }
        }
        Ok(batches)
    }

    /// The rows of `table` that are in no complete part yet, as one batch.
    pub fn open_rows(&self, table: &str) -> Result<Option<RecordBatch>, LogError> {
        let Some(schema) = self.schema(table) else { return Ok(None) };
        let mut batches: Vec<RecordBatch> =
            self.open_batches(table)?.into_iter().map(|(_, batch)| batch).collect();
        match batches.len() {
            0 | 1 => Ok(batches.pop()),
            _ => Ok(Some(concatenate(&batches, schema)?)),
        }
    }

    /// All rows of `table`, with the union of its columns; empty where the log has none.
    pub fn read(&self, table: &str) -> Result<Vec<RecordBatch>, LogError> {
        let Some(schema) = self.schema(table) else { return Ok(Vec::new()) };
        let arrow = schema.arrow();
        let mut batches = Vec::new();
        let folder = Folder::open(&self.dir)?;
        for part in self.part_files(table) {
            part.for_each_batch(part.open(&folder)?, |batch| {
                batches.push(widen(&batch, table, &arrow)?);
                Ok(())
            })?;
        }
        // Last: the open part is later than all complete ones.
        batches.extend(self.open_rows(table)?);
        Ok(batches)
    }
}

/// Refuses a part with a column twice, or of another type than `declared` says.
fn refuse_other_types(part: &PartFile, fields: &Fields, declared: &TableSchema) -> Result<(), LogError> {
    let mut names = BTreeSet::new();
    for field in fields {
        let wrong =
            |reason: String| LogError::damaged(&part.path, format!("column {}", field.name()), reason);
        // A column of an earlier version must not stand next to the one that replaced it either.
        let old = Superseded::of_field(&declared.name, field);
        if !names.insert(old.map_or(field.name().as_str(), |old| old.by)) {
            return Err(wrong("the column stands twice".into()));
        }
        let expected = declared.position(field.name()).map(|at| declared.columns[at].ty.arrow());
        if let (None, Some(expected)) = (old, expected) {
            if *field.data_type() != expected {
                return Err(wrong(format!("type {}, the manifest says {expected}", field.data_type())));
            }
        }
    }
    Ok(())
}

fn concatenate(batches: &[RecordBatch], schema: &TableSchema) -> Result<RecordBatch, LogError> {
    arrow_select::concat::concat_batches(&schema.arrow(), batches)
        .map_err(|error| LogError::Schema { table: schema.name.clone(), reason: error.to_string() })
}
