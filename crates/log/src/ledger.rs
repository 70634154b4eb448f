//! The ledger: every complete part of the log with its length, rows and checksum.
//!
//! A part that is not in the ledger is not read, so that a copy in a table's folder adds nothing; one that is in
//! it and missing, or is another file than the one that was written, is found. The ledger is a file of its own,
//! `ledger-NNNNNN.jsonl`, a line for each part, whose length and checksum stand in the manifest: the manifest is
//! written every minute, and would otherwise carry some megabytes of it after a year. A new ledger takes a new
//! number before the manifest names it, so that a crash in between leaves the old one in force.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{IoContext, LogError};
use crate::folder::Folder;

/// CRC-32 (IEEE) of a file, written as eight hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Checksum(pub(crate) u32);

impl From<Checksum> for String {
    fn from(checksum: Checksum) -> String {
        format!("{:08x}", checksum.0)
    }
}

impl TryFrom<String> for Checksum {
    type Error = String;

    fn try_from(text: String) -> Result<Checksum, String> {
        let digits = (text.len() == 8).then(|| u32::from_str_radix(&text, 16).ok()).flatten();
        digits.map(Checksum).ok_or_else(|| format!("{text:?} is no checksum of eight hexadecimal digits"))
    }
}

/// Length and checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    pub(crate) crc32: Checksum,
}

impl Stamp {
    pub(crate) fn of(bytes: &[u8]) -> Stamp {
        Stamp { bytes: bytes.len() as u64, crc32: Checksum(crc32fast::hash(bytes)) }
    }

    /// The stamp of all that `reader` gives, in constant memory.
    pub(crate) fn of_reader(mut reader: impl Read) -> io::Result<Stamp> {
        let mut stamped = Stamped::new(io::sink());
        io::copy(&mut reader, &mut stamped)?;
        Ok(stamped.into_parts().1)
    }
}

/// A writer that takes the stamp of what passes through it.
pub(crate) struct Stamped<W> {
    inner: W,
    hasher: crc32fast::Hasher,
    bytes: u64,
}

impl<W> Stamped<W> {
    pub(crate) fn new(inner: W) -> Stamped<W> {
        Stamped { inner, hasher: crc32fast::Hasher::new(), bytes: 0 }
    }

    pub(crate) fn into_parts(self) -> (W, Stamp) {
        (self.inner, Stamp { bytes: self.bytes, crc32: Checksum(self.hasher.finalize()) })
    }
}

impl<W: Write> Write for Stamped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A complete part, as it was when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) rows: u64,
    pub(crate) stamp: Stamp,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    table: String,
    part: u64,
    rows: u64,
    bytes: u64,
    crc32: Checksum,
}

/// What the manifest says of the ledger in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerReference {
    pub(crate) number: u64,
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
}

/// Complete parts by table and number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    parts: BTreeMap<String, BTreeMap<u64, Part>>,
}

pub(crate) fn ledger_name(number: u64) -> String {
    format!("ledger-{number:06}.jsonl")
}

impl Ledger {
    /// The ledger that the manifest names.
    pub(crate) fn read(folder: &Folder, reference: &LedgerReference) -> Result<Ledger, LogError> {
        let name = ledger_name(reference.number);
        let bytes = folder.read(&name)?;
        if Stamp::of(&bytes) != reference.stamp {
            let reason = "it is not the file that the manifest describes";
            return Err(LogError::damaged(&folder.at(&name), "ledger", reason));
        }
        Ledger::parse(&folder.at(&name), &bytes)
    }

    /// The ledger with this text, of the file `path`.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Ledger, LogError> {
        let damaged = |reason: String| LogError::damaged(path, "ledger", reason);
        let mut ledger = Ledger::default();
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
        {
            let line: Line =
                serde_json::from_slice(line).map_err(|error| damaged(format!("line {}: {error}", at + 1)))?;
            let stamp = Stamp { bytes: line.bytes, crc32: line.crc32 };
            ledger.add(&line.table, line.part, Part { rows: line.rows, stamp });
        }
        Ok(ledger)
    }

    /// Writes the ledger under `number`, which no ledger had before.
    pub(crate) fn write(
        &self,
        folder: &Folder,
        number: u64,
        durable: bool,
    ) -> Result<LedgerReference, LogError> {
        let name = ledger_name(number);
        let text = self.text();
        let path = folder.at(&name);
        let fill = |file: &mut Stamped<_>| file.write_all(&text).at("write", &path);
        let (stamp, ()) = folder.put_in_place(&name, durable, fill)?;
        Ok(LedgerReference { number, stamp })
    }

    /// A line for each part.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (table, part, &Part { rows, stamp }) in self.iter() {
            let line = Line { table: table.into(), part, rows, bytes: stamp.bytes, crc32: stamp.crc32 };
            serde_json::to_writer(&mut text, &line).expect("a line is plain data");
            text.push(b'\n');
        }
        text
    }

    pub(crate) fn add(&mut self, table: &str, number: u64, part: Part) {
        self.parts.entry(table.into()).or_default().insert(number, part);
    }

    pub(crate) fn get(&self, table: &str, number: u64) -> Option<&Part> {
        self.parts.get(table)?.get(&number)
    }

    /// Parts of `table`, in order.
    pub(crate) fn of_table(&self, table: &str) -> impl Iterator<Item = (u64, &Part)> {
        self.parts.get(table).into_iter().flatten().map(|(number, part)| (*number, part))
    }

    /// All parts: table, number, part.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64, &Part)> {
        self.parts.iter().flat_map(|(table, parts)| {
            parts.iter().map(move |(number, part)| (table.as_str(), *number, part))
        })
    }

    /// Removes every part with `number`, and returns the tables that had one, with its rows.
    pub(crate) fn retire(&mut self, number: u64) -> Vec<(String, u64)> {
        let having = self.parts.iter_mut();
        having.filter_map(|(table, parts)| Some((table.clone(), parts.remove(&number)?.rows))).collect()
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.iter().map(|(_, number, _)| number).max().unwrap_or(0)
    }
}
