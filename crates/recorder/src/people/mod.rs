//! Who is there: names of users and groups, their memory at a slow beat, and what control groups used.

pub mod accounts;
pub mod logins;
pub mod memory;
pub mod names;
pub mod pseudonyms;
mod rows;
pub mod sqlite;
pub mod wtmpdb;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use thinktime_log::{Row, TableSchema};

use self::memory::Memory;
use self::names::Names;
use self::pseudonyms::Pseudonyms;
use self::rows::Sheets;
use crate::error::RecorderError;
use crate::groups::Groups;
use crate::kernel::clock::Moment;
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::processes::By;
use crate::processes::gpu::Gpu;
use crate::processes::watch::Watch;
use crate::recording::options::{Anonymity, RecordOptions};
use crate::sample::rows::Interval;

/// State between samples.
#[derive(Debug)]
pub struct People {
    by: By,
    names: Names,
    memory: Memory,
    gpu: Gpu,
    /// The control groups.
    pub groups: Groups,
    sheets: Sheets,
    every_ns: i64,
    /// Monotonic time of the next beat [ns].
    next_ns: i64,
    is_beat: bool,
}

/// Rows that people add to an interval.
pub struct PeopleRows {
    /// Rows of `presence`.
    pub presence: Vec<Row>,
    /// Rows of `groups`.
    pub groups: Vec<Row>,
    /// Exact CPU time of the rows of users [s], where the control groups changed it.
    pub attributed_s: Option<f64>,
}

impl People {
    /// The people of `root`, nothing read yet.
    pub fn open(root: &Root, options: &RecordOptions) -> Result<People, RecorderError> {
        let pseudonyms = match &options.anonymity {
            Anonymity::Named => Ok(None),
            Anonymity::OfSession => Pseudonyms::of_session()
                .map(Some)
                .map_err(|source| RecorderError::System { action: "read /dev/urandom", source }),
            Anonymity::OfFile(path) => Pseudonyms::of_file(path).map(Some).map_err(|error| {
                let problem = format!("{error}; make a key with: head -c 32 /dev/urandom > FILE");
                RecorderError::Option { option: "anonymous-key", given: path.display().to_string(), problem }
            }),
        }?;
        Ok(People {
            by: options.by,
            names: Names::open(root, pseudonyms),
            memory: Memory::new(root),
            gpu: Gpu::new(root),
            groups: Groups::open(root),
            sheets: Sheets::default(),
            every_ns: i64::try_from(options.gauges_every.as_nanos()).unwrap_or(i64::MAX),
            next_ns: i64::MIN,
            is_beat: false,
        })
    }

    /// Schemas of `presence` and `groups`.
    pub fn schemas(&self) -> (TableSchema, TableSchema) {
        (self.sheets.presence.schema.clone(), self.sheets.groups.schema.clone())
    }

    /// Asks those who answer when they can. Before a sample reads anything.
    pub fn ask(&mut self, now: Moment) {
        if self.by != By::None {
            self.gpu.ask(now);
        }
    }

    /// CPU time of threads of their own since it was asked last [ns].
    pub fn take_cpu_ns(&mut self) -> u64 {
        self.gpu.take_cpu_ns()
    }

    /// Reads control groups. `since` is the sample before, `None` at the first.
    pub fn sample(&mut self, since: Option<Moment>, now: Moment) {
        self.is_beat = since.is_some() && now.monotonic_ns >= self.next_ns;
        if self.is_beat {
            self.next_ns = now.monotonic_ns.saturating_add(self.every_ns);
            self.names.refresh(now);
        }
        self.groups.sample(self.is_beat);
    }

    /// Reads the memory of some processes, and what users have of graphics devices.
    pub fn read_processes(&mut self, watch: &Watch, since: Option<Moment>, now: Moment) {
        if let Watch::Each(each) = watch {
            let length_ns = since.map_or(0, |since| now.monotonic_ns - since.monotonic_ns);
            self.memory.sample(&each.census, length_ns as f64 * 1e-9);
            let tick_ns = 1_000_000_000 / host::clock_ticks();
            let since_ticks = since.map(|since| u64::try_from(since.boot_ns).unwrap_or(0) / tick_ns);
            self.gpu.sample(&each.census, since_ticks, u64::try_from(length_ns).unwrap_or(0), now);
        }
    }

    /// Rows of the interval that the last sample ended. Names the users of `tables`, the first of which is `users`;
    /// there the CPU times of users by control group are those of the groups, and `empty` makes a row of a user
    /// without usage.
    pub fn rows(
        &mut self,
        interval: Interval,
        watch: &Watch,
        mut tables: Vec<(&TableSchema, &mut Vec<Row>)>,
        empty: impl Fn(&str) -> Row,
    ) -> PeopleRows {
        let mut made = PeopleRows { presence: Vec::new(), groups: Vec::new(), attributed_s: None };
        if let Watch::Each(each) = watch {
            if let Some((schema, users)) = tables.first_mut() {
                if self.by == By::Cgroup {
                    made.attributed_s = rows::by_groups(&mut self.groups, schema, users, &empty);
                }
                rows::add_gpu(self.gpu.users(), schema, users, &empty);
            }
            let mut shown = BTreeMap::new();
            for (schema, rows) in tables {
                rows::name_users(&mut self.names, &each.census, schema, rows, &mut shown);
            }
            if self.is_beat {
                self.names.meet(&each.census);
                made.presence =
                    self.sheets.presence(interval, &each.census, &mut self.memory, &mut self.names);
            }
        }
        made.groups = self.sheets.groups(interval, &mut self.groups, &mut self.names, self.is_beat);
        made
    }

    /// Puts pseudonyms for the accounts of people in rows of devices, which somebody may have named after himself.
    pub fn hide(&mut self, rows: &mut [Row]) {
        self.names.hide(rows, None);
    }

    /// The same in a text.
    pub fn hidden(&mut self, text: &str) -> Arc<str> {
        self.names.without_people(text, false)
    }

    /// Facts for the manifest.
    pub fn to_json(&self) -> Json {
        json!({
            "accounts_without_name": self.names.unknown(),
            "memory": self.memory.to_json(),
            "groups": self.groups.to_json(),
            "gpu": self.gpu.to_json(),
            "wtmpdb": self.names.wtmpdb.to_json(),
        })
    }
}
