//! The one writer of a log.

mod earlier;
mod retention;
mod sealing;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::conform::conform;
use crate::error::{IoContext, LogError};
use crate::folder::{self, Folder};
use crate::history::refuse_superseded;
use crate::journal::{Block, Contents, Damage, Journal};
use crate::ledger::Ledger;
use crate::lines::{LEDGER, SESSIONS};
use crate::manifest::{self, Incident, Manifest, Session, now_us};
use crate::part::{damaged_name, journal_name, write_part};
use crate::schema::{Row, SCHEMA_VERSION, TableSchema};

/// Blocks kept in memory while the disk is full; what comes after is counted and dropped.
// Enough for a passing shortage, and little enough for the recorder's memory not to disturb the machine.
const BACKLOG_BYTES_MAX: usize = 8 << 20;
/// File that keeps room for the last manifest.
const RESERVE: &str = "reserve";
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
    /// The manifest in memory says something that neither the one on the disk nor the journal says.
    is_ahead: bool,
    tables: Vec<TableSchema>,
    journal: Option<Journal>,
    journal_started: Instant,
    seal_not_before: Option<Instant>,
    /// Number of the open part, or of the next one.
    part: u64,
    backlog: VecDeque<Block>,
    backlog_bytes: usize,
    bytes_written: u64,
    /// Blocks of rows that this session was given.
    appended: u64,
    /// Of these, the ones that incidents name as lost.
    lost: u64,
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
            earlier::clear(&folder)?;
        }
        let (mut manifest, ledger) = if exists && mode == OpenMode::Resume {
            earlier::resumed(&folder)?
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
            is_ahead: false,
            tables: Vec::new(),
            journal: None,
            journal_started: Instant::now(),
            seal_not_before: None,
            part: 1,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            bytes_written: 0,
            appended: 0,
            lost: 0,
        };
        // Before the session begins, so that its parts come after those of the writer before.
        writer.recover()?;
        writer.begin(session)?;
        Ok(writer)
    }

    /// Removes a journal that is sealed. What could not be read is kept for whoever can: only a cut-off tail holds
    /// nothing.
    fn put_away(&self, number: u64, contents: &Contents) -> Result<(), LogError> {
        let name = journal_name(number);
        match contents.damage.iter().all(Damage::is_harmless) {
            true => self.folder.remove(&name),
            false => self.folder.rename(&name, &damaged_name(number)),
        }
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
        let superseded = self.manifest.archive_sessions(&self.folder)?;
        self.manifest.sessions.push(session);
        self.write_manifest(false)?;
        self.keep_reserve();
        superseded.map_or(Ok(()), |before| SESSIONS.remove(&self.folder, &before))
    }

    /// The session of this writer: those before it are in a file of their own.
    fn session(&mut self) -> &mut Session {
        self.manifest.sessions.last_mut().expect("a writer has begun a session")
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
        if self.manifest.declare(&schema)? {
            self.write_manifest(false)?;
        }
        // Handles are indices for the life of the writer: tables are never removed.
        let id = self.tables.len();
        if self.journal.is_some() {
            if self.tables.iter().any(|known| known.name == schema.name) {
                // One journal holds one schema a table: the next one begins with this.
                self.seal_or_put_off(false)?;
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
        self.appended += 1;
        if let Err(error) = self.ensure_journal() {
            self.lose(&format!("no journal could be begun: {error}"), 1);
            return Err(error);
        }
        self.push(Block::rows(&tables))?;
        self.seal_when_due()
    }

    /// Counts an append that was not made as lost: there was no place for it any more.
    pub fn give_up(&mut self, why: &str) {
        self.appended += 1;
        self.lose(why, 1);
    }

    /// Names `count` blocks of rows as lost; the manifest says so with its next write.
    fn lose(&mut self, why: &str, count: u64) {
        if count > 0 {
            self.lost += count;
            self.is_ahead = true;
            // Blocks of rows that did not come into the log: each is a sample of a recorder.
            self.manifest.count(Incident { count, ..Incident::now("rows_lost", why) });
        }
    }

    /// Appends of this session that are not in the log, and that incidents name.
    pub fn lost(&self) -> u64 {
        // With the folder, its manifest and every part are gone.
        if self.folder.is_removed() { self.appended } else { self.lost }
    }

    /// Blocks wait in memory because the disk is full.
    pub fn is_waiting(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// The lock is in the folder, which may have been moved: what is written stays together.
    pub fn is_writable(&self) -> bool {
        let is_locked = self.lock.as_ref().is_some_and(|lock| self.folder.is_locked_by(lock));
        is_locked && !self.folder.is_removed()
    }

    /// Where the log is now, in words.
    pub fn remains(&self) -> String {
        self.folder.remains()
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
            self.is_ahead = true;
            return Ok(());
        }
        self.push(Block::incident(incident))
    }

    /// Says a fact of this session under `key`: in the journal where one is open, and in the manifest that is written
    /// when it is sealed.
    pub fn set(&mut self, key: &str, value: serde_json::Value) -> Result<(), LogError> {
        self.check_open()?;
        let fact = Map::from_iter([(key.to_owned(), value)]);
        self.session().facts.extend(fact.clone());
        // What waits in memory is in order: a fact does not come before the rows that it speaks of.
        if self.journal.is_some() && !self.is_backlog_full(0) {
            self.push(Block::facts(&fact))?;
        }
        if self.journal.is_none() || self.is_ahead { unless_full(self.write_manifest(false)) } else { Ok(()) }
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
        // The open part takes its number first, so that parts stay in the order of time. No journal is begun yet: it would
        // have the number that this part takes.
        self.seal_or_put_off(false)?;
        if self.journal.is_some() {
            return self.refuse_full();
        }
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

    /// Brings the ledger up to date, puts the manifest that names it in place, and removes the ledger before.
    fn write_ledger(&mut self, durable: bool) -> Result<(), LogError> {
        let before = self.manifest.ledger;
        let after = self.ledger.write(&self.folder, before, durable)?;
        let is_anew = before.is_none_or(|before| before.number != after.number);
        self.manifest.ledger = Some(after);
        if let Err(error) = self.write_manifest(durable) {
            // The ledger before stays in force, in memory as on the disk.
            self.manifest.ledger = before;
            if is_anew {
                LEDGER.remove(&self.folder, &after)?;
            }
            return Err(error);
        }
        self.ledger.is_written(is_anew);
        match before.filter(|_| is_anew) {
            Some(before) => LEDGER.remove(&self.folder, &before),
            None => Ok(()),
        }
    }

    fn write_manifest(&mut self, durable: bool) -> Result<(), LogError> {
        self.manifest.write(&self.folder, durable)?;
        self.is_ahead = false;
        Ok(())
    }

    /// Looks whether folder, lock and journal are still those that this writer opened; a few system calls.
    ///
    /// A journal that another program shortened or removed is sealed as far as it can be read, and the log goes on
    /// in a new part; the incident is returned once, and [`LogWriter::lost`] has grown by what could not be read. A
    /// folder or a lock that was moved, removed or replaced is an error, since rows would go where nobody looks for
    /// them.
    pub fn verify(&mut self) -> Result<Option<Incident>, LogError> {
        self.check_open()?;
        if let Some(lock) = &self.lock {
            self.folder.is_held(lock)?;
        }
        let is_put_off = self.seal_not_before.is_some_and(|moment| Instant::now() < moment);
        let Some(journal) = &mut self.journal else { return Ok(None) };
        let (is_whole, is_in_place) = (journal.is_whole(), journal.is_in_place(&self.folder));
        if is_whole && (is_in_place || journal.is_changed && is_put_off) {
            return Ok(None);
        }
        let did = if is_whole { "removed" } else { "shortened" };
        let detail = format!("another program {did} {}; the log goes on in a new part", journal.name);
        let incident = Incident::now("journal_changed", &detail);
        let is_new = !std::mem::replace(&mut journal.is_changed, true);
        if is_new {
            self.manifest.count(incident.clone());
            self.is_ahead = true;
        }
        self.seal()?;
        if !is_whole {
            // On a full disk it could not be sealed, and rows go on into it: its tables may be among what was cut.
            if let Some(journal) = &mut self.journal {
                journal.accept_length().at("read", &self.folder.at(&journal.name))?;
                self.push_tables()?;
            }
        }
        Ok(is_new.then_some(incident))
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
        if let Err(error) = self.take_lock_again() {
            // Whoever holds the lock now has sealed the journal: what was not in it is all that is lost.
            self.lost += self.backlog.drain(..).filter(Block::is_rows).count() as u64;
            self.lock = None;
            return Err(error);
        }
        let sealed = self.seal_now(false);
        if let Err(error) = &sealed {
            self.give_up_unsealed(error);
        }
        // After the seal: a session that is marked as ended has all of its rows in parts, or in a journal that
        // the next writer seals.
        self.session().end_us = Some(end_us);
        let written = self.write_last_manifest();
        if let Some(lock) = self.lock.take() {
            self.folder.unlock(&lock)?;
        }
        sealed.and(written)
    }

    /// Takes the lock again where its file was removed or replaced, unless another writer has been there since.
    fn take_lock_again(&mut self) -> Result<(), LogError> {
        if self.folder.is_removed() || self.is_writable() {
            return Ok(());
        }
        let lock = self.folder.lock()?;
        // Another writer archives this session, or begins the log anew; without a manifest there was none.
        let is_mine = |there: Manifest| {
            let start_us = |manifest: &Manifest| manifest.sessions.last().map(|session| session.start_us);
            there.ended_sessions == self.manifest.ended_sessions
                && start_us(&there) == start_us(&self.manifest)
        };
        if !Manifest::read(&self.folder).map_or(true, is_mine) {
            return Err(self.folder.lost("lock"));
        }
        self.lock = Some(lock);
        Ok(())
    }

    /// Counts as lost what is neither in a part nor in a journal: there is no later moment to write it.
    fn give_up_unsealed(&mut self, error: &LogError) {
        let mut lost = self.backlog.drain(..).filter(Block::is_rows).count() as u64;
        self.backlog_bytes = 0;
        if let Some(journal) = self.journal.as_ref().filter(|journal| !journal.is_in_place(&self.folder)) {
            // Its name was removed, so that its bytes go with this process.
            lost += journal.row_blocks - journal.named_lost;
        }
        self.lose(
            &format!("what waited in memory when the session ended could not be written: {error}"),
            lost,
        );
    }

    /// Writes the manifest that ends the session, on a full disk in the room that was kept for it.
    fn write_last_manifest(&mut self) -> Result<(), LogError> {
        if let Some(ledger) = self.manifest.ledger {
            // Lines of parts that were written whole have not been waited for. One that is gone is a finding of
            // `check`, and no reason not to end.
            let _ = LEDGER.sync(&self.folder, &ledger);
        }
        if self.write_manifest(true).is_ok() {
            return self.folder.remove(RESERVE);
        }
        if self.folder.put_through(RESERVE, manifest::FILE_NAME, &self.manifest.text()).is_ok() {
            return Ok(());
        }
        // A file system that writes nothing in place has room only once the file is gone.
        self.folder.remove(RESERVE)?;
        self.write_manifest(true)
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
        match Journal::create(&self.folder, journal_name(self.part)) {
            Ok(journal) => self.journal = Some(journal),
            // Blocks wait in memory for the journal too.
            Err(error) if is_full(&error) => {
                self.manifest.count(disk_full());
                self.is_ahead = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        // Once it is announced, a journal that is gone is a finding and not an empty part.
        self.manifest.open_part = Some(self.part);
        unless_full(self.write_manifest(false))?;
        self.begin_part()
    }

    /// Goes on in the journal that was begun and announced.
    fn begin_part(&mut self) -> Result<(), LogError> {
        self.journal_started = Instant::now();
        self.keep_reserve();
        self.push_tables()
    }

    /// Each journal describes its own tables, so that it can be read without the manifest. They come before the
    /// rows that wait.
    fn push_tables(&mut self) -> Result<(), LogError> {
        for at in self.newest_schemas().into_iter().rev() {
            let block = Block::table(at as u64, &self.tables[at]);
            self.backlog_bytes += block.len();
            self.backlog.push_front(block);
        }
        self.flush_backlog()
    }

    /// The error of a disk that has no room to seal the open part.
    fn refuse_full(&self) -> Result<(), LogError> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
            .at("write", &self.folder.at(&journal_name(self.part)))
    }

    /// An error while blocks wait.
    fn refuse_backlog(&self) -> Result<(), LogError> {
        match self.backlog.is_empty() {
            true => Ok(()),
            false => self.refuse_full(),
        }
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
        let size = |name| self.folder.size_and_change(name).map_or(0, |(bytes, _)| bytes as usize);
        let (reserved, needed) = (size(RESERVE), size(manifest::FILE_NAME));
        // The manifest grows with sessions and incidents.
        if reserved > needed + needed / 2 {
            return;
        }
        let bytes = 2 * needed;
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
            self.lose("the disk stayed full for too long", 1);
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
                    self.manifest.count(disk_full());
                    self.is_ahead = true;
                    return Ok(());
                }
                Err(error) => return Err(error).at("append to", &self.folder.at(&journal.name)),
            }
        }
        Ok(())
    }
}

fn disk_full() -> Incident {
    Incident::now("disk_full", "blocks waited in memory for room on the disk")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Column, Kind, Type, Value};

    /// A file system over a network may lock files and not folders: there the file `lock` is all there is.
    #[test]
    fn without_a_lock_on_the_folder_the_writer_whose_lock_was_removed_gives_way() {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("log");
        let open = || LogWriter::open(&dir, OpenMode::Resume, Session::default()).unwrap();
        let column = Column::new("number", Type::U64, "row", Kind::Counter, "Number of the row");
        let schema = TableSchema::new("numbers", vec![column]);
        let write = |writer: &mut LogWriter, number| {
            let table = writer.declare(schema.clone()).unwrap();
            writer.append(vec![(table, vec![vec![Value::U64(number)]])]).unwrap();
        };
        let mut first = open();
        write(&mut first, 1);
        first.folder.unlock_itself();
        std::fs::remove_file(dir.join("lock")).unwrap();
        let mut second = open();
        write(&mut second, 2);
        let before = std::fs::read(dir.join("manifest.json")).unwrap();
        let message = first.finish().expect_err("the log is the second writer's").to_string();
        assert!(message.contains("is being written"), "{message}");
        assert_eq!(std::fs::read(dir.join("manifest.json")).unwrap(), before);
        second.finish().unwrap();
        let log = crate::Log::open(&dir).unwrap();
        assert_eq!(log.check().unwrap(), []);
        let rows: usize = log.read("numbers").unwrap().iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(rows, 2);
    }
}
