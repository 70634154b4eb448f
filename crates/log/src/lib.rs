//! The log: the one format that crosses from sources to analyses.
//!
//! A log is a folder. `manifest.json` says what it is; each table is a folder of Parquet files
//! (parts), numbered over the whole log; the open part is a journal.
//!
//! ```text
//! run/manifest.json                 schema, last session, incidents
//! run/sessions-000001.jsonl         the sessions before the last
//! run/ledger-000001.jsonl           the complete parts, each with its length, rows and checksum
//! run/samples/part-000001.parquet   complete parts, put in place by rename
//! run/users/part-000001.parquet
//! run/journal-000002.ttj            the open part: checksummed blocks of all tables
//! run/lock                          held by the writer
//! ```
//!
//! A block of the journal holds everything that belongs together, such as one sample with the
//! figures of every user, so that it is there whole or not at all. A writer never appends behind
//! what another writer left: it seals that journal and starts the next part. A reader takes the
//! rows of part N from the Parquet file where the ledger lists it, else from journal N, so that a crash
//! at any moment of sealing neither loses nor doubles a row.

mod account;
mod bounds;
mod check;
mod codec;
mod conform;
mod error;
mod escape;
mod folder;
mod follow;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod history;
mod journal;
mod laws;
mod ledger;
mod lines;
mod machine;
mod manifest;
mod panics;
mod part;
mod reader;
mod schema;
pub mod vocabulary;
mod writer;

pub use check::{Defect, Severity};
pub use error::LogError;
pub use escape::escaped;
pub use follow::{Follower, News};
pub use machine::MACHINE_SCHEMA;
pub use manifest::{Incident, Manifest, Session};
pub use reader::{Log, PartGroup};
pub use schema::{Column, Kind, Role, Row, SCHEMA_VERSION, TableSchema, Type, Value};
pub use writer::{LogWriter, OpenMode, SharedWriter, TableId};
