//! From the open part to Parquet files: when it is sealed, and what becomes of its journal.

use std::time::{Duration, Instant};

use super::{LogWriter, is_full};
use crate::error::{IoContext, LogError};
use crate::journal::{Contents, Journal};
use crate::manifest::Incident;
use crate::part::{batch_of, journal_name, write_part};

/// A journal of this size is sealed. Sealing decodes one table of it into memory.
const JOURNAL_BYTES_MAX: u64 = 4 << 20;
/// A journal of this age is sealed, so that other programs see its rows as Parquet.
const JOURNAL_AGE_MAX: Duration = Duration::from_secs(3600);
/// How long to wait before sealing is tried again on a full disk.
const SEAL_RETRY: Duration = Duration::from_secs(60);

impl LogWriter {
    /// Ends the open part, whose rows become Parquet files, and begins the next one. On a full disk the open part
    /// stays open, and is sealed when there is room.
    pub fn seal(&mut self) -> Result<(), LogError> {
        self.seal_or_put_off(true)
    }

    pub(super) fn seal_or_put_off(&mut self, goes_on: bool) -> Result<(), LogError> {
        match self.seal_now(goes_on) {
            Err(error) if is_full(&error) => {
                // Rows go on into the journal: it grows, but nothing is lost.
                self.seal_not_before = Some(Instant::now() + SEAL_RETRY);
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn seal_now(&mut self, goes_on: bool) -> Result<(), LogError> {
        if self.journal.is_none() && !self.backlog.is_empty() {
            self.ensure_journal()?;
        }
        self.flush_backlog()?;
        let Some(journal) = &mut self.journal else { return self.refuse_backlog() };
        if !self.backlog.is_empty() {
            // Blocks that wait belong to this journal: the next one would not have their tables before them.
            return self.refuse_backlog();
        }
        // Read back from the disk and not kept in memory: what is sealed is what a crash would have left.
        let contents = journal.contents().at("read", &self.folder.at(&journal.name))?;
        let lost = journal.lost(&contents);
        // Counted once, however often sealing is tried on a full disk.
        let unnamed = lost.saturating_sub(journal.named_lost);
        journal.named_lost += unnamed;
        self.lose("another program shortened or changed the journal", unnamed);
        // The next journal is begun before, so that one manifest seals this one and announces that: a manifest is
        // tens of kilobytes, and a recorder goes on for months. Where it cannot be begun now, it is with the next row.
        let next = self.part + 1;
        let begun = goes_on.then(|| Journal::create(&self.folder, journal_name(next)).ok()).flatten();
        if let Err(error) = self.seal_contents(self.part, &contents, begun.as_ref().map(|_| next)) {
            self.manifest.open_part = Some(self.part);
            if begun.is_some() {
                self.folder.remove(&journal_name(next))?;
            }
            return Err(error);
        }
        let sealed = std::mem::replace(&mut self.journal, begun);
        // Only what lies there under this name: it may have been removed or exchanged meanwhile.
        if sealed.is_some_and(|journal| journal.is_in_place(&self.folder)) {
            self.put_away(self.part, &contents)?;
        }
        self.part = next;
        self.seal_not_before = None;
        if self.journal.is_some() { self.begin_part() } else { Ok(()) }
    }

    /// Makes parts of the rows of journal `number`, of which the manifest then says that it is sealed, and that
    /// journal `next` was begun.
    pub(super) fn seal_contents(
        &mut self,
        number: u64,
        contents: &Contents,
        next: Option<u64>,
    ) -> Result<(), LogError> {
        for schema in contents.tables() {
            self.manifest.declare(schema)?;
            // A crash may have come between ledger and journal: what is listed is complete, and is not written
            // again. A file that is not listed is, since it is not known whose it is.
            if self.ledger.get(&schema.name, number).is_none() {
                let rows = contents.rows(&schema.name);
                if !rows.is_empty() {
                    let part = write_part(&self.folder, schema, number, [batch_of(schema, &rows)])?;
                    self.ledger.add(&schema.name, number, part);
                    self.bytes_written += part.stamp.bytes;
                }
            }
        }
        // Counted once, however often this journal is sealed: the manifest says how far it has counted.
        if number > self.manifest.merged_through_part {
            for incident in &contents.incidents {
                self.manifest.count(incident.clone());
            }
            for damage in contents.damage.iter().filter(|damage| !damage.is_harmless()) {
                let detail = format!(
                    "journal-{number:06}, byte {}: {}; kept as journal-{number:06}.damaged",
                    damage.offset, damage.wrong
                );
                self.manifest.count(Incident::now("damaged_block", &detail));
            }
            self.manifest.merged_through_part = number;
        }
        self.manifest.open_part = next.or(self.manifest.open_part.filter(|open| *open > number));
        // With a sync: after this the journal may be removed.
        self.write_ledger(true)
    }

    pub(super) fn seal_when_due(&mut self) -> Result<(), LogError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let due = journal.length >= JOURNAL_BYTES_MAX || self.journal_started.elapsed() >= JOURNAL_AGE_MAX;
        let may = self.seal_not_before.is_none_or(|moment| Instant::now() >= moment);
        // With blocks waiting for room the disk is full, and sealing needs room.
        if due && may && self.backlog.is_empty() { self.seal() } else { Ok(()) }
    }
}
