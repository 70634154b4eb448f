//! The one writer of a log.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};

use crate::conform::conform;
use crate::error::{IoContext, LogError};
use crate::folder;
use crate::history::refuse_superseded;
use crate::journal::{Contents, Journal, incident_block, rows_block, table_block};
use crate::manifest::{Incident, Manifest, Session, now_us};
use crate::part::{batch_of, journal_path, journals, numbered, part_path, parts, write_part};
use crate::schema::{Row, SCHEMA_VERSION, TableSchema};

/// A journal of this size is sealed. Sealing decodes one table of it into memory.
const JOURNAL_BYTES_MAX: u64 = 4 << 20;
/// A journal of this age is sealed, so that other programs see its rows as Parquet.
const JOURNAL_AGE_MAX: Duration = Duration::from_secs(3600);
/// Blocks kept in memory while the disk is full; what comes after is counted and dropped.
// Enough for a passing shortage, and little enough for the recorder's memory not to disturb the machine.
const BACKLOG_BYTES_MAX: usize = 8 << 20;
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
    dir: PathBuf,
    // Held for its lock until the session ends; the kernel releases it when the process ends in any way.
    lock: Option<File>,
    manifest: Manifest,
    session: usize,
    tables: Vec<TableSchema>,
    journal: Option<Journal>,
    journal_started: Instant,
    seal_not_before: Option<Instant>,
    /// Number of the open part, or of the next one.
    part: u64,
    backlog: VecDeque<Vec<u8>>,
    backlog_bytes: usize,
    bytes_written: u64,
}

impl LogWriter {
    /// Opens the log in folder `dir` for writing, makes it where there is none, and begins a session.
    ///
    /// What an earlier writer left open is sealed first; that it did not end cleanly, and that the
    /// machine was rebooted in between, is counted as an incident.
    pub fn open(dir: &Path, mode: OpenMode, session: Session) -> Result<LogWriter, LogError> {
        let exists = Manifest::path(dir).exists();
        match mode {
            OpenMode::Create if exists => return Err(LogError::Exists { path: dir.into() }),
            OpenMode::Resume | OpenMode::Replace | OpenMode::Create => folder::refuse_others(dir, exists)?,
        }
        fs::create_dir_all(dir).at("create", dir)?;
        // Before anything is read or removed: another writer may be at work in the folder.
        let lock = folder::lock(dir)?;
        if mode == OpenMode::Replace && exists {
            folder::clear(dir)?;
        }
        let mut manifest =
            if exists && mode == OpenMode::Resume { Manifest::read(dir)? } else { Manifest::default() };
        // From here on the log holds rows that an earlier version does not read.
        manifest.schema_version = u64::from(SCHEMA_VERSION);
        let mut writer = LogWriter {
            dir: dir.into(),
            lock: Some(lock),
            manifest,
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
        for (number, path) in journals(&self.dir)? {
            let contents = Contents::read(&path)?;
            self.seal_contents(number, &contents)?;
            // What could not be read is kept for whoever can: only a cut-off tail holds nothing.
            let torn_inside = contents.damage.iter().any(|damage| !damage.is_tail);
            let gone = if torn_inside {
                fs::rename(&path, path.with_extension("damaged"))
            } else {
                fs::remove_file(&path)
            };
            gone.at("remove the sealed journal", &path)?;
            // Never a number that was used: a reader takes a part for the journal of the same number.
            self.part = self.part.max(number + 1);
        }
        for table in self.manifest.tables.clone() {
            if let Some((number, _)) = parts(&self.dir, &table.name)?.last() {
                self.part = self.part.max(number + 1);
            }
        }
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
                    "a session did not end cleanly; at most its last sample is missing",
                ));
            }
            if rebooted {
                self.manifest.count(Incident::now("reboot", "the machine was rebooted between two sessions"));
            }
        }
        self.manifest.sessions.push(session);
        self.session = self.manifest.sessions.len() - 1;
        self.manifest.write(&self.dir, false)
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
        self.manifest.write(&self.dir, false)?;
        // Handles are indices for the life of the writer: tables are never removed.
        let id = self.tables.len();
        if self.journal.is_some() {
            if self.tables.iter().any(|known| known.name == schema.name) {
                // One journal holds one schema a table.
                self.seal()?;
            } else {
                self.push(table_block(id as u64, &schema))?;
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
        self.push(rows_block(&tables))?;
        self.seal_when_due()
    }

    /// Counts an incident that happened now; it is in the log at once.
    pub fn incident(&mut self, kind: &str, detail: &str) -> Result<(), LogError> {
        self.count(&Incident::now(kind, detail))
    }

    /// Counts an incident of another time, or several of a kind; they are in the log at once.
    pub fn count(&mut self, incident: &Incident) -> Result<(), LogError> {
        self.ensure_journal()?;
        self.push(incident_block(incident))
    }

    /// Says a fact of this session under `key` in the manifest.
    pub fn set(&mut self, key: &str, value: serde_json::Value) -> Result<(), LogError> {
        self.check_open()?;
        self.manifest.sessions[self.session].facts.insert(key.into(), value);
        unless_full(self.manifest.write(&self.dir, false))
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
        self.bytes_written += write_part(&self.dir, schema, self.part, batches)?;
        self.part += 1;
        Ok(())
    }

    /// Ends the open part: its rows become Parquet files, and the next row starts a new part.
    pub fn seal(&mut self) -> Result<(), LogError> {
        self.flush_backlog()?;
        let Some(journal) = &self.journal else { return Ok(()) };
        let path = journal.path.clone();
        // Read back from the disk and not kept in memory: what is sealed is what a crash would have left.
        self.seal_contents(self.part, &Contents::read(&path)?)?;
        if let Some(journal) = self.journal.take() {
            journal.remove()?;
        }
        self.part += 1;
        self.seal_not_before = None;
        Ok(())
    }

    fn seal_contents(&mut self, number: u64, contents: &Contents) -> Result<(), LogError> {
        for schema in contents.tables() {
            let rows = contents.rows(&schema.name);
            // A crash may have come between parts and journal: what is in place already is complete, and is
            // not written again.
            if !rows.is_empty() && !part_path(&self.dir, &schema.name, number).exists() {
                self.bytes_written += write_part(&self.dir, schema, number, [batch_of(schema, &rows)])?;
            }
            self.manifest.declare(schema)?;
        }
        // Counted once, however often this journal is sealed: the manifest says how far it has counted.
        if number > self.manifest.merged_through_part {
            for incident in &contents.incidents {
                self.manifest.count(incident.clone());
            }
            for damage in contents.damage.iter().filter(|damage| !damage.is_tail) {
                let detail = format!(
                    "journal-{number:06}: {} bytes at byte {} could not be read; kept as journal-{number:06}.damaged",
                    damage.length, damage.offset
                );
                self.manifest.count(Incident::now("damaged_block", &detail));
            }
            self.manifest.merged_through_part = number;
        }
        // With a sync: after this the journal may be removed.
        self.manifest.write(&self.dir, true)
    }

    fn seal_when_due(&mut self) -> Result<(), LogError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let due = journal.length >= JOURNAL_BYTES_MAX || self.journal_started.elapsed() >= JOURNAL_AGE_MAX;
        let may = self.seal_not_before.is_none_or(|moment| Instant::now() >= moment);
        // With blocks waiting for room the disk is full, and sealing needs room.
        if !due || !may || !self.backlog.is_empty() {
            return Ok(());
        }
        match self.seal() {
            Err(error) if is_full(&error) => {
                // Rows go on into the journal: it grows, but nothing is lost.
                self.seal_not_before = Some(Instant::now() + SEAL_RETRY);
                Ok(())
            }
            other => other,
        }
    }

    /// Removes the oldest parts until the log holds at most `bytes_max` and nothing older than `age_max`.
    pub fn retain(&mut self, bytes_max: Option<u64>, age_max: Option<Duration>) -> Result<(), LogError> {
        self.check_open()?;
        let sizes = self.part_sizes()?;
        let mut total: u64 = sizes.iter().map(|part| part.bytes).sum();
        for part in sizes {
            let too_many = bytes_max.is_some_and(|max| total > max);
            let too_old = age_max.is_some_and(|max| part.modified.elapsed().is_ok_and(|age| age > max));
            // Oldest first: where one may stay, all later ones may.
            if !too_many && !too_old {
                break;
            }
            for path in &part.paths {
                fs::remove_file(path).at("remove the old part", path)?;
            }
            total -= part.bytes;
            self.incident("retired", "parts removed to keep the log within its limits")?;
        }
        Ok(())
    }

    fn part_sizes(&self) -> Result<Vec<SealedPart>, LogError> {
        let mut files = Vec::new();
        for table in &self.manifest.tables {
            files.extend(parts(&self.dir, &table.name)?);
        }
        files.extend(numbered(&self.dir, "journal-", ".damaged")?);
        let numbers: BTreeSet<u64> = files.iter().map(|(number, _)| *number).collect();
        let mut sealed = Vec::new();
        for number in numbers {
            let mut part = SealedPart { bytes: 0, modified: SystemTime::UNIX_EPOCH, paths: Vec::new() };
            // All files of a number together: a part without its other tables would show half of a period.
            for (_, path) in files.iter().filter(|(of, _)| *of == number) {
                let metadata = fs::metadata(path).at("read", path)?;
                part.bytes += metadata.len();
                part.modified = part.modified.max(metadata.modified().at("read", path)?);
                part.paths.push(path.clone());
            }
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
        &self.dir
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
        self.seal()?;
        // Only after the seal: a session that is marked as ended has all of its rows in parts.
        self.manifest.sessions[self.session].end_us = Some(end_us);
        self.manifest.write(&self.dir, true)?;
        if let Some(lock) = self.lock.take() {
            folder::unlock(&lock)?;
        }
        Ok(())
    }

    /// Refuses what would write into a log that may be another's by now.
    fn check_open(&self) -> Result<(), LogError> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(LogError::Ended { path: self.dir.clone() }),
        }
    }

    fn ensure_journal(&mut self) -> Result<(), LogError> {
        self.check_open()?;
        if self.journal.is_some() {
            return Ok(());
        }
        self.journal = Some(Journal::create(journal_path(&self.dir, self.part))?);
        self.journal_started = Instant::now();
        // Each journal describes its own tables, so that it can be read without the manifest.
        for at in self.newest_schemas() {
            self.push(table_block(at as u64, &self.tables[at]))?;
        }
        Ok(())
    }

    /// Indices of the declared tables, without those that a later declaration replaced.
    fn newest_schemas(&self) -> Vec<usize> {
        let replaced =
            |at: usize| self.tables[at + 1..].iter().any(|later| later.name == self.tables[at].name);
        (0..self.tables.len()).filter(|at| !replaced(*at)).collect()
    }

    fn push(&mut self, block: Vec<u8>) -> Result<(), LogError> {
        if self.backlog_bytes + block.len() > BACKLOG_BYTES_MAX {
            self.manifest
                .count(Incident::now("disk_full", "blocks dropped: the disk stayed full for too long"));
            // The new block is dropped and not the oldest: what stays is in order, and begins a gap at its
            // end.
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
                Err(error) => return Err(error).at("append to", &journal.path),
            }
        }
        Ok(())
    }
}

struct SealedPart {
    bytes: u64,
    modified: SystemTime,
    paths: Vec<PathBuf>,
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
