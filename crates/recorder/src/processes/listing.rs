//! The list of processes alive.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{RawDir, SeekFrom, seek};

use crate::kernel::files::Root;

/// The folder `/proc`, kept open.
#[derive(Debug)]
pub struct Listing {
    folder: File,
    buffer: Vec<MaybeUninit<u8>>,
}

/// Room for about 2,000 entries of a folder: one system call lists the processes of most machines.
const BUFFER_BYTES: usize = 64 * 1024;

impl Listing {
    /// Opens `/proc` below `root`.
    pub fn open(root: &Root) -> io::Result<Listing> {
        let folder = File::open(root.path("/proc"))?;
        Ok(Listing { folder, buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES] })
    }

    /// The folder, for opening files relative to it: shorter paths cost the kernel less.
    pub fn folder(&self) -> impl AsFd + '_ {
        &self.folder
    }

    /// Number of links of the folder, which on `/proc` grows with every process.
    pub fn links(&self) -> io::Result<u64> {
        Ok(self.folder.metadata()?.nlink())
    }

    /// Fills `pids` with the processes alive, ascending.
    pub fn read(&mut self, pids: &mut Vec<i32>) -> io::Result<()> {
        pids.clear();
        seek(&self.folder, SeekFrom::Start(0))?;
        let mut entries = RawDir::new(&self.folder, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if let Some(pid) = pid_of(entry.file_name().to_bytes()) {
                pids.push(pid);
            }
        }
        // The kernel lists them in this order; a captured tree does not.
        if !pids.is_sorted() {
            pids.sort_unstable();
        }
        Ok(())
    }
}

/// Process number that a folder's name stands for; `None` for the other entries of `/proc`.
pub(super) fn pid_of(name: &[u8]) -> Option<i32> {
    if !name.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}
