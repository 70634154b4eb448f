//! The ledger: every complete part of the log with its length, rows and checksum.
//!
//! A part that is not in the ledger is not read, so that a copy in a table's folder adds nothing; one that is in
//! it and missing, or is another file than the one that was written, is found. The ledger is a file of lines that
//! grows, a line for each part: in the manifest it would be some megabytes after a year, written at every change.
//! Lines of parts that retention has removed stay until there are more of them than of others.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::LogError;
use crate::folder::Folder;
use crate::lines::{Extent, LEDGER};

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

/// Lines of removed parts that are always allowed in the file.
const RETIRED_LINES: u64 = 100;

/// Complete parts by table and number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    parts: BTreeMap<String, BTreeMap<u64, Part>>,
    /// Parts that no line in force lists yet.
    new: Vec<(String, u64)>,
    /// Lines in force of parts that retention has removed.
    retired_lines: u64,
}

impl Ledger {
    /// The ledger that the manifest names; retention has removed the parts up to number `retired`.
    pub(crate) fn read(folder: &Folder, extent: &Extent, retired: u64) -> Result<Ledger, LogError> {
        let bytes = LEDGER.read(folder, extent)?;
        Ledger::parse(&folder.at(&LEDGER.file_name(extent.number)), &bytes, retired)
    }

    /// The ledger with this text, of the file `path`.
    pub(crate) fn parse(path: &Path, bytes: &[u8], retired: u64) -> Result<Ledger, LogError> {
        let damaged = |reason: String| LogError::damaged(path, "ledger", reason);
        let mut ledger = Ledger::default();
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
        {
            let line: Line =
                serde_json::from_slice(line).map_err(|error| damaged(format!("line {}: {error}", at + 1)))?;
            let stamp = Stamp { bytes: line.bytes, crc32: line.crc32 };
            if line.part > retired {
                ledger.add(&line.table, line.part, Part { rows: line.rows, stamp });
            } else {
                ledger.retired_lines += 1;
            }
        }
        ledger.new.clear();
        Ok(ledger)
    }

    /// Brings the file up to date, without a change to the lines in force: [`Ledger::is_written`] says that the
    /// manifest names it.
    pub(crate) fn write(
        &self,
        folder: &Folder,
        before: Option<Extent>,
        durable: bool,
    ) -> Result<Extent, LogError> {
        let lines = self.iter().count() as u64;
        if let Some(extent) = before.filter(|_| self.retired_lines <= lines + RETIRED_LINES) {
            let new = self
                .new
                .iter()
                .filter_map(|(table, number)| Some((&**table, *number, self.get(table, *number)?)));
            // Otherwise it is written anew: somebody removed or shortened it.
            if let Ok(after) = LEDGER.append(folder, &extent, &text_of(new), durable) {
                return Ok(after);
            }
        }
        LEDGER.write(folder, before, &self.text(), durable)
    }

    /// Takes note that the manifest names the file that was written last, which is `anew` or was appended to.
    pub(crate) fn is_written(&mut self, anew: bool) {
        self.new.clear();
        if anew {
            self.retired_lines = 0;
        }
    }

    /// A line for each part.
    pub(crate) fn text(&self) -> Vec<u8> {
        text_of(self.iter())
    }

    pub(crate) fn add(&mut self, table: &str, number: u64, part: Part) {
        self.parts.entry(table.into()).or_default().insert(number, part);
        self.new.push((table.into(), number));
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
        let retired: Vec<(String, u64)> =
            having.filter_map(|(table, parts)| Some((table.clone(), parts.remove(&number)?.rows))).collect();
        self.retired_lines += retired.len() as u64;
        retired
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.iter().map(|(_, number, _)| number).max().unwrap_or(0)
    }
}

fn text_of<'a>(parts: impl Iterator<Item = (&'a str, u64, &'a Part)>) -> Vec<u8> {
    let mut text = Vec::new();
    for (table, part, &Part { rows, stamp }) in parts {
        let line = Line { table: table.into(), part, rows, bytes: stamp.bytes, crc32: stamp.crc32 };
        serde_json::to_writer(&mut text, &line).expect("a line is plain data");
        text.push(b'\n');
    }
    text
}
