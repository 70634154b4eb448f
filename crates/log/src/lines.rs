//! Files of lines that grow: the ledger of the parts and the sessions that have ended.
//!
//! The manifest is written whole at every change, so that a crash leaves the old one or the new one; what grows with
//! the age of the log stands in files of its own, `NAME-NNNNNN.jsonl`, and the manifest says how many bytes of each are
//! in force, and their checksum. New lines are appended first and named by the next manifest. What a crash leaves after
//! the bytes in force belongs to nobody: readers do not read it, and the next append replaces it. Lines in force are
//! never changed in place: a file that is written anew takes a new number.

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::error::{IoContext, LogError};
use crate::folder::Folder;
use crate::ledger::{Checksum, Stamp};

/// The bytes of a file of lines that are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub(crate) number: u64,
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
}

/// A kind of such files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    name: &'static str,
}

/// Complete parts.
pub(crate) const LEDGER: Lines = Lines { name: "ledger" };
/// Sessions before the last.
pub(crate) const SESSIONS: Lines = Lines { name: "sessions" };

impl Lines {
    pub(crate) fn file_name(self, number: u64) -> String {
        format!("{}-{number:06}.jsonl", self.name)
    }

    /// Bytes of the file that are there, at most as many as are in force.
    pub(crate) fn salvage(self, folder: &Folder, extent: &Extent) -> Result<Vec<u8>, LogError> {
        let name = self.file_name(extent.number);
        let mut bytes = Vec::new();
        let file = folder.open_file(&name)?;
        file.take(extent.stamp.bytes).read_to_end(&mut bytes).at("read", &folder.at(&name))?;
        Ok(bytes)
    }

    /// The bytes in force, as they were written.
    pub(crate) fn read(self, folder: &Folder, extent: &Extent) -> Result<Vec<u8>, LogError> {
        let bytes = self.salvage(folder, extent)?;
        if Stamp::of(&bytes) != extent.stamp {
            let reason = "it is not the file that the manifest describes";
            let path = folder.at(&self.file_name(extent.number));
            return Err(LogError::damaged(&path, self.name, reason));
        }
        Ok(bytes)
    }

    /// Writes `text` as a file with a number that none had before.
    pub(crate) fn write(
        self,
        folder: &Folder,
        before: Option<Extent>,
        text: &[u8],
        durable: bool,
    ) -> Result<Extent, LogError> {
        let number = before.map_or(0, |before| before.number).saturating_add(1);
        let name = self.file_name(number);
        let path = folder.at(&name);
        let (stamp, ()) =
            folder.put_in_place(&name, durable, |file| file.write_all(text).at("write", &path))?;
        Ok(Extent { number, stamp })
    }

    /// Writes `text` after the bytes in force. An error where the file is not as it was left: it is then to be written
    /// anew.
    pub(crate) fn append(
        self,
        folder: &Folder,
        before: &Extent,
        text: &[u8],
        durable: bool,
    ) -> Result<Extent, LogError> {
        let name = self.file_name(before.number);
        let path = folder.at(&name);
        let mut file = folder.open_file_to_change(&name)?;
        let Stamp { bytes, crc32 } = before.stamp;
        let data = file.metadata().at("read", &path)?;
        // With a second name it is another file as well, which would be written into.
        if data.len() < bytes || data.nlink() > 1 {
            return Err(LogError::damaged(&path, self.name, "it is not the file that was written"));
        }
        let mut append = || -> std::io::Result<()> {
            file.set_len(bytes)?;
            file.seek(SeekFrom::Start(bytes))?;
            file.write_all(text)?;
            if durable { file.sync_all() } else { Ok(()) }
        };
        append().at("append to", &path)?;
        let mut hasher = crc32fast::Hasher::new_with_initial_len(crc32.0, bytes);
        hasher.update(text);
        let stamp =
            Stamp { bytes: bytes.saturating_add(text.len() as u64), crc32: Checksum(hasher.finalize()) };
        Ok(Extent { number: before.number, stamp })
    }

    /// Waits until the bytes in force are on the disk.
    pub(crate) fn sync(self, folder: &Folder, extent: &Extent) -> Result<(), LogError> {
        let name = self.file_name(extent.number);
        folder.open_file(&name)?.sync_all().at("write", &folder.at(&name))
    }

    /// Removes the file.
    pub(crate) fn remove(self, folder: &Folder, extent: &Extent) -> Result<(), LogError> {
        folder.remove(&self.file_name(extent.number))
    }
}
