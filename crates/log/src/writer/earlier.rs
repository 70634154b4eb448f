//! What earlier writers left in the folder: taken up, sealed, or removed.

use super::{LogWriter, RESERVE};
use crate::error::LogError;
use crate::folder::Folder;
use crate::journal::Contents;
use crate::ledger::Ledger;
use crate::lines::{LEDGER, SESSIONS};
use crate::manifest::{self, Incident, Manifest};
use crate::part::{
    PartFile, damaged_name, damaged_numbers, journal_name, journal_numbers, part_name, part_numbers,
};

impl LogWriter {
    /// Seals what earlier writers left, and finds the number of the next part.
    pub(super) fn recover(&mut self) -> Result<(), LogError> {
        let journals = journal_numbers(&self.folder)?;
        // Once this session has announced its own journal, nobody would notice any more.
        let is_gone = |open: &u64| *open > self.manifest.merged_through_part && !journals.contains(open);
        if let Some(open) = self.manifest.open_part.filter(is_gone) {
            let detail =
                format!("{} was removed before it was sealed: its rows are lost", journal_name(open));
            self.manifest.count(Incident::now("journal_lost", &detail));
        }
        for number in journals {
            let name = journal_name(number);
            let contents = Contents::read(&self.folder, &name)?;
            if number > self.manifest.merged_through_part {
                self.manifest.take_facts(&contents.facts);
            }
            self.seal_contents(number, &contents, None)?;
            self.put_away(number, &contents)?;
            // Never a number that was used: a reader takes a part for the journal of the same number.
            self.part = self.part.max(number + 1);
        }
        // Also of files that the ledger does not list: they may be somebody's, and are not written over.
        for table in &self.manifest.tables {
            if let Some(number) = part_numbers(&self.folder, &table.name)?.last() {
                self.part = self.part.max(number + 1);
            }
        }
        self.part = self.part.max(self.ledger.last_number() + 1);
        // Also where retention removed all parts: a journal numbered below would have its incidents ignored.
        self.part = self.part.max(self.manifest.merged_through_part + 1);
        self.part = self.part.max(self.manifest.open_part.take().unwrap_or(0) + 1);
        Ok(())
    }
}

/// The manifest and the ledger of a log that a writer goes on with.
pub(super) fn resumed(folder: &Folder) -> Result<(Manifest, Ledger), LogError> {
    let mut manifest = Manifest::read(folder)?;
    if !manifest.is_intact {
        let detail = "the manifest was not the one that a writer wrote when this session began";
        manifest.count(Incident::now("manifest_changed", detail));
    }
    if let Err(error) = manifest.read_ended(folder) {
        // Nothing in it is changed: `check` goes on to say that it is damaged.
        manifest.count(Incident::now("manifest_changed", &error.to_string()));
    }
    match manifest.read_ledger(folder) {
        Ok(Some(ledger)) => return Ok((manifest, ledger)),
        Ok(None) => {}
        Err(error) => {
            let detail = format!("parts that are there were listed anew: {error}");
            manifest.count(Incident::now("ledger_lost", &detail));
        }
    }
    // Of an older format, or with a ledger that is lost: every part that can be read is listed.
    let mut ledger = Ledger::default();
    for table in &manifest.tables {
        let there = part_numbers(folder, &table.name)?.into_iter();
        for number in there.filter(|number| *number > manifest.retired_through_part) {
            let part = PartFile::new(folder, &table.name, number);
            if let Ok(part) = part.measure(folder) {
                ledger.add(&table.name, number, part);
            }
        }
    }
    Ok((manifest, ledger))
}

/// Removes what this library wrote, and nothing else.
pub(super) fn clear(folder: &Folder) -> Result<(), LogError> {
    let manifest = Manifest::read(folder)?;
    let ledger = manifest.read_ledger(folder)?;
    // The manifest goes first: what remains after a crash here is no log, rather than half of one.
    folder.remove(manifest::FILE_NAME)?;
    for table in &manifest.tables {
        let Some(sub) = folder.sub(&table.name)? else { continue };
        let numbers = match &ledger {
            Some(ledger) => ledger.of_table(&table.name).map(|(number, _)| number).collect(),
            // Before version 3 there was no ledger: by their names.
            None => part_numbers(folder, &table.name)?,
        };
        for number in numbers {
            sub.remove(&part_name(number))?;
        }
        // Left when somebody else's file is in it.
        folder.remove_if_empty(&table.name);
    }
    for number in journal_numbers(folder)? {
        folder.remove(&journal_name(number))?;
    }
    for number in damaged_numbers(folder)? {
        folder.remove(&damaged_name(number))?;
    }
    for (lines, extent) in [(LEDGER, manifest.ledger), (SESSIONS, manifest.ended_sessions)] {
        extent.map_or(Ok(()), |extent| lines.remove(folder, &extent))?;
    }
    folder.remove(RESERVE)
}
