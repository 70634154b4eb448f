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
use crate::ledger::{Ledger, LedgerReference};
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
    /// Sessions in the order of their start.
    pub sessions: Vec<Session>,
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
    pub ledger: Option<LedgerReference>,
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
        let body = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        // The line replaces the brace and the line's end that the body begins with.
        let mut text = [CHECKSUM_LINE, &body[2..], b"\n"].concat();
        let digits = format!("{:08x}", crc32fast::hash(&text));
        text[CHECKSUM_AT].copy_from_slice(digits.as_bytes());
        text
    }

    /// The ledger of the complete parts; `None` where none was kept.
    pub(crate) fn read_ledger(&self, folder: &Folder) -> Result<Option<Ledger>, LogError> {
        self.ledger.as_ref().map(|reference| Ledger::read(folder, reference)).transpose()
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

    /// Adds `schema` to the tables, joining its columns with those known.
    pub(crate) fn declare(&mut self, schema: &TableSchema) -> Result<(), LogError> {
        match self.tables.iter_mut().find(|known| known.name == schema.name) {
            None => self.tables.push(schema.clone()),
            Some(known) => {
                *known = known.union(schema).map_err(|column| LogError::Schema {
                    table: schema.name.clone(),
                    reason: format!("column {column} had another type before; write to another log"),
                })?;
            }
        }
        Ok(())
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
