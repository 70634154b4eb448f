//! `Log::check`: what is wrong with a log, and where.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use serde::Serialize;

use crate::error::LogError;
use crate::history::Superseded;
use crate::machine::{Violation, violations};
use crate::manifest::Manifest;
use crate::part::{numbered, open_part, read_part};
use crate::reader::Log;
use crate::schema::TableSchema;

/// How bad a defect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is lost; the reader should know.
    Note,
    /// Rows are lost or wrong.
    Error,
}

/// One thing that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Defect {
    /// How bad it is.
    pub severity: Severity,
    /// The file of the log.
    pub file: PathBuf,
    /// Where in the file: a byte, a row, or empty for all of it.
    pub place: String,
    /// Column, block or key.
    pub item: String,
    /// What is wrong.
    pub message: String,
    /// What can be done.
    pub remedy: String,
}

impl Defect {
    fn error(
        file: &Path,
        place: impl Into<String>,
        item: &str,
        message: impl ToString,
        remedy: &str,
    ) -> Defect {
        Defect {
            severity: Severity::Error,
            file: file.into(),
            place: place.into(),
            item: item.into(),
            message: message.to_string(),
            remedy: remedy.into(),
        }
    }
}

const MOVE_AWAY: &str = "move the file out of the log: the other parts stay readable";

impl Log {
    /// Reads everything and lists what is wrong: files that cannot be read, columns that are not as
    /// the manifest says, rows that break the laws of the tables, machines that are not as their
    /// schema says. Empty when all is well.
    pub fn check(&self) -> Result<Vec<Defect>, LogError> {
        let mut defects = Vec::new();
        self.check_journals(&mut defects)?;
        self.check_machines(&mut defects);
        let mut starts = BTreeSet::new();
        // samples first: the rows of other tables belong to its intervals.
        let mut tables: Vec<&TableSchema> = self.manifest.tables.iter().collect();
        tables.sort_by_key(|schema| schema.name != "samples");
        for schema in tables {
            for path in self.parts(&schema.name) {
                self.check_schema(&path, schema, &mut defects);
                match read_part(&path, &schema.name) {
                    Ok(batches) => check_rows(&path, schema, &batches, &mut starts, &mut defects),
                    Err(error) => defects.push(Defect::error(&path, "", "rows", error, MOVE_AWAY)),
                }
            }
            if let Some(batch) = self.open_rows(&schema.name)? {
                check_rows(&self.dir.join("journal"), schema, &[batch], &mut starts, &mut defects);
            }
        }
        Ok(defects)
    }

    /// A key of a machine that is not as the schema says keeps no row from being read, and misleads the
    /// analyses that look for it.
    fn check_machines(&self, defects: &mut Vec<Defect>) {
        let file = Manifest::path(&self.dir);
        for (number, session) in self.manifest.sessions.iter().enumerate() {
            // A session of a source without any machine.
            if session.machine.is_null() {
                continue;
            }
            for violation in violations(&session.machine, &self.manifest.tables) {
                let place = format!("session {}", number + 1);
                let Violation { key, message, remedy } = violation;
                defects.push(Defect::error(&file, place, &key, message, &remedy));
            }
        }
    }

    fn check_journals(&self, defects: &mut Vec<Defect>) -> Result<(), LogError> {
        for (number, contents) in &self.journals {
            let file = crate::part::journal_path(&self.dir, *number);
            for damage in &contents.damage {
                let place = format!("byte {}", damage.offset);
                let mut defect = Defect::error(
                    &file,
                    place,
                    "block",
                    format!("{} bytes are no valid block", damage.length),
                    "the other blocks are read; the next recorder keeps this file as .damaged",
                );
                if damage.is_tail {
                    defect.severity = Severity::Note;
                    defect.remedy = "a block that was being written: nothing to do".into();
                }
                defects.push(defect);
            }
        }
        for (_, path) in numbered(&self.dir, "journal-", ".damaged")? {
            let message = "blocks of this journal could not be read when it was sealed";
            defects.push(Defect::error(&path, "", "block", message, "remove it when it is of no use to you"));
        }
        Ok(())
    }

    fn check_schema(&self, path: &Path, schema: &TableSchema, defects: &mut Vec<Defect>) {
        // That it cannot be opened is reported by who reads the rows.
        let Ok(reader) = open_part(path) else { return };
        for field in reader.schema().fields() {
            if Superseded::of_field(&schema.name, field).is_some() {
                continue;
            }
            let Some(at) = schema.position(field.name()) else {
                let message = "the manifest does not know this column";
                defects.push(Defect::error(path, "schema", field.name(), message, "add it to the manifest"));
                continue;
            };
            let expected = schema.columns[at].ty.arrow();
            if *field.data_type() != expected {
                let message = format!("type {}, the manifest says {expected}", field.data_type());
                defects.push(Defect::error(path, "schema", field.name(), message, MOVE_AWAY));
            }
            for key in ["unit", "kind"] {
                if !field.metadata().contains_key(key) {
                    let message = format!("the field metadata has no {key}");
                    let remedy = "write the part with thinktime, or add the metadata";
                    defects.push(Defect::error(path, "schema", field.name(), message, remedy));
                }
            }
        }
    }
}

/// Checks the laws that hold for rows: intervals have a length, and per-user and per-device rows
/// belong to an interval.
fn check_rows(
    file: &Path,
    schema: &TableSchema,
    batches: &[RecordBatch],
    starts: &mut BTreeSet<i64>,
    defects: &mut Vec<Defect>,
) {
    let mut row = 0;
    for batch in batches {
        match schema.name.as_str() {
            "samples" => {
                check_lengths(file, row, batch, defects);
                starts.extend(instants(batch));
            }
            "users" | "cpus" | "disks" | "interfaces" => {
                // The first of a batch only: a lost part of samples would give thousands of the same defect.
                if let Some(at) = instants(batch).position(|start| !starts.contains(&start)) {
                    defects.push(Defect::error(
                        file,
                        format!("row {}", row + at),
                        "start",
                        "no interval of samples starts then",
                        "the rows from here on may belong to a damaged part of samples",
                    ));
                }
            }
            _ => {}
        }
        row += batch.num_rows();
    }
}

fn check_lengths(file: &Path, first_row: usize, batch: &RecordBatch, defects: &mut Vec<Defect>) {
    let Some(lengths) =
        batch.column_by_name("length_s").and_then(|column| column.as_primitive_opt::<Float64Type>())
    else {
        return;
    };
    for at in 0..lengths.len() {
        if lengths.is_null(at) || lengths.value(at) <= 0.0 {
            defects.push(Defect::error(
                file,
                format!("row {}", first_row + at),
                "length_s",
                "an interval must have a positive length",
                "leave the row out of what you compute",
            ));
        }
    }
}

fn instants(batch: &RecordBatch) -> impl Iterator<Item = i64> + '_ {
    let column = batch
        .column_by_name("start")
        .and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
    column.into_iter().flat_map(|column| column.values().iter().copied())
}
