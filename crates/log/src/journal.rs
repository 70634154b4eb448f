//! The open part: an append-only file of checksummed blocks.
//!
//! ```text
//! file   = "TTJOURN1" block*
//! block  = "TTB2" kind:u8 length:u32 sequence:u32 crc32:u32 payload     (little endian; the checksum covers
//!                                                                        kind, length, sequence and payload)
//! kind 1 = table:  JSON {id, schema}     kind 2 = rows: (table varint, count varint, length varint, rows)*
//! kind 3 = incident: JSON                kind 4 = facts: JSON {key: value}
//! any other kind: skipped, so that older readers read newer files
//! ```
//!
//! Blocks are numbered from 0, so that one that was removed, doubled or moved is noticed although its own checksum
//! holds. Logs before version 3 have blocks "TTB1" without a number; they are read too.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::codec::{Decoder, put_row, put_varint};
use crate::error::{IoContext, LogError};
use crate::folder::Folder;
use crate::history::{upgraded, upgraded_value};
use crate::manifest::{Incident, Session};
use crate::schema::{Row, TableSchema, Type, Value};

pub(crate) const FILE_MAGIC: &[u8; 8] = b"TTJOURN1";
const BLOCK_MAGIC: &[u8; 4] = b"TTB2";
const OLD_BLOCK_MAGIC: &[u8; 4] = b"TTB1";
// Magic 4, kind 1, length 4, sequence 4, checksum 4 bytes; the old blocks lack the sequence.
const BLOCK_HEADER: usize = 17;
const OLD_BLOCK_HEADER: usize = 13;
const KIND_TABLE: u8 = 1;
const KIND_ROWS: u8 = 2;
const KIND_INCIDENT: u8 = 3;
const KIND_FACTS: u8 = 4;
/// Longer journals are no recorder's (it seals at 4 MB), and are not read into memory.
const JOURNAL_BYTES_READ_MAX: u64 = 1 << 30;
/// Bytes hashed while looking for the next valid block, as a multiple of the file's length: what looks like
/// headers, each with a length to the end of the file, would take quadratic time otherwise.
const HASHED_LENGTHS_MAX: usize = 16;

#[derive(Serialize, Deserialize)]
struct TableBlock {
    id: u64,
    schema: TableSchema,
}

/// A block that has no number yet: it takes one when it is appended.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) kind: u8,
    pub(crate) payload: Vec<u8>,
}

impl Block {
    pub(crate) fn table(id: u64, schema: &TableSchema) -> Block {
        let block = TableBlock { id, schema: schema.clone() };
        Block { kind: KIND_TABLE, payload: serde_json::to_vec(&block).expect("a schema is plain data") }
    }

    pub(crate) fn incident(incident: &Incident) -> Block {
        Block {
            kind: KIND_INCIDENT,
            payload: serde_json::to_vec(incident).expect("an incident is plain data"),
        }
    }

    /// Facts of the session, in force until later ones.
    pub(crate) fn facts(facts: &Map<String, Json>) -> Block {
        Block { kind: KIND_FACTS, payload: serde_json::to_vec(facts).expect("facts are plain data") }
    }

    /// The rows of one append, of all tables, as one block: a reader finds all of them or none.
    pub(crate) fn rows(tables: &[(u64, Vec<Row>)]) -> Block {
        let mut payload = Vec::new();
        let mut rows_bytes = Vec::new();
        for (id, rows) in tables {
            rows_bytes.clear();
            for row in rows {
                put_row(&mut rows_bytes, row);
            }
            put_varint(&mut payload, *id);
            put_varint(&mut payload, rows.len() as u64);
            // The length lets a reader that wants one table skip the others without decoding them.
            put_varint(&mut payload, rows_bytes.len() as u64);
            payload.extend_from_slice(&rows_bytes);
        }
        Block { kind: KIND_ROWS, payload }
    }

    pub(crate) fn is_rows(&self) -> bool {
        self.kind == KIND_ROWS
    }

    /// Bytes of the block in the file.
    pub(crate) fn len(&self) -> usize {
        BLOCK_HEADER + self.payload.len()
    }

    pub(crate) fn framed(&self, sequence: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        bytes.extend_from_slice(BLOCK_MAGIC);
        bytes.push(self.kind);
        bytes.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(&checksum(self.kind, Some(sequence), &self.payload).to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}

/// Checksum of a block. It covers kind and length too: a wrong length would otherwise pass for a short
/// payload. Old blocks have no sequence.
fn checksum(kind: u8, sequence: Option<u32>, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(&(payload.len() as u32).to_le_bytes());
    if let Some(sequence) = sequence {
        hasher.update(&sequence.to_le_bytes());
    }
    hasher.update(payload);
    hasher.finalize()
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Its name in the folder of the log.
    pub(crate) name: String,
    file: File,
    /// Bytes that are whole blocks.
    pub(crate) length: u64,
    /// Number of the next block.
    sequence: u32,
    /// Appended blocks of rows.
    pub(crate) row_blocks: u64,
    /// Of these, the ones that an incident already names as lost.
    pub(crate) named_lost: u64,
    /// That another program changed the file was counted.
    pub(crate) is_changed: bool,
}

impl Journal {
    /// Starts a new journal; there must be none of that name.
    pub(crate) fn create(folder: &Folder, name: String) -> Result<Journal, LogError> {
        let mut file = folder.create_file(&name)?;
        if let Err(error) = file.write_all(FILE_MAGIC) {
            // An empty journal would be taken for a damaged one.
            let _ = folder.remove(&name);
            return Err(error).at("write to", &folder.at(&name));
        }
        let length = FILE_MAGIC.len() as u64;
        Ok(Journal { name, file, length, sequence: 0, row_blocks: 0, named_lost: 0, is_changed: false })
    }

    /// Appends a block whole or not at all: after an error the file ends where it did before.
    pub(crate) fn append(&mut self, block: &Block) -> io::Result<()> {
        let bytes = block.framed(self.sequence);
        match self.file.write_all(&bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                self.sequence = self.sequence.wrapping_add(1);
                self.row_blocks += u64::from(block.is_rows());
                Ok(())
            }
            Err(error) => {
                // A full disk may have taken part of the block: it goes, or the next block would stand behind
                // rubbish.
                self.file.set_len(self.length)?;
                Err(error)
            }
        }
    }

    /// Whether the file is as long as what was written to it: another program may have shortened it.
    pub(crate) fn is_whole(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.len() == self.length)
    }

    /// Takes the file as it is now for what was written: another program changed it, and that was counted.
    pub(crate) fn accept_length(&mut self) -> io::Result<()> {
        self.length = self.file.metadata()?.len();
        Ok(())
    }

    /// Whether the file still has its name in `folder`.
    pub(crate) fn is_in_place(&self, folder: &Folder) -> bool {
        folder.holds(&self.name, &self.file)
    }

    /// The file as it is now, read through the descriptor: it is there even after its name was removed.
    pub(crate) fn contents(&self) -> io::Result<Contents> {
        let mut bytes = Vec::with_capacity(self.length as usize);
        let mut file = &self.file;
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(Contents::parse(bytes))
    }

    /// Appended blocks of rows that `contents`, which was read back, does not hold.
    pub(crate) fn lost(&self, contents: &Contents) -> u64 {
        self.row_blocks.saturating_sub(contents.row_blocks)
    }
}

/// What is wrong at a place of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// These bytes are no valid block.
    Unreadable { length: u64 },
    /// The same, up to the end of the file: a write that was cut short, as a kill or a crash leaves it.
    Torn { length: u64 },
    /// So many blocks before this one are not there.
    Missing { blocks: u32 },
    /// The block has the number of an earlier one; it is left out.
    Repeated,
    /// The checksum holds, and the payload does not decode; it is left out.
    Undecodable,
    /// The block has rows of a table that none before it declares; they are left out.
    NoTable,
}

/// A place of a journal that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Byte of the file.
    pub(crate) offset: u64,
    pub(crate) wrong: Wrong,
}

impl Damage {
    /// Nothing that was ever complete is lost here.
    pub(crate) fn is_harmless(&self) -> bool {
        matches!(self.wrong, Wrong::Torn { .. })
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::Unreadable { length } | Wrong::Torn { length } => {
                write!(out, "{length} bytes are no valid block")
            }
            Wrong::Missing { blocks: 1 } => write!(out, "a block that was written is missing here"),
            Wrong::Missing { blocks } => write!(out, "{blocks} blocks that were written are missing here"),
            Wrong::Repeated => write!(out, "a block that stands earlier is repeated here"),
            Wrong::Undecodable => write!(out, "the block does not decode, although its checksum holds"),
            Wrong::NoTable => write!(out, "the block has rows of a table that is not declared before it"),
        }
    }
}

/// What a journal holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    bytes: Vec<u8>,
    tables: Vec<StoredTable>,
    /// Index in `tables` by the id that blocks of rows name.
    ids: BTreeMap<u64, usize>,
    /// Rows that decode, in the order in which they were written.
    segments: Vec<Segment>,
    /// Number that the next block should have.
    next_sequence: u32,
    /// Blocks of rows that decode.
    pub(crate) row_blocks: u64,
    pub(crate) incidents: Vec<Incident>,
    /// Facts of the session that wrote the journal, the last of each key.
    pub(crate) facts: Map<String, Json>,
    pub(crate) damage: Vec<Damage>,
}

/// What the end of the bytes of a journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The end of the file.
    Final,
    /// Where the file ends now: its writer may be about to write on.
    Growing,
}

/// A table that the journal holds rows of.
#[derive(Clone, Debug)]
struct StoredTable {
    /// Types by which the rows are decoded: those of the version that wrote them.
    stored_types: Vec<Type>,
    schema: TableSchema,
}

/// Rows of one table in one block.
#[derive(Clone, Copy, Debug)]
struct Segment {
    table: usize,
    rows: u64,
    start: usize,
    end: usize,
}

/// A valid block: where its payload is.
struct Framed {
    kind: u8,
    sequence: Option<u32>,
    start: usize,
    end: usize,
}

impl Contents {
    pub(crate) fn read(folder: &Folder, name: &str) -> Result<Contents, LogError> {
        let path = folder.at(name);
        let mut file = folder.open_file(name)?;
        let length = file.metadata().at("read", &path)?.len();
        if length > JOURNAL_BYTES_READ_MAX {
            let reason = format!("{length} bytes are no journal: one is sealed at 4 MB");
            return Err(LogError::damaged(&path, "journal", reason));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).at("read", &path)?;
        Ok(Contents::parse(bytes))
    }

    /// The file has no byte.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn parse(bytes: Vec<u8>) -> Contents {
        let mut contents = Contents::default();
        // Without its head the file is read all the same: blocks are found by their own magic.
        let start = if bytes.starts_with(FILE_MAGIC) { FILE_MAGIC.len() } else { 0 };
        contents.take_blocks(bytes, start, Ending::Final);
        contents
    }

    /// Takes `bytes` from `start` on, which follow in the file what was taken before and replace its rows. Returns
    /// the end of what was taken: of a file that grows, a block at the end that is not whole yet is left.
    pub(crate) fn take_blocks(&mut self, bytes: Vec<u8>, start: usize, ending: Ending) -> usize {
        self.segments.clear();
        self.damage.clear();
        let mut at = start;
        let mut budget = bytes.len().saturating_mul(HASHED_LENGTHS_MAX);
        while at < bytes.len() {
            if let Some(block) = block_at(&bytes, at, &mut budget) {
                if self.is_next(&block, at) {
                    if let Err(wrong) = self.take(&block, &bytes) {
                        self.damage.push(Damage { offset: at as u64, wrong });
                    }
                }
                at = block.end;
            } else {
                // Byte by byte and not by the length of the damaged block, which may be what is damaged.
                let next = next_block(&bytes, at + 1, &mut budget);
                let length = (next - at) as u64;
                let is_torn = next == bytes.len() && is_cut_short(&bytes[at..]);
                if is_torn && ending == Ending::Growing {
                    break;
                }
                let wrong = if is_torn { Wrong::Torn { length } } else { Wrong::Unreadable { length } };
                self.damage.push(Damage { offset: at as u64, wrong });
                at = next;
            }
        }
        self.bytes = bytes;
        at
    }

    /// Whether the block is to be taken; notes what is missing before it, or that it was there before.
    fn is_next(&mut self, block: &Framed, at: usize) -> bool {
        let Some(sequence) = block.sequence else { return true };
        // Numbers wrap after 2^32 blocks: what is less than half of the circle ahead is later.
        let ahead = sequence.wrapping_sub(self.next_sequence);
        if ahead > u32::MAX / 2 {
            self.damage.push(Damage { offset: at as u64, wrong: Wrong::Repeated });
            return false;
        }
        // Bytes that are no block, just before, are what is missing.
        let is_explained = matches!(self.damage.last(), Some(Damage { offset, wrong: Wrong::Unreadable { length } })
            if offset + length == at as u64);
        if ahead > 0 && !is_explained {
            self.damage.push(Damage { offset: at as u64, wrong: Wrong::Missing { blocks: ahead } });
        }
        self.next_sequence = sequence.wrapping_add(1);
        true
    }

    fn take(&mut self, block: &Framed, bytes: &[u8]) -> Result<(), Wrong> {
        let payload = &bytes[block.start..block.end];
        match block.kind {
            KIND_TABLE => self.take_table(payload)?,
            KIND_ROWS => {
                self.take_rows(payload, block.start)?;
                self.row_blocks += 1;
            }
            KIND_INCIDENT => {
                self.incidents.push(serde_json::from_slice(payload).map_err(|_| Wrong::Undecodable)?);
            }
            KIND_FACTS => {
                let facts: Map<String, Json> =
                    serde_json::from_slice(payload).map_err(|_| Wrong::Undecodable)?;
                if !facts.keys().all(|key| Session::is_fact(key)) {
                    return Err(Wrong::Undecodable);
                }
                self.facts.extend(facts);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_table(&mut self, payload: &[u8]) -> Result<(), Wrong> {
        let block: TableBlock = serde_json::from_slice(payload).map_err(|_| Wrong::Undecodable)?;
        let stored_types = block.schema.columns.iter().map(|column| column.ty).collect();
        let table = StoredTable { stored_types, schema: upgraded(block.schema) };
        // A name becomes a folder's: whoever wrote the journal must not choose which. With today's names: a column
        // under its old name and its new one stands twice.
        table.schema.validate().map_err(|_| Wrong::Undecodable)?;
        let known = self.tables.iter().position(|known| known.schema.name == table.schema.name);
        match known {
            None => {
                self.ids.insert(block.id, self.tables.len());
                self.tables.push(table);
            }
            // One journal holds one schema a table: rows of another would be of another width.
            Some(at) if self.tables[at].schema != table.schema => return Err(Wrong::Undecodable),
            Some(at) => {
                self.ids.insert(block.id, at);
            }
        }
        Ok(())
    }

    /// Takes all rows of the block or none.
    fn take_rows(&mut self, payload: &[u8], offset: usize) -> Result<(), Wrong> {
        let mut segments = Vec::new();
        let mut decoder = Decoder(payload);
        while !decoder.0.is_empty() {
            let mut head = || Some((decoder.varint()?, decoder.varint()?, decoder.varint()?));
            let (id, rows, length) = head().ok_or(Wrong::Undecodable)?;
            let length = usize::try_from(length).map_err(|_| Wrong::Undecodable)?;
            let (mine, rest) = decoder.0.split_at_checked(length).ok_or(Wrong::Undecodable)?;
            let table = *self.ids.get(&id).ok_or(Wrong::NoTable)?;
            // A row takes a byte at least, so that the bytes that are there bound the rows.
            let mut row_decoder = Decoder(mine);
            for _ in 0..rows {
                row_decoder.row(&self.tables[table].stored_types).ok_or(Wrong::Undecodable)?;
            }
            if !row_decoder.0.is_empty() {
                return Err(Wrong::Undecodable);
            }
            let start = offset + (payload.len() - decoder.0.len());
            segments.push(Segment { table, rows, start, end: start + length });
            decoder.0 = rest;
        }
        self.segments.append(&mut segments);
        Ok(())
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableSchema> {
        self.tables.iter().map(|table| &table.schema)
    }

    /// The rows of table `name`, in the order in which they were written.
    pub(crate) fn rows(&self, name: &str) -> Vec<Row> {
        let Some(wanted) = self.tables.iter().position(|table| table.schema.name == name) else {
            return Vec::new();
        };
        let StoredTable { stored_types, schema } = &self.tables[wanted];
        let mut rows = Vec::new();
        for segment in self.segments.iter().filter(|segment| segment.table == wanted) {
            let mut decoder = Decoder(&self.bytes[segment.start..segment.end]);
            // They were decoded once when the journal was read.
            rows.extend((0..segment.rows).map_while(|_| decoder.row(stored_types)));
        }
        for row in &mut rows {
            for (value, column) in row.iter_mut().zip(&schema.columns) {
                // In place: a journal is read into memory whole, and a second copy of its rows would double
                // that.
                let stored = std::mem::replace(value, Value::Null);
                *value = upgraded_value(stored, column.ty);
            }
        }
        rows
    }
}

/// The valid block at `at`; the bytes that are hashed for it are taken from `budget`.
fn block_at(bytes: &[u8], at: usize, budget: &mut usize) -> Option<Framed> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let magic = bytes.get(at..at + 4)?;
    let kind = *bytes.get(at + 4)?;
    let length = word(at + 5)? as usize;
    let (sequence, crc, header) = if magic == BLOCK_MAGIC {
        (Some(word(at + 9)?), word(at + 13)?, BLOCK_HEADER)
    } else if magic == OLD_BLOCK_MAGIC {
        (None, word(at + 9)?, OLD_BLOCK_HEADER)
    } else {
        return None;
    };
    let start = at + header;
    let end = start.checked_add(length)?;
    let payload = bytes.get(start..end)?;
    *budget = budget.checked_sub(length)?;
    (checksum(kind, sequence, payload) == crc).then_some(Framed { kind, sequence, start, end })
}

/// Whether `tail` is the beginning of a block, as a write that was cut short leaves it.
pub(crate) fn is_cut_short(tail: &[u8]) -> bool {
    let magic = &tail[..tail.len().min(4)];
    let header = match magic {
        magic if OLD_BLOCK_MAGIC.starts_with(magic) => OLD_BLOCK_HEADER,
        magic if BLOCK_MAGIC.starts_with(magic) => BLOCK_HEADER,
        _ => return false,
    };
    let length = tail.get(5..9).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    tail.len() < header || tail.len() - header < length as usize
}

/// Where the next valid block begins, or the end of the file.
fn next_block(bytes: &[u8], from: usize, budget: &mut usize) -> usize {
    (from..bytes.len())
        // The magic alone may occur in a payload: only a block whose checksum holds is taken for one.
        .find(|at| block_at(bytes, *at, budget).is_some())
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vocabulary;

    fn journal_of(values: &[u64]) -> (Vec<u8>, Vec<usize>) {
        let mut schema = vocabulary::events();
        schema.columns = vec![schema.columns.remove(3)];
        let mut bytes = FILE_MAGIC.to_vec();
        bytes.extend(Block::table(7, &schema).framed(0));
        let mut ends = vec![bytes.len()];
        for (at, value) in values.iter().enumerate() {
            let block = Block::rows(&[(7, vec![vec![Value::U64(*value)]])]);
            bytes.extend(block.framed(at as u32 + 1));
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn read_back(bytes: Vec<u8>) -> (Vec<u64>, Vec<Damage>) {
        let contents = Contents::parse(bytes);
        let values = contents.rows("events").into_iter().map(|row| match row[0] {
            Value::U64(value) => value,
            ref other => panic!("a U64 column gave {other:?}"),
        });
        (values.collect(), contents.damage.clone())
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_keeps_every_whole_block(values in proptest::collection::vec(any::<u64>(), 0..20), cut in 0.0..1.0f64) {
            let (bytes, ends) = journal_of(&values);
            let length = ends[0] + ((bytes.len() - ends[0]) as f64 * cut) as usize;
            let whole = ends.iter().filter(|end| **end <= length).count() - 1;
            let (read, damage) = read_back(bytes[..length].to_vec());
            prop_assert_eq!(&read[..], &values[..whole]);
            prop_assert_eq!(damage.len(), usize::from(!ends.contains(&length)));
            prop_assert!(damage.iter().all(Damage::is_harmless));
        }

        #[test]
        fn one_flipped_bit_costs_one_block(values in proptest::collection::vec(any::<u64>(), 1..20), place in 0.0..1.0f64, bit in 0..8u8) {
            let (mut bytes, ends) = journal_of(&values);
            let at = ends[0] + ((bytes.len() - ends[0] - 1) as f64 * place) as usize;
            bytes[at] ^= 1 << bit;
            let hit = ends.iter().filter(|end| **end <= at).count() - 1;
            let mut expected = values.clone();
            expected.remove(hit);
            let (read, damage) = read_back(bytes);
            prop_assert_eq!(read, expected);
            prop_assert_eq!(damage.len(), 1);
            // A length that grew looks like a write that was cut short, and nothing else does.
            prop_assert!(!damage[0].is_harmless() || hit == values.len() - 1);
        }

        #[test]
        fn read_in_two_looks_it_is_the_same(values in proptest::collection::vec(any::<u64>(), 0..20), cut in 0.0..1.0f64) {
            let (bytes, ends) = journal_of(&values);
            let first = FILE_MAGIC.len() + ((bytes.len() - FILE_MAGIC.len()) as f64 * cut) as usize;
            let mut contents = Contents::default();
            let taken = contents.take_blocks(bytes[..first].to_vec(), FILE_MAGIC.len(), Ending::Growing);
            prop_assert!(contents.damage.is_empty());
            // Up to the end of the last block that is whole.
            let whole = ends.iter().rev().find(|end| **end <= first);
            prop_assert_eq!(taken, whole.copied().unwrap_or(FILE_MAGIC.len()));
            let mut rows = contents.rows("events");
            contents.take_blocks(bytes[taken..].to_vec(), 0, Ending::Growing);
            prop_assert!(contents.damage.is_empty());
            rows.extend(contents.rows("events"));
            prop_assert_eq!(rows, Contents::parse(bytes).rows("events"));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            Contents::parse(bytes);
        }
    }
}
