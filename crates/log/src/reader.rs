//! Reading a log, also while it is being written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use serde::Serialize;

use crate::error::LogError;
use crate::history::Superseded;
use crate::journal::Contents;
use crate::manifest::Manifest;
use crate::part::{batch_of, journals, open_part, parts, read_part, widen};
use crate::schema::{Row, TableSchema};

/// A log as it stood when it was opened: complete parts, and the rows of the open part.
#[derive(Debug)]
pub struct Log {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) journals: Vec<(u64, Contents)>,
    /// The complete parts of each table, by number. Listed once: a part that is sealed later would
    /// otherwise be missed here and still hide the rows of its journal there.
    parts: BTreeMap<String, Vec<(u64, PathBuf)>>,
}

/// Complete parts of a table that store the same columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartGroup {
    /// The parts, in order of time.
    pub files: Vec<PathBuf>,
    /// Columns of an earlier version of the format: the name in the files, and the name that they have in the
    /// schema of the table. Their values are to be cast to the type of that schema.
    pub superseded: BTreeMap<String, String>,
}

impl Log {
    /// Opens the log in folder `dir`.
    pub fn open(dir: &Path) -> Result<Log, LogError> {
        let mut manifest = Manifest::read(dir)?;
        // Journals are read before parts are listed: a writer seals by putting parts in place and
        // removing the journal afterwards, so that what is gone from here is there by then.
        let mut open = Vec::new();
        for (number, path) in journals(dir)? {
            match Contents::read(&path) {
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
            }
        }
        let mut sealed = BTreeMap::new();
        for schema in &manifest.tables {
            sealed.insert(schema.name.clone(), parts(dir, &schema.name)?);
        }
        Ok(Log { dir: dir.into(), manifest, journals: open, parts: sealed })
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
        self.parts.get(table).into_iter().flatten().map(|(_, path)| path.clone()).collect()
    }

    /// The complete parts of `table` as they lie on the disk, neighbours with the same columns together, so
    /// that each group can be scanned as one.
    pub fn part_groups(&self, table: &str) -> Result<Vec<PartGroup>, LogError> {
        let mut groups: Vec<PartGroup> = Vec::new();
        let mut last_columns = Vec::new();
        for path in self.parts(table) {
            // The footer alone is read.
            let schema = open_part(&path)?.schema().clone();
            let fields = schema.fields().iter();
            let columns: Vec<(String, DataType)> =
                fields.clone().map(|field| (field.name().clone(), field.data_type().clone())).collect();
            match groups.last_mut() {
                Some(group) if columns == last_columns => group.files.push(path),
                _ => {
                    let old = |field: &Arc<Field>| {
                        Some((field.name().clone(), Superseded::of_field(table, field)?))
                    };
                    let superseded = fields.filter_map(old).map(|(name, old)| (name, old.by.to_owned()));
                    groups.push(PartGroup { superseded: superseded.collect(), files: vec![path] });
                }
            }
            last_columns = columns;
        }
        Ok(groups)
    }

    /// The rows of `table` that are in no complete part yet.
    pub fn open_rows(&self, table: &str) -> Result<Option<RecordBatch>, LogError> {
        let Some(schema) = self.schema(table) else { return Ok(None) };
        let sealed: BTreeSet<u64> =
            self.parts.get(table).into_iter().flatten().map(|(number, _)| *number).collect();
        let mut batches = Vec::new();
        // The same rows twice otherwise, when the log was opened while its writer sealed.
        for (_, contents) in self.journals.iter().filter(|(number, _)| !sealed.contains(number)) {
            let own = contents.tables().find(|own| own.name == table);
            let rows: Vec<Row> = contents.rows(table);
            if let (Some(own), false) = (own, rows.is_empty()) {
                batches.push(widen(&batch_of(own, &rows)?, schema)?);
            }
        }
        match batches.len() {
            0 => Ok(None),
            1 => Ok(batches.pop()),
            _ => Ok(Some(concatenate(&batches, schema)?)),
        }
    }

    /// All rows of `table`, with the union of its columns; empty where the log has none.
    pub fn read(&self, table: &str) -> Result<Vec<RecordBatch>, LogError> {
        let Some(schema) = self.schema(table) else { return Ok(Vec::new()) };
        let mut batches = Vec::new();
        for path in self.parts(table) {
            for batch in read_part(&path, table)? {
                batches.push(widen(&batch, schema)?);
            }
        }
        // Last: the open part is later than all complete ones.
        batches.extend(self.open_rows(table)?);
        Ok(batches)
    }
}

fn concatenate(batches: &[RecordBatch], schema: &TableSchema) -> Result<RecordBatch, LogError> {
    arrow_select::concat::concat_batches(&schema.arrow(), batches)
        .map_err(|error| LogError::Schema { table: schema.name.clone(), reason: error.to_string() })
}
