//! What a recording offers to Prometheus while it runs.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thinktime_export::{Server, SharedTotals, TextFile, Totals, is_local};
use thinktime_log::{Row, TableId, TableSchema};

use crate::error::RecorderError;
use crate::recording::options::{RecordOptions, wrong};

/// The address that `text` names: HOST:PORT, or a port of this machine alone.
pub fn listening_address(text: &str) -> Result<SocketAddr, RecorderError> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let problem = "must be HOST:PORT, such as 127.0.0.1:9750, or a port of this machine alone, such as 9750";
    let mut addresses = text.to_socket_addrs().map_err(|_| wrong("listen", text, problem))?;
    addresses.next().ok_or_else(|| wrong("listen", text, problem))
}

/// Totals of a recording, and where they are offered; nowhere by default.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    totals: SharedTotals,
    /// Identifiers of the tables in the log, and their names.
    names: Vec<(TableId, String)>,
    server: Option<Server>,
    file: Option<TextFile>,
    /// The file could not be written the last time.
    fails: bool,
}

impl Exports {
    /// What `options` ask for; an error where the address or the file is not to be had.
    pub(crate) fn open(options: &RecordOptions) -> Result<Exports, RecorderError> {
        let totals = SharedTotals::new(Mutex::new(Totals::default()));
        let file = options.textfile.as_deref().map(text_file).transpose()?;
        let start = |address| {
            Server::start(address, Arc::clone(&totals))
                .map_err(|error| wrong("listen", address, &format!("cannot be listened on: {error}")))
        };
        let server = options.listen.map(start).transpose()?;
        Ok(Exports { totals, names: Vec::new(), server, file, fails: false })
    }

    /// Whether anything is offered.
    fn is_used(&self) -> bool {
        self.server.is_some() || self.file.is_some()
    }

    /// Takes the tables of the log, before the first row.
    pub(crate) fn declare<'a>(
        &mut self,
        tables: impl IntoIterator<Item = (TableId, &'a TableSchema)>,
        gauges_every: Duration,
    ) {
        let tables: Vec<_> = tables.into_iter().collect();
        *self.totals() = Totals::new(tables.iter().map(|(_, schema)| *schema), gauges_every.as_secs_f64());
        self.names = tables.into_iter().map(|(table, schema)| (table, schema.name.clone())).collect();
    }

    /// Sentence for the user on where the metrics are.
    pub(crate) fn notice(&self) -> Option<String> {
        let address = self.server.as_ref()?.address();
        let whom = if is_local(&address) { "" } else { ", and who reaches it sees who uses this machine" };
        Some(format!("metrics are at http://{address}/metrics{whom}"))
    }

    /// Adds the rows of an interval.
    pub(crate) fn add(&mut self, start_us: i64, length_s: f64, rows: &[(TableId, Vec<Row>)]) {
        if !self.is_used() {
            return;
        }
        let named = rows.iter().filter_map(|(table, rows)| {
            let (_, name) = self.names.iter().find(|(other, _)| other == table)?;
            Some((name.as_str(), rows.as_slice()))
        });
        self.totals().add(start_us, length_s, named);
    }

    /// Replaces the file; a sentence for the user when that begins to fail, or works again.
    pub(crate) fn publish(&mut self) -> Option<String> {
        let written = self.file.as_ref()?.write(&self.totals());
        let failed = std::mem::replace(&mut self.fails, written.is_err());
        match written {
            Err(error) if !failed => {
                Some(format!("--textfile: cannot be written: {error}; the recording goes on"))
            }
            Ok(()) if failed => Some("--textfile: is written again".into()),
            _ => None,
        }
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text_file(path: &Path) -> Result<TextFile, RecorderError> {
    let given = path.display();
    // The collector reads no other name, and a slip must not replace a file of another kind.
    if path.extension().is_none_or(|extension| extension != "prom") {
        return Err(wrong("textfile", given, "must end in .prom, which node_exporter reads"));
    }
    TextFile::create(path).map_err(|error| wrong("textfile", given, &format!("cannot be written: {error}")))
}
