//! The one writer of a log.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};

use crate::conform::conform;
use crate::error::{IoContext, LogError};
use crate::folder::{self, Folder};
use crate::history::refuse_superseded;
use crate::journal::{Block, Contents, Damage, Journal};
use crate::ledger::{Ledger, ledger_name};
use crate::manifest::{self, Incident, Manifest, Session, now_us};
use crate::part::{
    PartFile, batch_of, damaged_name, damaged_numbers, journal_name, journal_numbers, part_name,
    part_numbers, write_part,
};
use crate::schema::{Row, SCHEMA_VERSION, TableSchema};

/// A journal of this size is sealed. Sealing decodes one table of it into memory.
const JOURNAL_BYTES_MAX: u64 = 4 << 20;
/// A journal of this age is sealed, so that other programs see its rows as Parquet.
const JOURNAL_AGE_MAX: Duration = Duration::from_secs(3600);
/// Blocks kept in memory while the disk is full; what comes after is counted and dropped.
// Enough for a passing shortage, and little enough for the recorder's memory not to disturb the machine.
const BACKLOG_BYTES_MAX: usize = 8 << 20;
/// File that keeps room for the last manifest.
const RESERVE: &str = "reserve";
/// How long to wait before sealing is tried again on a full disk.
const SEAL_RETRY: Duration = Duration::from_secs(60);

/// What to do when there is a log already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenMode {
    /// Refuse to write.
    Create,
    /// Append a new session to it.
    Resume,
    /// Remove it first.
    Replace,
}

/// Handle of a declared table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId(usize);

/// A writer that several sources share: a recorder and the users that it records.
pub type SharedWriter = Arc<Mutex<LogWriter>>;

/// Writes a log; at most one at a time may exist for a folder.
#[derive(Debug)]
pub struct LogWriter {
    folder: Folder,
    // Held for its lock until the session ends; the kernel releases it when the process ends in any way.
    lock: Option<File>,
    manifest: Manifest,
    ledger: Ledger,
    session: usize,
    tables: Vec<TableSchema>,
    journal: Option<Journal>,
    journal_started: Instant,
    seal_not_before: Option<Instant>,
    /// Number of the open part, or of the next one.
    part: u64,
    backlog: VecDeque<Block>,
    backlog_bytes: usize,
    bytes_written: u64,
}

impl LogWriter {
    /// Opens the log in folder `dir` for writing, makes it where there is none, and begins a session.
    ///
    /// What an earlier writer left open is sealed first; that it did not end cleanly, and that the
    /// machine was rebooted in between, is counted as an incident.
    pub fn open(dir: &Path, mode: OpenMode, session: Session) -> Result<LogWriter, LogError> {
        let folder = Folder::create(dir)?;
        let exists = folder.has(manifest::FILE_NAME);
        match (mode, exists) {
            (OpenMode::Create, true) => return Err(LogError::Exists { path: dir.into() }),
            (_, true) => {}
            (_, false) => folder::refuse_others(&folder)?,
        }
        // Before anything is read or removed: another writer may be at work in the folder.
        let lock = folder.lock()?;
        if mode == OpenMode::Replace && exists {
            clear(&folder)?;
        }
        let (mut manifest, ledger) = if exists && mode == OpenMode::Resume {
            resumed(&folder)?
        } else {
            (Manifest::default(), Ledger::default())
        };
        // From here on the log holds rows that an earlier version does not read.
        manifest.schema_version = u64::from(SCHEMA_VERSION);
        let mut writer = LogWriter {
            folder,
            lock: Some(lock),
            manifest,
            ledger,
            session: 0,
            tables: Vec::new(),
            journal: None,
            journal_started: Instant::now(),
            seal_not_before: None,
            part: 1,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            bytes_written: 0,
        };
        // Before the session begins, so that its parts come after those of the writer before.
        writer.recover()?;
        writer.begin(session)?;
        Ok(writer)
    }

    /// Seals what earlier writers left, and finds the number of the next part.
    fn recover(&mut self) -> Result<(), LogError> {
        for number in journal_numbers(&self.folder)? {
            let name = journal_name(number);
            let contents = Contents::read(&self.folder, &name)?;
            self.seal_contents(number, &contents)?;
            // What could not be read is kept for whoever can: only a cut-off tail holds nothing.
            if contents.damage.iter().all(Damage::is_harmless) {
                self.folder.remove(&name)?;
            } else {
                self.folder.rename(&name, &damaged_name(number))?;
            }
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
        Ok(())
    }

    fn begin(&mut self, session: Session) -> Result<(), LogError> {
        if let Some(last) = self.manifest.sessions.last() {
            let killed = last.end_us.is_none();
            // The kernel's boot id changes with every boot; uptime and clocks may be set.
            let rebooted = last.boot_id.is_some() && last.boot_id != session.boot_id;
            if killed {
                self.manifest.count(Incident::now(
                    "killed",
                    "a session did not end cleanly; its last sample is missing, and what waited in memory on a full disk",
                ));
            }
            if rebooted {
                self.manifest.count(Incident::now("reboot", "the machine was rebooted between two sessions"));
            }
        }
        self.manifest.sessions.push(session);
        self.session = self.manifest.sessions.len() - 1;
        self.write_manifest(false)
    }

    /// Makes a table known; the same schema twice gives the same handle.
    pub fn declare(&mut self, schema: TableSchema) -> Result<TableId, LogError> {
        if let Some(at) = self.tables.iter().position(|known| *known == schema) {
            return Ok(TableId(at));
        }
        self.check_open()?;
        schema.validate()?;
        refuse_superseded(&schema)?;
        // The manifest first: rows of a table that it does not know could not be found.
        self.manifest.declare(&schema)?;
        self.write_manifest(false)?;
        // Handles are indices for the life of the writer: tables are never removed.
        let id = self.tables.len();
        if self.journal.is_some() {
            if self.tables.iter().any(|known| known.name == schema.name) {
                // One journal holds one schema a table.
                self.seal()?;
            } else {
                self.push(Block::table(id as u64, &schema))?;
            }
        }
        self.tables.push(schema);
        Ok(TableId(id))
    }

    /// Appends rows as one block, which is in the log whole or not at all.
    ///
    /// While the disk is full, blocks wait in memory and go out in order when there is room; that
    /// is counted as an incident, and is an error only for other causes.
    pub fn append(&mut self, rows: Vec<(TableId, Vec<Row>)>) -> Result<(), LogError> {
        let mut tables = Vec::with_capacity(rows.len());
        for (TableId(id), mut rows) in rows {
            for row in &mut rows {
                // All rows are checked before any is written: a wrong one must not leave half of an append in
                // the log.
                self.tables[id].fit(row)?;
            }
            tables.push((id as u64, rows));
        }
        self.ensure_journal()?;
        self.push(Block::rows(&tables))?;
        self.seal_when_due()
    }

    /// Counts an incident that happened now; it is in the log at once.
    pub fn incident(&mut self, kind: &str, detail: &str) -> Result<(), LogError> {
        self.count(&Incident::now(kind, detail))
    }

    /// Counts an incident of another time, or several of a kind; they are in the log at once.
    pub fn count(&mut self, incident: &Incident) -> Result<(), LogError> {
        self.ensure_journal()?;
        if self.is_backlog_full(0) {
            // There is no room for it in memory either; the manifest takes it with its next write.
            self.manifest.count(incident.clone());
            return Ok(());
        }
        self.push(Block::incident(incident))
    }

    /// Says a fact of this session under `key` in the manifest.
    pub fn set(&mut self, key: &str, value: serde_json::Value) -> Result<(), LogError> {
        self.check_open()?;
        self.manifest.sessions[self.session].facts.insert(key.into(), value);
        unless_full(self.write_manifest(false))
    }

    /// Writes `batches` as a complete part of a table, for sources that have whole columns.
    ///
    /// Types that hold the same values are converted; columns that a batch lacks become null.
    pub fn write_part(
        &mut self,
        table: TableId,
        batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    ) -> Result<(), LogError> {
        self.check_open()?;
        self.seal()?;
        // The open part takes its number first, so that parts stay in the order of time.
        let schema = &self.tables[table.0];
        let unreadable =
            |error: ArrowError| LogError::Schema { table: schema.name.clone(), reason: error.to_string() };
        let batches = batches.into_iter().map(|batch| conform(&batch.map_err(unreadable)?, schema));
        let part = write_part(&self.folder, schema, self.part, batches)?;
        self.ledger.add(&schema.name.clone(), self.part, part);
        self.bytes_written += part.stamp.bytes;
        self.part += 1;
        // Without a sync, which a source with many parts would wait for each time: the session's end has one.
        self.write_ledger(false)
    }

    /// Ends the open part: its rows become Parquet files, and the next row starts a new part. On a full disk the
    /// open part stays open, and is sealed when there is room.
    pub fn seal(&mut self) -> Result<(), LogError> {
        match self.seal_now() {
            Err(error) if is_full(&error) => {
                // Rows go on into the journal: it grows, but nothing is lost.
                self.seal_not_before = Some(Instant::now() + SEAL_RETRY);
                Ok(())
            }
            other => other,
        }
    }

    fn seal_now(&mut self) -> Result<(), LogError> {
        self.flush_backlog()?;
        let Some(journal) = &self.journal else { return Ok(()) };
        if !self.backlog.is_empty() {
            // Blocks that wait belong to this journal: the next one would not have their tables before them.
            return Err(io::Error::from(io::ErrorKind::StorageFull))
                .at("write", &self.folder.at(&journal.name));
        }
        // Read back from the disk and not kept in memory: what is sealed is what a crash would have left.
        let contents = journal.contents().at("read", &self.folder.at(&journal.name))?;
        let (name, lost) = (journal.name.clone(), journal.lost(&contents));
        if lost > 0 {
            self.manifest.count(rows_lost("another program shortened or changed the journal", lost));
        }
        self.seal_contents(self.part, &contents)?;
        // Only what lies there under this name: it may have been removed or exchanged meanwhile.
        if self.journal.take().is_some_and(|journal| journal.is_in_place(&self.folder)) {
            self.folder.remove(&name)?;
        }
        self.part += 1;
        self.seal_not_before = None;
        Ok(())
    }

    fn seal_contents(&mut self, number: u64, contents: &Contents) -> Result<(), LogError> {
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
        self.manifest.open_part = self.manifest.open_part.filter(|open| *open > number);
        // With a sync: after this the journal may be removed.
        self.write_ledger(true)
    }

    /// Puts the ledger and the manifest that names it in place, and removes the ledger before.
    fn write_ledger(&mut self, durable: bool) -> Result<(), LogError> {
        let before = self.manifest.ledger.map(|reference| reference.number);
        let number = before.unwrap_or(0) + 1;
        self.manifest.ledger = Some(self.ledger.write(&self.folder, number, durable)?);
        self.write_manifest(durable)?;
        match before {
            Some(before) => self.folder.remove(&ledger_name(before)),
            None => Ok(()),
        }
    }

    fn write_manifest(&self, durable: bool) -> Result<(), LogError> {
        self.manifest.write(&self.folder, durable)
    }

    fn seal_when_due(&mut self) -> Result<(), LogError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let due = journal.length >= JOURNAL_BYTES_MAX || self.journal_started.elapsed() >= JOURNAL_AGE_MAX;
        let may = self.seal_not_before.is_none_or(|moment| Instant::now() >= moment);
        // With blocks waiting for room the disk is full, and sealing needs room.
        if due && may && self.backlog.is_empty() { self.seal() } else { Ok(()) }
    }

    /// Looks whether folder, lock and journal are still those that this writer opened; a few system calls.
    ///
    /// A journal that another program shortened or removed is sealed as far as it can be read, which counts the
    /// blocks of rows that are lost; the incident is returned, and the log goes on in a new part. A folder or a lock
    /// that was moved, removed or replaced is an error, since rows would go where nobody looks for them.
    pub fn verify(&mut self) -> Result<Option<Incident>, LogError> {
        self.check_open()?;
        if let Some(lock) = &self.lock {
            self.folder.is_held(lock)?;
        }
        let Some(journal) = &self.journal else { return Ok(None) };
        let (is_whole, is_in_place) = (journal.is_whole(), journal.is_in_place(&self.folder));
        if is_whole && is_in_place {
            return Ok(None);
        }
        let did = if is_whole { "removed" } else { "shortened" };
        let detail = format!("another program {did} {}; the log goes on in a new part", journal.name);
        let incident = Incident::now("journal_changed", &detail);
        self.manifest.count(incident.clone());
        self.seal()?;
        Ok(Some(incident))
    }

    /// Removes the oldest parts until the log holds at most `bytes_max` and nothing older than `age_max`.
    pub fn retain(&mut self, bytes_max: Option<u64>, age_max: Option<Duration>) -> Result<(), LogError> {
        self.check_open()?;
        let sizes = self.part_sizes()?;
        let mut total: u64 = sizes.iter().map(|part| part.bytes).sum();
        let oldest_us =
            age_max.map(|age| now_us().saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)));
        let mut retired = Vec::new();
        for part in sizes {
            let too_many = bytes_max.is_some_and(|max| total > max);
            let too_old = oldest_us.is_some_and(|oldest| part.changed_us < oldest);
            // Oldest first: where one may stay, all later ones may.
            if !too_many && !too_old {
                break;
            }
            total -= part.bytes;
            retired.push(part.number);
        }
        let Some(last) = retired.last() else { return Ok(()) };
        self.manifest.retired_through_part = self.manifest.retired_through_part.max(*last);
        let retired: Vec<(u64, Vec<String>)> =
            retired.into_iter().map(|number| (number, self.ledger.retire(number))).collect();
        // Out of the ledger first: a part that it lists and that is gone would be a part that was lost.
        unless_full(self.write_ledger(true))?;
        for (number, tables) in retired {
            for table in tables {
                if let Some(sub) = self.folder.sub(&table)? {
                    sub.remove(&part_name(number))?;
                }
            }
            self.folder.remove(&damaged_name(number))?;
            self.incident("retired", "parts removed to keep the log within its limits")?;
        }
        Ok(())
    }

    /// Sizes of the sealed parts, the oldest first. All files of a number together: a part without its other
    /// tables would show half of a period.
    fn part_sizes(&self) -> Result<Vec<SealedPart>, LogError> {
        let mut numbers: BTreeSet<u64> = self.ledger.iter().map(|(_, number, _)| number).collect();
        numbers.extend(damaged_numbers(&self.folder)?);
        let mut sealed = Vec::new();
        for number in numbers {
            let mut part = SealedPart { number, bytes: 0, changed_us: 0 };
            let listed = self.ledger.iter().filter(|(_, of, _)| *of == number);
            for (table, ..) in listed {
                let sub = self.folder.sub(table)?;
                part.add(sub.and_then(|sub| sub.size_and_change(&part_name(number))));
            }
            part.add(self.folder.size_and_change(&damaged_name(number)));
            sealed.push(part);
        }
        Ok(sealed)
    }

    /// Bytes that this session wrote, journal and parts.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// The folder of the log.
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// Seals the open part and says in the manifest that the session ended cleanly, now.
    pub fn finish(&mut self) -> Result<(), LogError> {
        self.finish_at(now_us())
    }

    /// The same for a session of another time, such as an imported one; microseconds since 1970 UTC. Another writer
    /// may then go on in the log; this one takes nothing more. Ending twice is ending once.
    pub fn finish_at(&mut self, end_us: i64) -> Result<(), LogError> {
        if self.lock.is_none() {
            return Ok(());
        }
        let sealed = self.seal_now();
        if sealed.is_err() {
            self.give_up_backlog();
        }
        // After the seal: a session that is marked as ended has all of its rows in parts, or in a journal that
        // the next writer seals.
        self.manifest.sessions[self.session].end_us = Some(end_us);
        // Room for the manifest on a full disk.
        self.folder.remove(RESERVE)?;
        let written = self.write_manifest(true);
        if let Some(lock) = self.lock.take() {
            folder::unlock(&lock)?;
        }
        sealed.and(written)
    }

    /// Counts the blocks that wait in memory as lost: there is no later moment to write them.
    fn give_up_backlog(&mut self) {
        let lost = self.backlog.drain(..).filter(Block::is_rows).count() as u64;
        self.backlog_bytes = 0;
        if lost > 0 {
            self.manifest.count(rows_lost("the disk was full until the session ended", lost));
        }
    }

    /// Refuses what would write into a log that may be another's by now.
    fn check_open(&self) -> Result<(), LogError> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(LogError::Ended { path: self.folder.path().into() }),
        }
    }

    fn ensure_journal(&mut self) -> Result<(), LogError> {
        self.check_open()?;
        if self.journal.is_some() {
            return Ok(());
        }
        self.journal = Some(Journal::create(&self.folder, journal_name(self.part))?);
        self.journal_started = Instant::now();
        // Once it is announced, a journal that is gone is a finding and not an empty part.
        self.manifest.open_part = Some(self.part);
        unless_full(self.write_manifest(false))?;
        self.keep_reserve();
        // Each journal describes its own tables, so that it can be read without the manifest.
        for at in self.newest_schemas() {
            self.push(Block::table(at as u64, &self.tables[at]))?;
        }
        Ok(())
    }

    /// Indices of the declared tables, without those that a later declaration replaced.
    fn newest_schemas(&self) -> Vec<usize> {
        let replaced =
            |at: usize| self.tables[at + 1..].iter().any(|later| later.name == self.tables[at].name);
        (0..self.tables.len()).filter(|at| !replaced(*at)).collect()
    }

    /// Keeps some room for the manifest that says what a full disk has cost. Best effort: the disk may be full
    /// already.
    fn keep_reserve(&self) {
        if self.folder.has(RESERVE) {
            return;
        }
        let bytes =
            self.folder.size_and_change(manifest::FILE_NAME).map_or(0, |(bytes, _)| 2 * bytes as usize);
        // Not zeros: a file system that compresses would keep no room for them.
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        let filling: Vec<u8> = (0..bytes)
            .map(|_| {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                word as u8
            })
            .collect();
        let path = self.folder.at(RESERVE);
        let _ = self.folder.put_in_place(RESERVE, false, |file| file.write_all(&filling).at("write", &path));
    }

    fn is_backlog_full(&self, more: usize) -> bool {
        self.backlog_bytes + more > BACKLOG_BYTES_MAX
    }

    fn push(&mut self, block: Block) -> Result<(), LogError> {
        if block.is_rows() && self.is_backlog_full(block.len()) {
            self.manifest.count(rows_lost("the disk stayed full for too long", 1));
            // The new block is dropped and not the oldest: what stays is in order, and begins a gap at its
            // end. A table is never dropped: what follows could not be read.
            return self.flush_backlog();
        }
        self.backlog_bytes += block.len();
        // Through the backlog even when it is empty: one way only, and blocks cannot overtake each other.
        self.backlog.push_back(block);
        self.flush_backlog()
    }

    fn flush_backlog(&mut self) -> Result<(), LogError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        while let Some(block) = self.backlog.front() {
            match journal.append(block) {
                Ok(()) => {
                    self.bytes_written += block.len() as u64;
                    self.backlog_bytes -= block.len();
                    self.backlog.pop_front();
                }
                // No error: a recorder must survive a full disk, which is often what is to be studied.
                Err(error) if is_full_io(&error) => {
                    self.manifest
                        .count(Incident::now("disk_full", "blocks waited in memory for room on the disk"));
                    return Ok(());
                }
                Err(error) => return Err(error).at("append to", &self.folder.at(&journal.name)),
            }
        }
        Ok(())
    }
}

struct SealedPart {
    number: u64,
    bytes: u64,
    /// Last change of any of its files, microseconds since 1970 UTC.
    changed_us: i64,
}

impl SealedPart {
    fn add(&mut self, file: Option<(u64, i64)>) {
        if let Some((bytes, changed_us)) = file {
            self.bytes += bytes;
            self.changed_us = self.changed_us.max(changed_us);
        }
    }
}

/// The manifest and the ledger of a log that a writer goes on with.
fn resumed(folder: &Folder) -> Result<(Manifest, Ledger), LogError> {
    let mut manifest = Manifest::read(folder)?;
    if !manifest.is_intact {
        let detail = "the manifest was not the one that a writer wrote when this session began";
        manifest.count(Incident::now("manifest_changed", detail));
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
        for number in part_numbers(folder, &table.name)? {
            let part = PartFile::new(folder, &table.name, number);
            if let Ok(part) = part.measure(folder) {
                ledger.add(&table.name, number, part);
            }
        }
    }
    Ok((manifest, ledger))
}

/// Removes what this library wrote, and nothing else.
fn clear(folder: &Folder) -> Result<(), LogError> {
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
    if let Some(reference) = manifest.ledger {
        folder.remove(&ledger_name(reference.number))?;
    }
    folder.remove(RESERVE)
}

/// Blocks of rows that did not come into the log: each is a sample of a recorder.
fn rows_lost(why: &str, count: u64) -> Incident {
    Incident { count, ..Incident::now("rows_lost", why) }
}

fn is_full_io(error: &io::Error) -> bool {
    // A quota is a full disk for this user.
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn is_full(error: &LogError) -> bool {
    matches!(error, LogError::Io { source, .. } if is_full_io(source))
}

/// Passes a full disk over: facts go into the manifest with its next write.
fn unless_full(result: Result<(), LogError>) -> Result<(), LogError> {
    result.or_else(|error| if is_full(&error) { Ok(()) } else { Err(error) })
}
