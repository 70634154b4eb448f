//! What the fuzz targets of `fuzz/` call, on bytes that anybody may have written.
//!
//! Compiled for `cargo fuzz`, which sets `--cfg fuzzing`, and for the tests of this crate, which replay the
//! committed inputs. Each function returns: a panic, more memory than the input accounts for, or no end is a
//! finding.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::LazyLock;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::check::check_part;
use crate::journal::{Block, Contents, FILE_MAGIC};
use crate::laws::{Laws, Rows};
use crate::ledger::Ledger;
use crate::machine::violations;
use crate::manifest::{Manifest, Session};
use crate::part::{PartFile, batch_of, widen};
use crate::schema::TableSchema;
use crate::vocabulary;

/// Made once: making them takes longer than most inputs.
static TABLES: LazyLock<Vec<TableSchema>> = LazyLock::new(vocabulary::tables);

/// A journal with these bytes: no checksum holds but by luck.
pub fn journal_bytes(data: &[u8]) {
    read_journal(data.to_vec());
}

/// A journal of blocks whose checksums hold. `data` is a list of blocks: a byte that says what kind of block it
/// is and how its number follows the last one, two for the length of its payload, and the payload.
pub fn journal(data: &[u8]) {
    let contents = read_journal(framed(data));
    for table in contents.tables().cloned().collect::<Vec<_>>() {
        // What was read is written and read again: the rows must come back to the bit.
        let rows = contents.rows(&table.name);
        let block = Block::rows(&[(7, rows)]);
        let bytes = [&FILE_MAGIC[..], &Block::table(7, &table).framed(0), &block.framed(1)].concat();
        let again = read_journal(bytes);
        assert!(again.damage.is_empty(), "{:?}", again.damage);
        assert_eq!(Block::rows(&[(7, again.rows(&table.name))]).payload, block.payload);
    }
}

/// The journal that `data` describes.
fn framed(data: &[u8]) -> Vec<u8> {
    const RIGHT_NUMBER: u8 = 0;
    let tables = &*TABLES;
    let mut bytes = FILE_MAGIC.to_vec();
    let (mut rest, mut sequence) = (data, 0_u32);
    while let [head, low, high, tail @ ..] = rest {
        // At most 1023 bytes: a flipped bit shall not swallow all blocks behind it.
        let length = u16::from_le_bytes([*low, high & 3]);
        let payload;
        (payload, rest) = tail.split_at(tail.len().min(usize::from(length)));
        let id = u64::from(payload.first().copied().unwrap_or(0)) % tables.len() as u64;
        let block = match head % 8 {
            // Kinds 1 to 3 and an unknown one, with any payload.
            kind @ 0..=3 => Block { kind: kind + 1, payload: payload.to_vec() },
            // Some columns of a table of the vocabulary, declared as a recorder would: short payloads reach its rows.
            4 | 5 => {
                let table = &tables[id as usize];
                let from = usize::from(payload.get(1).copied().unwrap_or(0)) % table.columns.len();
                let columns = table.columns[from..].iter().take(1 + payload.len() % 4).cloned().collect();
                Block::table(id, &TableSchema::new(&table.name, columns))
            }
            // Rows with a right head: table, count, length.
            6 => {
                let rows = payload.get(2..).unwrap_or_default();
                let count = payload.get(1).copied().unwrap_or(0);
                let mut text = vec![id as u8, count & 0x7f];
                crate::codec::put_varint(&mut text, rows.len() as u64);
                Block { kind: 2, payload: [&text, rows].concat() }
            }
            // No block at all.
            _ => {
                bytes.extend_from_slice(payload);
                continue;
            }
        };
        // Most blocks follow each other; of the others some are missing before them, or were there already.
        sequence = match head >> 5 {
            RIGHT_NUMBER..=5 => sequence,
            6 => sequence.wrapping_add(u32::from(length)),
            _ => sequence.wrapping_sub(1),
        };
        bytes.extend(block.framed(sequence));
        sequence = sequence.wrapping_add(1);
    }
    bytes
}

/// Reads a journal and all its rows, as opening, checking and sealing a log do.
fn read_journal(bytes: Vec<u8>) -> Contents {
    let length = bytes.len() as u64;
    let contents = Contents::parse(bytes);
    for damage in &contents.damage {
        assert!(damage.offset < length && !damage.wrong.to_string().is_empty());
    }
    assert!(contents.damage.windows(2).all(|pair| pair[0].offset <= pair[1].offset));
    let mut manifest = Manifest { sessions: vec![Session::default()], ..Manifest::default() };
    for incident in &contents.incidents {
        manifest.count(incident.clone());
    }
    manifest.take_facts(&contents.facts);
    Manifest::parse(Path::new("log"), manifest.text()).expect("facts leave a manifest that is read");
    let no_manifest = Manifest::default();
    let mut laws = Laws::of_rows(&no_manifest);
    for table in contents.tables() {
        manifest.declare(table).expect("one table of each name is held");
        let rows = contents.rows(&table.name);
        // A row takes a byte at least.
        assert!(rows.len() as u64 <= length);
        let batch = batch_of(table, &rows).expect("rows fit their table");
        let batch = widen(&batch, &table.name, &table.arrow()).expect("it is wide");
        assert_eq!(batch.num_rows(), rows.len());
        laws.rows(Rows { file: Path::new("journal"), schema: table, first: 0, batch: &batch });
    }
    laws.finish();
    contents
}

/// A manifest with this text, first as it is and then with a right checksum.
pub fn manifest(data: &[u8]) {
    let dir = Path::new("log");
    let Ok(manifest) = Manifest::parse(dir, data.to_vec()) else { return };
    for session in &manifest.sessions {
        violations(&session.machine, &manifest.tables);
    }
    let mut joined = Manifest::default();
    for incident in &manifest.incidents {
        joined.count(incident.clone());
    }
    for table in &*TABLES {
        // A column of another type is refused with its name.
        let _ = joined.declare(table).and_then(|_| manifest.clone().declare(table));
    }
    let text = manifest.text();
    let again = Manifest::parse(dir, text.clone()).expect("a manifest that was written is read");
    assert!(again.is_intact);
    assert_eq!(String::from_utf8(again.text()), String::from_utf8(text));
}

/// A ledger with this text; its checksum is in the manifest.
pub fn ledger(data: &[u8]) {
    let path = Path::new("ledger-000001.jsonl");
    let Ok(ledger) = Ledger::parse(path, data, 0) else { return };
    let text = ledger.text();
    let again = Ledger::parse(path, &text, 0).expect("a ledger that was written is read");
    assert_eq!(again.text(), text);
    assert_eq!(again.last_number(), ledger.last_number());
    let mut retired = ledger.clone();
    retired.retire(ledger.last_number());
    assert!(retired.iter().count() <= ledger.iter().count());
}

/// A part of a table of the vocabulary with these bytes: footer, schema and rows, a batch at a time.
pub fn part(data: &[u8]) {
    // Which table it is changes names that are looked for and not how Parquet is read: one a run is enough.
    let schema = &TABLES[data.len() % TABLES.len()];
    let path = Path::new("part-000001.parquet").to_path_buf();
    let part = PartFile { table: schema.name.clone(), number: 1, path };
    let file = in_memory(data);
    let manifest = Manifest::default();
    let (mut laws, mut defects) = (Laws::of_rows(&manifest), Vec::new());
    let clone = file.try_clone().expect("descriptors are there");
    if check_part(&part, clone, schema, &mut laws, &mut defects).is_err() {
        return;
    }
    let mut file = file;
    file.rewind().expect("a file in memory");
    let arrow = schema.arrow();
    let read = part.for_each_batch(file, |batch| widen(&batch, &schema.name, &arrow).map(drop));
    // What the check reads without an error, the reader reads: but for columns of another type, which it names.
    assert!(read.is_ok() || !defects.is_empty(), "{read:?}");
}

fn in_memory(data: &[u8]) -> File {
    let descriptor = memfd_create("part", MemfdFlags::CLOEXEC).expect("memory for a file");
    let mut file = File::from(descriptor);
    file.write_all(data).and_then(|()| file.rewind()).expect("a file in memory");
    file
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;

    #[test]
    fn journals() {
        replay("journal", super::journal);
    }

    #[test]
    fn bytes_of_journals() {
        replay("journal_bytes", super::journal_bytes);
    }

    #[test]
    fn manifests() {
        replay("manifest", super::manifest);
    }

    #[test]
    fn ledgers() {
        replay("ledger", super::ledger);
    }

    #[test]
    fn parts() {
        replay("part", super::part);
    }
}
