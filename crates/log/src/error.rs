//! Errors of a log, with the remedy that the user has.

use std::io;
use std::path::{Path, PathBuf};

/// A failed operation on a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A system call failed.
    #[error("cannot {action} {path}: {source}; {remedy}")]
    Io { action: &'static str, path: PathBuf, source: io::Error, remedy: &'static str },
    #[error("{path} is not a thinktime log: {reason}; name the folder that `thinktime record -o` made")]
    NotALog { path: PathBuf, reason: String },
    #[error(
        "{path} already exists; name another folder, use --force to replace it, or --resume to append to it where the command has that option"
    )]
    Exists { path: PathBuf },
    #[error(
        "{path} is being written by process {holder}; end that process first, or write to another folder"
    )]
    Locked { path: PathBuf, holder: String },
    #[error(
        "{path}: {reason}; root writes only into a folder of its own that nobody else may write: run as the folder's owner, name another folder, or run `chown root {path}` and `chmod go-w {path}`"
    )]
    Unsafe { path: PathBuf, reason: String },
    #[error("{path} {reason}; a log holds regular files and folders alone: put the file itself in its place")]
    NotAFile { path: PathBuf, reason: &'static str },
    #[error(
        "{path}: the {what} of the log was moved, removed or replaced while it was being written; {remains}"
    )]
    Lost { path: PathBuf, what: &'static str, remains: String },
    #[error("{path}: this session has ended; open the log again to append another")]
    Ended { path: PathBuf },
    #[error(
        "{path}: log format version {found} is newer than {known}, the newest that this thinktime reads; upgrade thinktime"
    )]
    Newer { path: PathBuf, found: u64, known: u32 },
    #[error("{path}: {item}: {reason}; {remedy}")]
    Damaged { path: PathBuf, item: String, reason: String, remedy: &'static str },
    #[error("table {table}: {reason}")]
    Schema { table: String, reason: String },
}

impl LogError {
    /// True if the input was wrong (exit status 2), false if the work failed (exit status 1).
    pub fn is_input(&self) -> bool {
        match self {
            LogError::NotALog { .. }
            | LogError::Exists { .. }
            | LogError::Locked { .. }
            | LogError::Unsafe { .. }
            | LogError::NotAFile { .. }
            | LogError::Newer { .. } => true,
            LogError::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::NotADirectory
            ),
            LogError::Damaged { .. }
            | LogError::Schema { .. }
            | LogError::Ended { .. }
            | LogError::Lost { .. } => false,
        }
    }

    pub(crate) fn damaged(path: &Path, item: impl Into<String>, reason: impl ToString) -> Self {
        LogError::Damaged {
            path: path.into(),
            item: item.into(),
            reason: reason.to_string(),
            remedy: "`thinktime check` lists what can still be read",
        }
    }

    /// The message for whoever names the file and the remedy already.
    pub(crate) fn without_path(&self) -> String {
        match self {
            LogError::Damaged { item, reason, .. } => format!("{item}: {reason}"),
            LogError::Io { action, source, .. } => format!("cannot {action}: {source}"),
            LogError::NotAFile { reason, .. } => (*reason).into(),
            other => other.to_string(),
        }
    }
}

/// Adds the file, the action and the remedy to an I/O error.
pub(crate) trait IoContext<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, LogError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, LogError> {
        self.map_err(|source| LogError::Io { action, path: path.into(), remedy: remedy(&source), source })
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "choose a folder that you may write, or run as its owner",
        io::ErrorKind::ReadOnlyFilesystem => "choose a folder on a writable file system",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on that file system",
        io::ErrorKind::NotADirectory => "a log is a folder: name one that does not exist yet",
        _ => "check the file system and try again",
    }
}
