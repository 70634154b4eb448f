//! Reading the kernel's files cheaply: opened once, read from the start each time.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::{Errno, pread};

/// The file tree that is recorded: `/`, or a captured one in tests.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    pub fn new(path: impl Into<PathBuf>) -> Root {
        Root(path.into())
    }

    /// Path of the machine's `path` (which starts with a slash) in this tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A small file's text, trimmed; `None` where it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned())
    }

    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }
}

/// A file of the kernel that stays open and is read from its start each time.
#[derive(Debug)]
pub struct KernelFile {
    file: File,
    /// As the user knows it, without the root.
    pub name: String,
}

impl KernelFile {
    pub fn open(root: &Root, name: &str) -> io::Result<KernelFile> {
        Ok(KernelFile { file: File::open(root.path(name))?, name: name.into() })
    }

    /// Reads the whole file as it is now.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        read_whole(&self.file, buffer)
    }
}

/// Reads all of `file` from its start into `buffer`, which grows as needed and keeps its size.
///
/// The kernel hands out many of its files in pieces, so that only an empty read is the end.
pub fn read_whole(file: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<&[u8]> {
    if buffer.len() < 4096 {
        buffer.resize(16 * 1024, 0);
    }
    let mut length = 0;
    loop {
        if length == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        match pread(&file, &mut buffer[length..], length as u64) {
            Ok(0) => return Ok(&buffer[..length]),
            Ok(read) => length += read,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Reads a file that the kernel hands out in one piece, such as those of one process.
pub fn read_once(file: impl AsFd, buffer: &mut [u8]) -> io::Result<&[u8]> {
    loop {
        match pread(&file, &mut *buffer, 0) {
            Ok(read) => return Ok(&buffer[..read]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
