//! What a recording measures, for Prometheus: totals of every column, over HTTP or in a file.
//!
//! The rows that go into the log are added up here too, so that nothing is measured twice. [`Totals`] has one metric
//! for each counter and gauge of the tables, with the labels of their rows, and a bounded number of series; [`Server`]
//! answers scrapes, and [`TextFile`] writes the same text for node_exporter's textfile collector.

mod server;
mod text;
mod textfile;
mod totals;

pub use server::{Server, is_local};
pub use text::Format;
pub use textfile::TextFile;
pub use totals::{SharedTotals, Totals};
