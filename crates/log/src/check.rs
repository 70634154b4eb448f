//! `Log::check`: what is wrong with a log, and where.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};

use arrow_schema::Schema;
use serde::Serialize;

use crate::error::{IoContext, LogError};
use crate::folder::Folder;
use crate::history::Superseded;
use crate::journal::Wrong;
use crate::laws::{Laws, Rows};
use crate::ledger::Stamp;
use crate::machine::{Violation, violations, wrong_facts};
use crate::manifest::Manifest;
use crate::part::{PartFile, damaged_name, damaged_numbers, journal_name};
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
    /// Name of the law that the rows break; empty where the file itself is at fault.
    pub law: &'static str,
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
    pub(crate) fn error(
        file: &Path,
        place: impl Into<String>,
        item: &str,
        message: impl ToString,
        remedy: &str,
    ) -> Defect {
        Defect {
            severity: Severity::Error,
            law: "",
            file: file.into(),
            place: place.into(),
            item: item.into(),
            message: message.to_string(),
            remedy: remedy.into(),
        }
    }

    /// The same defect where nothing is lost.
    fn note(self) -> Defect {
        Defect { severity: Severity::Note, ..self }
    }
}

const RESTORE: &str = "restore the file from a copy; what is computed without it lacks its rows";
const MOVE_AWAY: &str = "move the file out of the log: the other parts stay readable";

impl Log {
    /// Reads everything and lists what is wrong: what `integrity` finds, files that cannot be read, columns that
    /// are not as the manifest says, rows that break the laws of the tables, machines that are not as their
    /// schema says. Empty when all is well.
    pub fn check(&self) -> Result<Vec<Defect>, LogError> {
        let folder = Folder::open(&self.dir)?;
        let mut defects = self.integrity()?;
        let damaged: BTreeSet<PathBuf> = defects.iter().map(|defect| defect.file.clone()).collect();
        self.check_machines(&mut defects);
        self.check_account(&mut defects)?;
        let is_complete = defects.iter().all(|defect| defect.severity == Severity::Note);
        let lacks_intervals = self.part_files("samples").iter().any(|part| damaged.contains(&part.path));
        let mut laws = Laws::new(self, &folder, is_complete, lacks_intervals);
        for (schema, part) in self.parts_in_order() {
            // Its rows are not those that were written; whatever is wrong with them is no second defect.
            if damaged.contains(&part.path) {
                continue;
            }
            let outcome =
                part.open(&folder).and_then(|file| check_part(part, file, schema, &mut laws, &mut defects));
            if let Err(error) = outcome {
                defects.push(Defect::error(&part.path, "", "rows", error.without_path(), MOVE_AWAY));
            }
        }
        self.check_columns(&folder, &mut defects);
        for schema in tables_in_order(&self.manifest) {
            for (number, batch) in self.open_batches(&schema.name)? {
                let file = self.dir.join(journal_name(number));
                laws.rows(Rows { file: &file, schema, first: 0, batch: &batch });
            }
        }
        defects.extend(laws.finish());
        Ok(defects)
    }

    /// A log of one session has in its parts every column that the manifest has. A later session may have declared more
    /// and written no row, and retention may have removed the part.
    fn check_columns(&self, folder: &Folder, defects: &mut Vec<Defect>) {
        let is_whole = defects.iter().all(|defect| defect.severity == Severity::Note);
        if !is_whole || self.manifest.sessions.len() != 1 || self.manifest.retired_through_part > 0 {
            return;
        }
        for table in &self.manifest.tables {
            let parts = self.part_files(&table.name);
            let mut found = BTreeSet::new();
            for part in parts {
                let Ok(reader) = part.open(folder).and_then(|file| part.reader(file)) else { return };
                for field in reader.schema().fields() {
                    found.insert(
                        Superseded::of_field(&table.name, field)
                            .map_or(field.name().clone(), |old| old.by.into()),
                    );
                }
            }
            let declared = self.journals.iter().flat_map(|(_, contents)| contents.tables());
            let open = declared.filter(|open| open.name == table.name).flat_map(|open| &open.columns);
            found.extend(open.map(|column| column.name.clone()));
            let lost =
                table.columns.iter().filter(|column| !parts.is_empty() && !found.contains(&column.name));
            for column in lost {
                let message = "the manifest lists this column, and no part has it";
                let file = self.dir.join(&table.name);
                defects.push(Defect::error(&file, "schema", &column.name, message, RESTORE));
            }
        }
    }

    /// Parts in order of their numbers; those of samples first among their like, since the rows of other tables
    /// belong to its intervals.
    fn parts_in_order(&self) -> Vec<(&TableSchema, &PartFile)> {
        let tables = tables_in_order(&self.manifest).into_iter();
        let mut parts: Vec<(&TableSchema, &PartFile)> = tables
            .flat_map(|schema| self.part_files(&schema.name).iter().map(move |part| (schema, part)))
            .collect();
        parts.sort_by_key(|(_, part)| part.number);
        parts
    }

    /// Lists where the log is not the one that was written: parts that are missing, added or changed, a manifest
    /// that was changed, journals with damage. The bytes of every part are read and not decoded, so that a
    /// report can afford to ask before it says anything.
    pub fn integrity(&self) -> Result<Vec<Defect>, LogError> {
        let folder = Folder::open(&self.dir)?;
        let mut defects = Vec::new();
        self.check_manifest(&mut defects);
        self.check_ledger(&folder, &mut defects)?;
        self.check_journals(&folder, &mut defects)?;
        Ok(defects)
    }

    fn check_manifest(&self, defects: &mut Vec<Defect>) {
        let file = Manifest::path(&self.dir);
        if !self.manifest.is_intact {
            let message = "the text is not the one that was written: its checksum is another";
            let remedy =
                "restore the manifest from a copy; the next writer keeps it as it is and counts an incident";
            defects.push(Defect::error(&file, "", "crc32", message, remedy));
        }
        if let Some(error) = &self.ledger_error {
            let remedy = "the parts that are there are read; whether any is missing or changed is not known";
            defects.push(Defect::error(&file, "", "ledger", error, remedy));
        }
        if let Some(error) = &self.sessions_error {
            let remedy = "restore the file from a copy; sessions whose line cannot be read are missing";
            defects.push(Defect::error(&file, "", "ended_sessions", error, remedy));
        }
        if self.manifest.ledger.is_none()
            && self.manifest.tables.iter().any(|table| !self.part_files(&table.name).is_empty())
        {
            let message = "a log of a format before version 3 has no list of its parts";
            let remedy =
                "a part that was removed, copied or changed is not noticed; the next writer lists them";
            defects.push(Defect::error(&file, "", "ledger", message, remedy).note());
        }
        if let Some(number) = self.lost_journal() {
            let message = "the journal was begun, and is neither here nor sealed";
            defects.push(Defect::error(
                &self.dir.join(journal_name(number)),
                "",
                "journal",
                message,
                RESTORE,
            ));
        }
    }

    /// Compares every part with what the ledger says of it.
    fn check_ledger(&self, folder: &Folder, defects: &mut Vec<Defect>) -> Result<(), LogError> {
        for part in &self.missing {
            defects.push(Defect::error(
                &part.path,
                "",
                "part",
                "the ledger lists this part, and it is gone",
                RESTORE,
            ));
        }
        for part in &self.unlisted {
            let message = "the ledger does not list this part: it is not read";
            let remedy = "move the file out of the log";
            let defect = Defect::error(&part.path, "", "part", message, remedy);
            // Retention takes parts out of the ledger before it removes them.
            let was_retired = part.number <= self.manifest.retired_through_part;
            defects.push(if was_retired { defect.note() } else { defect });
        }
        let Some(ledger) = &self.ledger else { return Ok(()) };
        for (table, number, listed) in ledger.iter() {
            let Some(part) = self.part_files(table).iter().find(|part| part.number == number) else {
                continue;
            };
            let stamp = part.open(folder).and_then(|file| Stamp::of_reader(file).at("read", &part.path));
            let message = match stamp {
                Ok(stamp) if stamp == listed.stamp => continue,
                Ok(stamp) if stamp.bytes != listed.stamp.bytes => {
                    format!("{} bytes; {} were written", stamp.bytes, listed.stamp.bytes)
                }
                Ok(_) => "its bytes are not those that were written: the checksum is another".into(),
                Err(error) => error.without_path(),
            };
            defects.push(Defect::error(&part.path, "", "part", message, RESTORE));
        }
        Ok(())
    }

    /// A key of a machine, or of a source's facts, that is not as the schema says keeps no row from being read, and misleads the
    /// analyses that look for it.
    fn check_machines(&self, defects: &mut Vec<Defect>) {
        let file = Manifest::path(&self.dir);
        for (number, session) in self.manifest.sessions.iter().enumerate() {
            // Null: a session of a source without any machine.
            let mut wrong = match session.machine.is_null() {
                true => Vec::new(),
                false => violations(&session.machine, &self.manifest.tables),
            };
            wrong.append(&mut wrong_facts(session));
            for violation in wrong {
                let place = format!("session {}", number + 1);
                let Violation { key, message, remedy } = violation;
                defects.push(Defect::error(&file, place, &key, message, &remedy));
            }
        }
    }

    fn check_journals(&self, folder: &Folder, defects: &mut Vec<Defect>) -> Result<(), LogError> {
        for (number, contents) in &self.journals {
            let file = self.dir.join(journal_name(*number));
            // Its head is written before the manifest announces it.
            if contents.is_empty() && self.manifest.open_part == Some(*number) {
                let message = "the journal was begun, and is empty";
                defects.push(Defect::error(&file, "", "journal", message, RESTORE));
            }
            for damage in &contents.damage {
                let place = format!("byte {}", damage.offset);
                let remedy = match damage.wrong {
                    Wrong::Torn { .. } => "a block that was being written: nothing to do",
                    _ => "the other blocks are read; the next recorder keeps this file as .damaged",
                };
                let defect = Defect::error(&file, place, "block", damage.wrong, remedy);
                defects.push(if damage.is_harmless() { defect.note() } else { defect });
            }
        }
        for number in damaged_numbers(folder)? {
            let message = "blocks of this journal could not be read when it was sealed";
            let path = self.dir.join(damaged_name(number));
            defects.push(Defect::error(&path, "", "block", message, "remove it when it is of no use to you"));
        }
        Ok(())
    }
}

/// Tables of the log, samples first.
fn tables_in_order(manifest: &Manifest) -> Vec<&TableSchema> {
    let mut tables: Vec<&TableSchema> = manifest.tables.iter().collect();
    tables.sort_by_key(|schema| schema.name != "samples");
    tables
}

/// Checks columns and rows of a part.
pub(crate) fn check_part(
    part: &PartFile,
    mut file: File,
    schema: &TableSchema,
    laws: &mut Laws<'_>,
    defects: &mut Vec<Defect>,
) -> Result<(), LogError> {
    let fields = part.reader(file.try_clone().at("open", &part.path)?)?.schema().clone();
    check_schema(&part.path, &fields, schema, defects);
    // The descriptors share their place in the file.
    file.rewind().at("read", &part.path)?;
    let mut first = 0;
    part.for_each_batch(file, |batch| {
        laws.rows(Rows { file: &part.path, schema, first, batch: &batch });
        first += batch.num_rows();
        Ok(())
    })
}

fn check_schema(path: &Path, fields: &Schema, schema: &TableSchema, defects: &mut Vec<Defect>) {
    for field in fields.fields() {
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
