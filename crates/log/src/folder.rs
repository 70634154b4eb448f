//! The folder of a log, as its one writer takes it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{IoContext, LogError};
use crate::manifest::Manifest;
use crate::part::{journals, numbered, parts};

/// A folder with other things in it is not to be written into, let alone replaced.
pub(crate) fn refuse_others(dir: &Path, has_manifest: bool) -> Result<(), LogError> {
    if has_manifest || !dir.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(dir).at("list", dir)? {
        // A lock alone is left by a writer that failed before it wrote a manifest.
        if entry.at("list", dir)?.file_name() != "lock" {
            let reason = "the folder holds other files".into();
            return Err(LogError::NotALog { path: dir.into(), reason });
        }
    }
    Ok(())
}

/// Takes the lock of the one writer; the kernel releases it when the process ends in any way.
pub(crate) fn lock(dir: &Path) -> Result<File, LogError> {
    let path = dir.join("lock");
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = options.at("open", &path)?;
    if let Err(errno) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // A file system without locks is an error, not a second writer.
        if errno != rustix::io::Errno::WOULDBLOCK {
            return Err(io::Error::from(errno)).at("lock", &path);
        }
        let mut holder = String::new();
        file.read_to_string(&mut holder).at("read", &path)?;
        return Err(LogError::Locked { path: dir.into(), holder: holder.trim().into() });
    }
    // For the message to who comes second; the lock is the kernel's, and a stale number here does no harm.
    let pid = format!("{}\n", std::process::id());
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(pid.as_bytes()))
        .at("write", &path)?;
    Ok(file)
}

/// Gives the lock up. Closing the file would not do while a child process that was forked a moment ago, and has
/// not called exec yet, holds a copy of it.
pub(crate) fn unlock(lock: &File) -> Result<(), LogError> {
    flock(lock, FlockOperation::Unlock).map_err(io::Error::from).at("unlock", Path::new("lock"))
}

/// Removes what this library wrote, and nothing else.
pub(crate) fn clear(dir: &Path) -> Result<(), LogError> {
    let tables = Manifest::read(dir)?.tables;
    // The manifest goes first: what remains after a crash here is no log, rather than half of one.
    let manifest = Manifest::path(dir);
    fs::remove_file(&manifest).at("remove", &manifest)?;
    let mut files: Vec<PathBuf> = Vec::new();
    for table in &tables {
        files.extend(parts(dir, &table.name)?.into_iter().map(|(_, path)| path));
    }
    files.extend(journals(dir)?.into_iter().map(|(_, path)| path));
    files.extend(numbered(dir, "journal-", ".damaged")?.into_iter().map(|(_, path)| path));
    for path in files {
        fs::remove_file(&path).at("remove", &path)?;
    }
    for table in &tables {
        // Left when somebody else's file is in it.
        let _ = fs::remove_dir(dir.join(&table.name));
    }
    Ok(())
}
