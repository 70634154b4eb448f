//! `manifest.json`: what the log is, who wrote it when, and what went wrong.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::error::{IoContext, LogError};
use crate::history::upgraded;
use crate::schema::{SCHEMA_VERSION, TableSchema};

pub(crate) const FORMAT: &str = "thinktime log";
const FILE_NAME: &str = "manifest.json";

/// One run of a writer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What wrote it: `linux`, `sar`, a simulated system.
    pub source: String,
    /// Identity of the machine's boot, so that a reboot between sessions is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Hardware and kernel, or the resolved configuration of the simulated machine.
    #[serde(default)]
    pub machine: Json,
    /// What the writer was asked to do.
    #[serde(default)]
    pub options: Json,
    /// Start, in microseconds since 1970-01-01 UTC.
    pub start_us: i64,
    /// End; absent while it runs, and for ever when it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_us: Option<i64>,
    /// What the sources had to say, each under its own key.
    #[serde(flatten)]
    pub facts: Map<String, Json>,
}

/// Something that a reader of the log must know, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// `reboot`, `suspend`, `clock_step`, `counter_reset`, `disk_full`, ...
    pub kind: String,
    pub detail: String,
    pub count: u64,
    /// When it happened first and last, in microseconds since 1970-01-01 UTC.
    pub first_us: i64,
    pub last_us: i64,
}

impl Incident {
    /// One incident, now.
    pub fn now(kind: &str, detail: &str) -> Incident {
        let now = now_us();
        Incident { kind: kind.into(), detail: detail.into(), count: 1, first_us: now, last_us: now }
    }
}

/// Wall clock, microseconds since 1970-01-01 UTC.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 is set wrong; zero says so and keeps the log readable.
    since.map_or(0, |elapsed| elapsed.as_micros() as i64)
}

/// The whole manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub format: String,
    pub schema_version: u64,
    /// Every table that was ever declared, with the union of its columns.
    pub tables: Vec<TableSchema>,
    pub sessions: Vec<Session>,
    pub incidents: Vec<Incident>,
    /// Incidents of journals up to this part are among `incidents`.
    #[serde(default)]
    pub merged_through_part: u64,
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
        }
    }
}

impl Manifest {
    pub(crate) fn path(dir: &Path) -> PathBuf {
        dir.join(FILE_NAME)
    }

    pub(crate) fn read(dir: &Path) -> Result<Manifest, LogError> {
        let path = Manifest::path(dir);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && dir.is_dir() => {
                return Err(LogError::NotALog { path: dir.into(), reason: "it has no manifest.json".into() });
            }
            Err(error) => return Err(error).at("read", &path),
        };
        let json: Json =
            serde_json::from_slice(&text).map_err(|error| LogError::damaged(&path, "JSON", error))?;
        if json.get("format").and_then(Json::as_str) != Some(FORMAT) {
            let reason = format!("its manifest.json has no \"format\": \"{FORMAT}\"");
            return Err(LogError::NotALog { path: dir.into(), reason });
        }
        match json.get("schema_version").and_then(Json::as_u64) {
            Some(found) if found > u64::from(SCHEMA_VERSION) => {
                return Err(LogError::Newer { path, found, known: SCHEMA_VERSION });
            }
            Some(_) => {}
            None => return Err(LogError::damaged(&path, "schema_version", "a number is needed")),
        }
        let mut manifest: Manifest =
            serde_json::from_value(json).map_err(|error| LogError::damaged(&path, "manifest", error))?;
        manifest.tables = manifest.tables.into_iter().map(upgraded).collect();
        Ok(manifest)
    }

    /// Puts the manifest in place by rename, so that a reader sees the old one or the new one.
    pub(crate) fn write(&self, dir: &Path, durable: bool) -> Result<(), LogError> {
        let path = Manifest::path(dir);
        let mut text = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        text.push(b'\n');
        put_in_place(&path, durable, |file| file.write_all(&text).at("write", &path))
    }

    /// Counts `incident`, joining it with one of the same kind and detail.
    pub(crate) fn count(&mut self, incident: Incident) {
        let same = |old: &&mut Incident| old.kind == incident.kind && old.detail == incident.detail;
        match self.incidents.iter_mut().find(same) {
            Some(old) => {
                old.count += incident.count;
                old.first_us = old.first_us.min(incident.first_us);
                old.last_us = old.last_us.max(incident.last_us);
            }
            None => self.incidents.push(incident),
        }
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

/// Writes a file beside `path` and renames it into place; nothing is left behind when it fails.
pub(crate) fn put_in_place(
    path: &Path,
    durable: bool,
    fill: impl FnOnce(&mut fs::File) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let temporary = path.with_extension("tmp");
    let written = (|| {
        let mut file = fs::File::create(&temporary).at("create", &temporary)?;
        fill(&mut file)?;
        if durable {
            file.sync_all().at("write", &temporary)?;
        }
        fs::rename(&temporary, path).at("put in place", path)?;
        if durable {
            let parent = path.parent().unwrap_or(Path::new("."));
            fs::File::open(parent).and_then(|dir| dir.sync_all()).at("write", parent)?;
        }
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
