//! A log read part by part and, while it is being written, on: what a view of it needs.
//!
//! [`Log`](crate::Log) is a log as it stood at one moment. A [`Follower`] stays with it for hours: the open part is
//! read from where the last look ended, so that a look costs what is new and not what is there, and complete parts are
//! read when they are asked for, so that a log of years takes no memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::file::statistics::Statistics;

use crate::error::{IoContext, LogError};
use crate::folder::Folder;
use crate::history::Superseded;
use crate::journal::{Contents, Ending, FILE_MAGIC, is_cut_short};
use crate::manifest::Manifest;
use crate::part::{PartFile, batch_of, journal_name, journal_numbers};
use crate::reader::Log;
use crate::schema::TableSchema;

/// Most bytes of a journal that one look takes; the next one goes on from there. A recorder seals at 4 MB.
const LOOK_BYTES_MAX: u64 = 8 << 20;

/// What a look found in the open part.
#[derive(Debug, Default)]
pub struct News {
    /// Number of the part; `None` where nothing is open.
    pub part: Option<u64>,
    /// New rows by table, in the order in which they were written.
    pub rows: Vec<(String, RecordBatch)>,
    /// The look took something, be it of other tables: another one may find more.
    pub moved: bool,
    /// No more will come for this part: its writer has sealed it, or has begun another.
    pub ended: bool,
}

/// The open part, and how far it has been read.
#[derive(Debug)]
struct Tail {
    number: u64,
    /// Stays open: what is sealed and removed meanwhile can still be read to its end.
    file: File,
    offset: u64,
    contents: Contents,
}

/// A log that is read part by part and, while it is being written, on.
#[derive(Debug)]
pub struct Follower {
    folder: Folder,
    log: Log,
    tail: Option<Tail>,
    /// Number of the last part that was read as an open one.
    done: u64,
}

impl Follower {
    /// Opens the log in folder `dir`.
    pub fn open(dir: &Path) -> Result<Follower, LogError> {
        let folder = Folder::open(dir)?;
        let mut log = Log::open(dir)?;
        // Read again from the beginning, by the first look.
        log.journals.clear();
        Ok(Follower { folder, log, tail: None, done: 0 })
    }

    /// The manifest, as it was when the log was opened or when the last part ended.
    pub fn manifest(&self) -> &Manifest {
        self.log.manifest()
    }

    /// Whether the log is still where it was opened: it may have been moved, removed or replaced.
    pub fn is_in_place(&self) -> bool {
        self.folder.is_in_place()
    }

    /// Numbers and rows of the complete parts of `table`, in order of time.
    pub fn parts(&self, table: &str) -> Result<Vec<(u64, u64)>, LogError> {
        let rows = |part: &PartFile| {
            let listed = self.log.ledger.as_ref().and_then(|ledger| ledger.get(table, part.number));
            match listed {
                Some(listed) => Ok((part.number, listed.rows)),
                None => {
                    let metadata = part.reader(part.open(&self.folder)?)?.metadata().clone();
                    Ok((part.number, u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0)))
                }
            }
        };
        self.log.part_files(table).iter().map(rows).collect()
    }

    /// First and last value of the column of times `column` in part `number` of `table`, by the statistics in the
    /// file [µs since 1970-01-01 UTC]; `None` where it has none.
    pub fn range(&self, table: &str, number: u64, column: &str) -> Result<Option<(i64, i64)>, LogError> {
        let part = PartFile::new(&self.folder, table, number);
        let metadata = part.reader(part.open(&self.folder)?)?.metadata().clone();
        let mut range: Option<(i64, i64)> = None;
        for group in metadata.row_groups() {
            let chunk = group.columns().iter().find(|chunk| chunk.column_path().string() == column);
            let Some(Statistics::Int64(values)) = chunk.and_then(|chunk| chunk.statistics()) else {
                return Ok(None);
            };
            let (Some(low), Some(high)) = (values.min_opt(), values.max_opt()) else { return Ok(None) };
            range = Some(range.map_or((*low, *high), |(least, most)| (least.min(*low), most.max(*high))));
        }
        Ok(range)
    }

    /// Calls `take` with the rows of the complete part `number` of `table`, a batch at a time and of `columns` alone;
    /// one that the part lacks is left out.
    pub fn read(
        &self,
        table: &str,
        number: u64,
        columns: &[&str],
        take: impl FnMut(RecordBatch) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let part = PartFile::new(&self.folder, table, number);
        let choose = |reader: parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder<File>| {
            let fields = reader.schema().fields();
            // By today's names: a part of an earlier version has the column under its old one.
            let wanted = fields.iter().enumerate().filter(|(_, field)| {
                let old = Superseded::of_field(table, field);
                columns.contains(&old.map_or(field.name().as_str(), |old| old.by))
            });
            let roots: Vec<usize> = wanted.map(|(at, _)| at).collect();
            let mask = ProjectionMask::roots(reader.parquet_schema(), roots);
            reader.with_projection(mask)
        };
        part.for_each_batch_of(part.open(&self.folder)?, choose, take)
    }

    /// What was written of `tables` to the open part since the last look, or to the next one where that has ended.
    pub fn look(&mut self, tables: &[&str]) -> Result<News, LogError> {
        if self.tail.is_none() {
            self.tail = self.next_tail()?;
            if self.tail.is_some() {
                // Another session may have begun it.
                self.reopen()?;
            }
        }
        let Some(tail) = &mut self.tail else { return Ok(News::default()) };
        let number = tail.number;
        // Asked before reading: what is sealed and removed is complete, and its last rows are read below.
        let is_over = !self.folder.holds(&journal_name(number), &tail.file);
        let before = tail.offset;
        let rows = tail.read(&self.folder, tables)?;
        if tail.offset > before {
            return Ok(News { part: Some(number), rows, moved: true, ended: false });
        }
        // The next journal is begun before this one is removed, and stays after a crash.
        let ended = is_over || journal_numbers(&self.folder)?.last().is_some_and(|last| *last > number);
        if ended {
            self.done = number;
            self.tail = None;
            // The manifest lists it now, as far as it was sealed, and says whether the session has ended.
            self.reopen()?;
        }
        Ok(News { part: Some(number), rows, moved: ended, ended })
    }

    fn reopen(&mut self) -> Result<(), LogError> {
        self.log = Log::open(&self.log.dir)?;
        // Read again from the beginning, by the first look.
        self.log.journals.clear();
        Ok(())
    }

    /// The first journal that was neither read nor sealed.
    fn next_tail(&self) -> Result<Option<Tail>, LogError> {
        let tables = &self.log.manifest().tables;
        let last = |table: &TableSchema| self.log.part_files(&table.name).last().map(|part| part.number);
        let sealed = tables.iter().filter_map(last).max().unwrap_or(0);
        let numbers = journal_numbers(&self.folder)?;
        let Some(number) = numbers.into_iter().find(|number| *number > self.done.max(sealed)) else {
            return Ok(None);
        };
        match self.folder.open_file(&journal_name(number)) {
            Ok(file) => Ok(Some(Tail { number, file, offset: 0, contents: Contents::default() })),
            // Sealed between listing and opening.
            Err(LogError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Tail {
    /// The rows of the blocks that are whole and were not read before.
    fn read(&mut self, folder: &Folder, tables: &[&str]) -> Result<Vec<(String, RecordBatch)>, LogError> {
        let path = folder.at(&journal_name(self.number));
        let length = self.file.metadata().at("read", &path)?.len();
        let new = length.saturating_sub(self.offset).min(LOOK_BYTES_MAX);
        if new == 0 || (self.offset == 0 && new < FILE_MAGIC.len() as u64) {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; usize::try_from(new).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, self.offset).at("read", &path)?;
        let start = if self.offset == 0 && bytes.starts_with(FILE_MAGIC) { FILE_MAGIC.len() } else { 0 };
        // A block that is longer than a look is none: it would be waited for without end.
        let is_endless = new == LOOK_BYTES_MAX && is_cut_short(&bytes[start..]);
        let ending = if is_endless { Ending::Final } else { Ending::Growing };
        let taken = self.contents.take_blocks(bytes, start, ending);
        self.offset += taken as u64;
        let mut found = Vec::new();
        for schema in self.contents.tables().filter(|schema| tables.contains(&schema.name.as_str())) {
            let rows = self.contents.rows(&schema.name);
            if !rows.is_empty() {
                found.push((schema.name.clone(), batch_of(schema, &rows)?));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::UInt64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;

    use super::*;
    use crate::{Column, Kind, LogWriter, OpenMode, Session, TableId, Type, Value};

    const TABLE: &str = "numbers";

    fn schema() -> TableSchema {
        TableSchema::new(
            TABLE,
            vec![
                Column::new("time", Type::Time, "us", Kind::Time, "Time"),
                Column::new("number", Type::U64, "", Kind::Counter, "Number"),
            ],
        )
    }

    fn writer(dir: &Path, mode: OpenMode) -> (LogWriter, TableId) {
        let mut writer = LogWriter::open(dir, mode, Session::default()).unwrap();
        let table = writer.declare(schema()).unwrap();
        (writer, table)
    }

    fn append(writer: &mut LogWriter, table: TableId, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let row = vec![Value::Time(number as i64), Value::U64(number)];
            writer.append(vec![(table, vec![row])]).unwrap();
        }
    }

    fn numbers(batch: &RecordBatch) -> Vec<u64> {
        let column: &UInt64Array = batch.column_by_name("number").unwrap().as_primitive::<UInt64Type>();
        column.values().to_vec()
    }

    /// Looks until a look finds nothing; what was found by part, and the parts that ended.
    fn looked(follower: &mut Follower) -> (Vec<(u64, u64)>, Vec<u64>) {
        let (mut found, mut ended) = (Vec::new(), Vec::new());
        loop {
            let news = follower.look(&[TABLE]).unwrap();
            let part = news.part.unwrap_or(0);
            for (table, batch) in &news.rows {
                assert_eq!(table, TABLE);
                found.extend(numbers(batch).into_iter().map(|number| (part, number)));
            }
            ended.extend(news.ended.then_some(part));
            if !news.moved {
                return (found, ended);
            }
        }
    }

    fn expected(part: u64, numbers: std::ops::Range<u64>) -> Vec<(u64, u64)> {
        numbers.map(|number| (part, number)).collect()
    }

    #[test]
    fn a_look_finds_what_is_new_and_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let (mut writer, table) = writer(&dir, OpenMode::Create);
        append(&mut writer, table, 0..3);
        let mut follower = Follower::open(&dir).unwrap();
        assert_eq!(looked(&mut follower), (expected(1, 0..3), vec![]));
        assert_eq!(looked(&mut follower), (vec![], vec![]));
        append(&mut writer, table, 3..5);
        assert_eq!(looked(&mut follower), (expected(1, 3..5), vec![]));
        // Written and sealed between two looks: nothing of it is missed.
        append(&mut writer, table, 5..7);
        writer.seal().unwrap();
        append(&mut writer, table, 7..8);
        let mut all = expected(1, 5..7);
        all.extend(expected(2, 7..8));
        assert_eq!(looked(&mut follower), (all, vec![1]));
        assert_eq!(follower.parts(TABLE).unwrap(), vec![(1, 7)]);
        writer.finish().unwrap();
        assert_eq!(looked(&mut follower), (vec![], vec![2]));
        assert!(follower.manifest().sessions.last().unwrap().end_us.is_some());
    }

    #[test]
    fn complete_parts_are_read_when_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let (mut writer, table) = writer(&dir, OpenMode::Create);
        append(&mut writer, table, 10..14);
        writer.seal().unwrap();
        append(&mut writer, table, 14..15);
        writer.finish().unwrap();
        let mut follower = Follower::open(&dir).unwrap();
        assert_eq!(looked(&mut follower), (vec![], vec![]));
        assert_eq!(follower.parts(TABLE).unwrap(), vec![(1, 4), (2, 1)]);
        assert_eq!(follower.range(TABLE, 1, "time").unwrap(), Some((10, 13)));
        let mut read = Vec::new();
        let take = |batch: RecordBatch| {
            assert_eq!(batch.num_columns(), 1);
            read.extend(numbers(&batch));
            Ok(())
        };
        follower.read(TABLE, 1, &["number", "another"], take).unwrap();
        assert_eq!(read, vec![10, 11, 12, 13]);
    }

    #[test]
    fn a_new_session_goes_on_behind_what_a_killed_writer_left() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let (mut killed, table) = writer(&dir, OpenMode::Create);
        append(&mut killed, table, 0..2);
        let mut follower = Follower::open(&dir).unwrap();
        assert_eq!(looked(&mut follower), (expected(1, 0..2), vec![]));
        append(&mut killed, table, 2..3);
        drop(killed);
        let (mut next, table) = writer(&dir, OpenMode::Resume);
        append(&mut next, table, 3..4);
        let mut all = expected(1, 2..3);
        all.extend(expected(2, 3..4));
        assert_eq!(looked(&mut follower), (all, vec![1]));
    }

    #[test]
    fn half_a_block_waits_for_its_other_half() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let (mut writer, table) = writer(&dir, OpenMode::Create);
        append(&mut writer, table, 0..2);
        let journal = dir.join(journal_name(1));
        let whole = std::fs::read(&journal).unwrap();
        // As a look in the middle of a write would find it.
        std::fs::write(&journal, &whole[..whole.len() - 3]).unwrap();
        let mut follower = Follower::open(&dir).unwrap();
        assert_eq!(looked(&mut follower), (expected(1, 0..1), vec![]));
        std::fs::write(&journal, &whole).unwrap();
        assert_eq!(looked(&mut follower), (expected(1, 1..2), vec![]));
    }
}
