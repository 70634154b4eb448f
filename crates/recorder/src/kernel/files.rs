//! Reading the kernel's files at low cost: opened once, read from the start each time.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::{Errno, pread};

/// File tree that is recorded: `/`, or a captured one in tests.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// The tree below `path`.
    pub fn new(path: impl Into<PathBuf>) -> Root {
        Root(path.into())
    }

    /// Path of the machine's `path` (which starts with a slash) in this tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// True if this tree has `path`.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Text of a small file, trimmed; `None` if it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// True for this machine's own tree, whose processes are those around the recorder.
    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }
}

/// A file of the kernel that stays open and is read from its start each time.
#[derive(Debug)]
pub struct KernelFile {
    file: File,
    /// Path as the user knows it, without the root.
    pub name: String,
}

impl KernelFile {
    /// Opens `name` below `root`.
    pub fn open(root: &Root, name: &str) -> io::Result<KernelFile> {
        Ok(KernelFile { file: File::open(root.path(name))?, name: name.into() })
    }

    /// Contents of the file now.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        read_whole(&self.file, buffer)
    }
}

/// A piece shorter than this, where there was room for more, is the last one of a file [byte]: half of the smallest page. The
/// kernel ends a piece where what comes next has no room in the rest of a page, and none of the files that are read here has
/// a line of half a page after a shorter one.
const WHOLE_BYTES: usize = 2048;

/// All of `file` from its start, in `buffer`, which grows as needed and keeps its size.
///
/// The kernel returns many of its files in pieces: unless one is short, only an empty read is the end.
pub fn read_whole(file: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<&[u8]> {
    if buffer.len() < 4096 {
        buffer.resize(16 * 1024, 0);
    }
    let mut length = 0;
    loop {
        if length == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let room = buffer.len() - length;
        match pread(&file, &mut buffer[length..], length as u64) {
            Ok(0) => return Ok(&buffer[..length]),
            Ok(read) => {
                length += read;
                if read < WHOLE_BYTES && read < room {
                    return Ok(&buffer[..length]);
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// A file that the kernel returns in one piece, such as those of one process. Saves the second read.
pub fn read_once(file: impl AsFd, buffer: &mut [u8]) -> io::Result<&[u8]> {
    loop {
        match pread(&file, &mut *buffer, 0) {
            Ok(read) => return Ok(&buffer[..read]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
