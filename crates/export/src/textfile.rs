//! A file of metrics for node_exporter's textfile collector, replaced as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::text::Format;
use crate::totals::Totals;

/// Readable for everybody: node_exporter runs as a user of its own.
const MODE: u32 = 0o644;

/// A file that is replaced after every interval, and removed at the end: what stands there is of a recording that runs.
#[derive(Debug)]
pub struct TextFile {
    path: PathBuf,
    /// Beside it, so that a reader never sees half of one.
    next: PathBuf,
}

impl TextFile {
    /// The file at `path`; an error if it cannot be written.
    pub fn create(path: &Path) -> io::Result<TextFile> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
        // The collector reads what ends in `.prom`: this one does not.
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".next");
        let file = TextFile { path: path.into(), next: path.with_file_name(hidden) };
        file.write(&Totals::default())?;
        Ok(file)
    }

    /// Replaces the file.
    pub fn write(&self, totals: &Totals) -> io::Result<()> {
        // One that a recorder which was killed has left; or somebody's link, of which only the link is removed.
        match fs::remove_file(&self.next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut next = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&self.next)?;
        next.write_all(totals.render(Format::Prometheus).as_bytes())?;
        fs::rename(&self.next, &self.path)
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        // Whoever removed it first did the same.
        let _ = fs::remove_file(&self.next);
        let _ = fs::remove_file(&self.path);
    }
}
