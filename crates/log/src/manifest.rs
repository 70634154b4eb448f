//! `manifest.json`: description of the log, its sessions, and its incidents.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::error::{IoContext, LogError};
use crate::folder::Folder;
use crate::history::upgraded;
use crate::ledger::Ledger;
use crate::lines::{Extent, SESSIONS};
use crate::schema::{SCHEMA_VERSION, TableSchema};

pub(crate) const FORMAT: &str = "thinktime log";
pub(crate) const FILE_NAME: &str = "manifest.json";
/// Beginning of the text of a manifest. The checksum comes first, at a position known without parsing, and covers
/// the whole text with eight zeros in its own place.
const CHECKSUM_LINE: &[u8] = b"{\n  \"crc32\": \"00000000\",\n";
/// Position of the checksum's eight digits [byte].
const CHECKSUM_AT: std::ops::Range<usize> = 14..22;

/// One run of a writer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Writer of the session: `linux`, `sar`, or a simulated system.
    pub source: String,
    /// Identity of the machine's boot, which shows a reboot between sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Hardware and kernel, or the resolved configuration of the simulated machine.
    #[serde(default)]
    pub machine: Json,
    /// Options of the writer.
    #[serde(default)]
    pub options: Json,
    /// Start [µs since 1970-01-01 UTC].
    pub start_us: i64,
    /// End [µs since 1970-01-01 UTC]; absent while the session runs, and for good if its writer was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_us: Option<i64>,
    /// Facts from the sources, each under its own key.
    #[serde(flatten)]
    pub facts: Map<String, Json>,
}

/// An event that a reader of the log must know, with the number of its occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// `reboot`, `suspend`, `clock_step`, `counter_reset`, `disk_full`, ...
    pub kind: String,
    /// Circumstances, in words.
    pub detail: String,
    /// Number of occurrences with this kind and detail.
    pub count: u64,
    /// First occurrence [µs since 1970-01-01 UTC].
    pub first_us: i64,
    /// Last occurrence [µs since 1970-01-01 UTC].
    pub last_us: i64,
}

impl Incident {
    /// An incident that occurs now, for the first time.
    pub fn now(kind: &str, detail: &str) -> Incident {
        let now = now_us();
        Incident { kind: kind.into(), detail: detail.into(), count: 1, first_us: now, last_us: now }
    }
}

/// Wall-clock time [µs since 1970-01-01 UTC].
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 is set wrong; zero shows that and keeps the log readable.
    since.map_or(0, |elapsed| elapsed.as_micros() as i64)
}

/// The complete manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the format, which identifies the folder as a log.
    pub format: String,
    /// Version of the format with which the log was written.
    pub schema_version: u64,
    /// Every table that was ever declared, with the union of its columns.
    pub tables: Vec<TableSchema>,
    /// Sessions in the order of their start. The file holds the last one; [`Manifest::read_ended`] has the others.
    pub sessions: Vec<Session>,
    /// The sessions before, in a file of their own; absent where there is none, and in logs before version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_sessions: Option<Extent>,
    /// Incidents of all sessions.
    pub incidents: Vec<Incident>,
    /// Incidents of journals up to this part are among `incidents`.
    #[serde(default)]
    pub merged_through_part: u64,
    /// Retention has removed the parts up to this number.
    #[serde(default)]
    pub retired_through_part: u64,
    /// Rows of the parts that retention has removed, by table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retired_rows: BTreeMap<String, u64>,
    /// Number of the journal that was begun and is not yet sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_part: Option<u64>,
    /// The ledger in force; absent in logs before version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Extent>,
    /// The text is the one that a writer wrote.
    #[serde(skip, default = "yes")]
    pub is_intact: bool,
}

fn yes() -> bool {
    true
}

impl Default for Manifest {
    fn default() -> Self {
        Manifest {
            format: FORMAT.into(),
            schema_version: u64::from(SCHEMA_VERSION),
            tables: Vec::new(),
            sessions: Vec::new(),
            ended_sessions: None,
            incidents: Vec::new(),
            merged_through_part: 0,
            retired_through_part: 0,
            retired_rows: BTreeMap::new(),
            open_part: None,
            ledger: None,
            is_intact: true,
        }
    }
}

impl Manifest {
    pub(crate) fn path(dir: &Path) -> PathBuf {
        dir.join(FILE_NAME)
    }

    pub(crate) fn read(folder: &Folder) -> Result<Manifest, LogError> {
        let text = match folder.read(FILE_NAME) {
            Ok(text) => text,
            Err(LogError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                let reason = "it has no manifest.json".into();
                return Err(LogError::NotALog { path: folder.path().into(), reason });
            }
            Err(error) => return Err(error),
        };
        Manifest::parse(folder.path(), text)
    }

    /// The manifest with this text, of the log in folder `dir`.
    pub(crate) fn parse(dir: &Path, mut text: Vec<u8>) -> Result<Manifest, LogError> {
        let path = Manifest::path(dir);
        let json: Json =
            serde_json::from_slice(&text).map_err(|error| LogError::damaged(&path, "JSON", error))?;
        if json.get("format").and_then(Json::as_str) != Some(FORMAT) {
            let reason = format!("its manifest.json has no \"format\": \"{FORMAT}\"");
            return Err(LogError::NotALog { path: dir.into(), reason });
        }
        let version = match json.get("schema_version").and_then(Json::as_u64) {
            Some(found) if found > u64::from(SCHEMA_VERSION) => {
                return Err(LogError::Newer { path, found, known: SCHEMA_VERSION });
            }
            Some(version) => version,
            None => return Err(LogError::damaged(&path, "schema_version", "a number is needed")),
        };
        let mut manifest: Manifest =
            serde_json::from_value(json).map_err(|error| LogError::damaged(&path, "manifest", error))?;
        // Before the check: a column under its old name and its new one would stand twice from here on.
        manifest.tables = manifest.tables.into_iter().map(upgraded).collect();
        // A table's name becomes a folder's: whoever wrote the manifest must not choose which.
        for (at, table) in manifest.tables.iter().enumerate() {
            table.validate().map_err(|error| LogError::damaged(&path, format!("tables[{at}]"), error))?;
            if manifest.tables[..at].iter().any(|earlier| earlier.name == table.name) {
                return Err(LogError::damaged(&path, format!("tables[{at}]"), "the table stands twice"));
            }
        }
        // Also of a text that says that it is old, and has one.
        let is_old = version < CHECKSUM_SINCE && !text.starts_with(&CHECKSUM_LINE[..CHECKSUM_AT.start]);
        manifest.is_intact = is_old || has_its_checksum(&mut text);
        Ok(manifest)
    }

    /// Puts the manifest in place by rename, so that a reader sees the old one or the new one.
    pub(crate) fn write(&self, folder: &Folder, durable: bool) -> Result<(), LogError> {
        let text = self.text();
        let path = folder.at(FILE_NAME);
        folder.put_in_place(FILE_NAME, durable, |file| file.write_all(&text).at("write", &path))?;
        Ok(())
    }

    /// The text of the manifest, with its checksum.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut body, Layout::default());
        self.serialize(&mut serializer).expect("a manifest is plain data");
        // The line replaces the brace and the line's end that the body begins with.
        let mut text = [CHECKSUM_LINE, &body[2..], b"\n"].concat();
        let digits = format!("{:08x}", crc32fast::hash(&text));
        text[CHECKSUM_AT].copy_from_slice(digits.as_bytes());
        text
    }

    /// The ledger of the complete parts; `None` where none was kept.
    pub(crate) fn read_ledger(&self, folder: &Folder) -> Result<Option<Ledger>, LogError> {
        let read = |extent| Ledger::read(folder, extent, self.retired_through_part);
        self.ledger.as_ref().map(read).transpose()
    }

    /// The sessions before those that the manifest itself holds.
    pub(crate) fn read_ended(&self, folder: &Folder) -> Result<Vec<Session>, LogError> {
        let Some(extent) = &self.ended_sessions else { return Ok(Vec::new()) };
        let bytes = SESSIONS.read(folder, extent)?;
        let path = folder.at(&SESSIONS.file_name(extent.number));
        let damaged = |error| LogError::damaged(&path, "sessions", error);
        lines_of(&bytes).map(|line| serde_json::from_slice(line).map_err(damaged)).collect()
    }

    /// Those of them that can be read in a file that is damaged.
    pub(crate) fn salvage_ended(&self, folder: &Folder) -> Vec<Session> {
        let bytes = self.ended_sessions.and_then(|extent| SESSIONS.salvage(folder, &extent).ok());
        lines_of(&bytes.unwrap_or_default()).filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Moves the sessions, which have all ended, to the file of those: they do not change any more. The manifest is
    /// to be written afterwards. Returns the file before where it is superseded.
    pub(crate) fn archive_sessions(&mut self, folder: &Folder) -> Result<Option<Extent>, LogError> {
        if self.sessions.is_empty() {
            return Ok(None);
        }
        let before = self.ended_sessions;
        let appended = before.map(|extent| SESSIONS.append(folder, &extent, &text_of(&self.sessions), true));
        let after = match appended {
            Some(Ok(after)) => after,
            // The first, or one that is not as it was written: anew, with what can be read of it.
            None | Some(Err(_)) => {
                let mut all = self.salvage_ended(folder);
                all.append(&mut self.sessions);
                SESSIONS.write(folder, before, &text_of(&all), true)?
            }
        };
        self.sessions.clear();
        self.ended_sessions = Some(after);
        Ok(before.filter(|before| before.number != after.number))
    }

    /// Adds the facts of the journal that is open to those of its session. They are later than the manifest unless
    /// the session has ended, and written its last manifest.
    pub(crate) fn take_facts(&mut self, facts: &Map<String, Json>) {
        let running = self.sessions.last_mut().filter(|session| session.end_us.is_none());
        if let Some(session) = running {
            session.facts.extend(facts.clone());
        }
    }

    /// Counts `incident`, joining it with one of the same kind and detail.
    pub(crate) fn count(&mut self, incident: Incident) {
        let same = |old: &&mut Incident| old.kind == incident.kind && old.detail == incident.detail;
        match self.incidents.iter_mut().find(same) {
            Some(old) => {
                // Counts of strangers' logs may be as large as they like.
                old.count = old.count.saturating_add(incident.count);
                old.first_us = old.first_us.min(incident.first_us);
                old.last_us = old.last_us.max(incident.last_us);
            }
            None => self.incidents.push(incident),
        }
    }

    /// Occurrences of incidents of `kind`.
    pub(crate) fn counted(&self, kind: &str) -> u64 {
        let counts = self.incidents.iter().filter(|incident| incident.kind == kind);
        counts.fold(0, |sum, incident| sum.saturating_add(incident.count))
    }

    /// Adds `schema` to the tables, joining its columns with those known; true where that changes the manifest.
    pub(crate) fn declare(&mut self, schema: &TableSchema) -> Result<bool, LogError> {
        match self.tables.iter_mut().find(|known| known.name == schema.name) {
            None => self.tables.push(schema.clone()),
            Some(known) => {
                let union = known.union(schema).map_err(|column| LogError::Schema {
                    table: schema.name.clone(),
                    reason: format!("column {column} had another type before; write to another log"),
                })?;
                return Ok(std::mem::replace(known, union.clone()) != union);
            }
        }
        Ok(true)
    }
}

impl Session {
    /// Whether `key` may be that of a fact: a session has other things under the other keys.
    pub(crate) fn is_fact(key: &str) -> bool {
        !["source", "boot_id", "machine", "options", "start_us", "end_us"].contains(&key)
    }
}

fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn text_of(sessions: &[Session]) -> Vec<u8> {
    let mut text = Vec::new();
    for session in sessions {
        serde_json::to_writer(&mut text, session).expect("a session is plain data");
        text.push(b'\n');
    }
    text
}

/// Deepest level of the manifest that has lines of its own: a column, a key of a machine, a fact.
const LINES_DEPTH: usize = 4;
/// Deepest level that is indented more than the one above it.
const INDENT_DEPTH: usize = 2;

/// JSON with a line for each thing that one looks for, and half of the bytes of one with a line for each value.
#[derive(Default)]
struct Layout {
    depth: usize,
    is_empty: bool,
}

impl Layout {
    fn begin<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> std::io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        out.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> std::io::Result<()> {
        let had_lines = self.depth <= LINES_DEPTH && !self.is_empty;
        self.depth -= 1;
        self.is_empty = false;
        if had_lines {
            self.line(out)?;
        }
        out.write_all(bracket)
    }

    fn line<W: Write + ?Sized>(&self, out: &mut W) -> std::io::Result<()> {
        out.write_all(b"\n")?;
        // Deeper lines stand under the others: a manifest is written at every change, and most of it is columns.
        (0..self.depth.min(INDENT_DEPTH)).try_for_each(|_| out.write_all(b"  "))
    }

    fn item<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> std::io::Result<()> {
        self.is_empty = false;
        match (is_first, self.depth <= LINES_DEPTH) {
            (true, true) => self.line(out),
            (false, true) => out.write_all(b",").and_then(|()| self.line(out)),
            (true, false) => Ok(()),
            (false, false) => out.write_all(b","),
        }
    }
}

impl serde_json::ser::Formatter for Layout {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        self.item(out, first)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        out.write_all(if self.depth <= LINES_DEPTH { b": " } else { b":" })
    }
}

/// Version from which manifests carry a checksum.
const CHECKSUM_SINCE: u64 = 3;

/// Whether the checksum at the beginning of `text` is that of the text; its digits are zeros afterwards.
fn has_its_checksum(text: &mut [u8]) -> bool {
    let Some(place) = text.get_mut(CHECKSUM_AT) else { return false };
    let digits = place.to_vec();
    place.fill(b'0');
    text.starts_with(CHECKSUM_LINE) && digits == format!("{:08x}", crc32fast::hash(text)).as_bytes()
}
