//! The open part: an append-only file of checksummed blocks.
//!
//! ```text
//! file   = "TTJOURN1" block*
//! block  = "TTB1" kind:u8 length:u32 crc32:u32 payload      (little endian; the checksum covers
//!                                                            kind, length and payload)
//! kind 1 = table:  JSON {id, schema}     kind 2 = rows: (table varint, count varint, length varint, rows)*
//! kind 3 = incident: JSON                any other kind: skipped, so that older readers read newer files
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::codec::{Decoder, put_row, put_varint};
use crate::error::{IoContext, LogError};
use crate::history::{upgraded, upgraded_value};
use crate::manifest::Incident;
use crate::schema::{Row, TableSchema, Type, Value};

const FILE_MAGIC: &[u8; 8] = b"TTJOURN1";
const BLOCK_MAGIC: &[u8; 4] = b"TTB1";
// Magic 4, kind 1, length 4, checksum 4 bytes.
const BLOCK_HEADER: usize = 13;
const KIND_TABLE: u8 = 1;
const KIND_ROWS: u8 = 2;
const KIND_INCIDENT: u8 = 3;

#[derive(Serialize, Deserialize)]
struct TableBlock {
    id: u64,
    schema: TableSchema,
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK_HEADER + payload.len());
    block.extend_from_slice(BLOCK_MAGIC);
    block.push(kind);
    block.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    block.extend_from_slice(&checksum(kind, payload).to_le_bytes());
    block.extend_from_slice(payload);
    block
}

/// Checksum of a block. It covers kind and length too: a wrong length would otherwise pass for a short
/// payload.
fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(&(payload.len() as u32).to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

pub(crate) fn table_block(id: u64, schema: &TableSchema) -> Vec<u8> {
    let block = TableBlock { id, schema: schema.clone() };
    frame(KIND_TABLE, &serde_json::to_vec(&block).expect("a schema is plain data"))
}

pub(crate) fn incident_block(incident: &Incident) -> Vec<u8> {
    frame(KIND_INCIDENT, &serde_json::to_vec(incident).expect("an incident is plain data"))
}

/// The rows of one append, of all tables, as one block: a reader finds all of them or none.
pub(crate) fn rows_block(tables: &[(u64, Vec<Row>)]) -> Vec<u8> {
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
    frame(KIND_ROWS, &payload)
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    file: File,
    /// Bytes that are whole blocks.
    pub(crate) length: u64,
}

impl Journal {
    /// Starts a new journal; there must be none of that name.
    pub(crate) fn create(path: PathBuf) -> Result<Journal, LogError> {
        let mut file =
            OpenOptions::new().append(true).create_new(true).open(&path).at("create the journal", &path)?;
        if let Err(error) = file.write_all(FILE_MAGIC) {
            // An empty journal would be taken for a damaged one.
            let _ = fs::remove_file(&path);
            return Err(error).at("write to", &path);
        }
        Ok(Journal { path, file, length: FILE_MAGIC.len() as u64 })
    }

    /// Appends a block whole or not at all: after an error the file ends where it did before.
    pub(crate) fn append(&mut self, block: &[u8]) -> io::Result<()> {
        match self.file.write_all(block) {
            Ok(()) => {
                self.length += block.len() as u64;
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

    pub(crate) fn remove(self) -> Result<(), LogError> {
        fs::remove_file(&self.path).at("remove the sealed journal", &self.path)
    }
}

/// Bytes of a journal that are no valid block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// It reaches the end of the file: a write that was cut short, as a kill or a crash leaves it.
    pub(crate) is_tail: bool,
}

/// What a journal holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    bytes: Vec<u8>,
    /// Tables by their id.
    tables: Vec<StoredTable>,
    /// Ranges of `bytes` that are payloads of row blocks.
    row_blocks: Vec<(usize, usize)>,
    pub(crate) incidents: Vec<Incident>,
    pub(crate) damage: Vec<Damage>,
}

/// A table that the journal holds rows of.
#[derive(Clone, Debug)]
struct StoredTable {
    id: u64,
    /// Types by which the rows are decoded: those of the version that wrote them.
    stored_types: Vec<Type>,
    schema: TableSchema,
}

impl Contents {
    pub(crate) fn read(path: &Path) -> Result<Contents, LogError> {
        Ok(Contents::parse(fs::read(path).at("read", path)?))
    }

    pub(crate) fn parse(bytes: Vec<u8>) -> Contents {
        let mut contents = Contents::default();
        // Without its head the file is read all the same: blocks are found by their own magic.
        let mut at = if bytes.starts_with(FILE_MAGIC) { FILE_MAGIC.len() } else { 0 };
        while at < bytes.len() {
            match block_at(&bytes, at) {
                Some((kind, end)) => {
                    contents.take(kind, &bytes, at + BLOCK_HEADER, end);
                    at = end;
                }
                None => {
                    // Byte by byte and not by the length of the damaged block, which may be what is damaged.
                    let next = next_block(&bytes, at + 1);
                    contents.damage.push(Damage {
                        offset: at as u64,
                        length: (next - at) as u64,
                        is_tail: next == bytes.len(),
                    });
                    at = next;
                }
            }
        }
        contents.bytes = bytes;
        contents
    }

    fn take(&mut self, kind: u8, bytes: &[u8], start: usize, end: usize) {
        let payload = &bytes[start..end];
        match kind {
            KIND_TABLE => {
                if let Ok(block) = serde_json::from_slice::<TableBlock>(payload) {
                    // A later declaration of the same number replaces the earlier one.
                    self.tables.retain(|table| table.id != block.id);
                    let stored_types = block.schema.columns.iter().map(|column| column.ty).collect();
                    self.tables.push(StoredTable {
                        id: block.id,
                        stored_types,
                        schema: upgraded(block.schema),
                    });
                }
            }
            KIND_ROWS => self.row_blocks.push((start, end)),
            KIND_INCIDENT => self.incidents.extend(serde_json::from_slice::<Incident>(payload)),
            _ => {}
        }
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableSchema> {
        self.tables.iter().map(|table| &table.schema)
    }

    /// The rows of table `name`, in the order in which they were written.
    pub(crate) fn rows(&self, name: &str) -> Vec<Row> {
        let Some(table) = self.tables.iter().find(|table| table.schema.name == name) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        for (start, end) in &self.row_blocks {
            // A block whose checksum holds was written by put_row: what does not decode is a bug,
            // and is left out as damaged bytes are.
            let _ = take_rows(&self.bytes[*start..*end], table.id, &table.stored_types, &mut rows);
        }
        for row in &mut rows {
            for (value, column) in row.iter_mut().zip(&table.schema.columns) {
                // In place: a journal is read into memory whole, and a second copy of its rows would double
                // that.
                let stored = std::mem::replace(value, Value::Null);
                *value = upgraded_value(stored, column.ty);
            }
        }
        rows
    }
}

fn take_rows(payload: &[u8], wanted: u64, types: &[Type], rows: &mut Vec<Row>) -> Option<()> {
    let mut decoder = Decoder(payload);
    while !decoder.0.is_empty() {
        let id = decoder.varint()?;
        let count = decoder.varint()?;
        let length = usize::try_from(decoder.varint()?).ok()?;
        let (mine, rest) = decoder.0.split_at_checked(length)?;
        if id == wanted {
            let mut row_decoder = Decoder(mine);
            for _ in 0..count {
                rows.push(row_decoder.row(types)?);
            }
        }
        decoder.0 = rest;
    }
    Some(())
}

/// Kind and end of the valid block at `at`.
fn block_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let header = bytes.get(at..at + BLOCK_HEADER)?;
    if &header[..4] != BLOCK_MAGIC {
        return None;
    }
    let kind = header[4];
    let length = u32::from_le_bytes(header[5..9].try_into().ok()?) as usize;
    let crc = u32::from_le_bytes(header[9..13].try_into().ok()?);
    let end = (at + BLOCK_HEADER).checked_add(length)?;
    let payload = bytes.get(at + BLOCK_HEADER..end)?;
    (checksum(kind, payload) == crc).then_some((kind, end))
}

/// Where the next valid block begins, or the end of the file.
fn next_block(bytes: &[u8], from: usize) -> usize {
    (from..bytes.len())
        // The magic alone may occur in a payload: only a block whose checksum holds is taken for one.
        .find(|at| bytes[*at..].starts_with(BLOCK_MAGIC) && block_at(bytes, *at).is_some())
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
        bytes.extend(table_block(7, &schema));
        let mut ends = vec![bytes.len()];
        for value in values {
            bytes.extend(rows_block(&[(7, vec![vec![Value::U64(*value)]])]));
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
            prop_assert!(damage.iter().all(|damage| damage.is_tail));
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
            prop_assert_eq!(damage[0].is_tail, hit == values.len() - 1);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            Contents::parse(bytes);
        }
    }
}
