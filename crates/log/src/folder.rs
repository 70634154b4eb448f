//! The folder of a log, opened once: everything in it is reached relative to that descriptor and through no link.
//!
//! A recorder runs as root for months in folders that others may reach. A path that is looked up again for each
//! file can lead somewhere else each time; a link in the folder would let whoever made it choose the file that
//! root writes. Here a name is one component, a link is refused, a file that is new is made exclusively, and what
//! is opened must be a regular file: opening a FIFO would wait for ever.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, fsync, mkdirat, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::error::{IoContext, LogError};
use crate::ledger::{Stamp, Stamped};

/// Folders are for their owner and group: the log names users and says when each of them worked.
const FOLDER_MODE: u32 = 0o750;
/// Files, by the same reason. The umask may take more away.
const FILE_MODE: u32 = 0o640;
const LOCK: &str = "lock";

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    /// For messages, and to see whether the folder is still where it was.
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, for reading.
    pub(crate) fn open(path: &Path) -> Result<Folder, LogError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(CWD, path, flags, Mode::empty()).map_err(io::Error::from).at("open", path)?;
        Ok(Folder { fd, path: path.into() })
    }

    /// The folder at `path`, for writing; it is made where there is none.
    ///
    /// A link in place of the folder is refused, and root is refused a folder that others may write.
    pub(crate) fn create(path: &Path) -> Result<Folder, LogError> {
        // Without the slash at the end of `log/`, which would follow a link.
        let path: PathBuf = path.components().collect();
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).at("create", parent)?;
        }
        match mkdirat(CWD, &path, Mode::from_raw_mode(FOLDER_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(io::Error::from(errno)).at("create", &path),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(CWD, &path, flags, Mode::empty()).map_err(|errno| refused(errno, &path))?;
        let folder = Folder { fd, path };
        folder.refuse_strangers()?;
        Ok(folder)
    }

    /// Refuses root a folder that another user owns or may write: its files could be exchanged at any moment.
    fn refuse_strangers(&self) -> Result<(), LogError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let stat = self.stat()?;
        let reason = if stat.st_uid != 0 {
            format!("it belongs to user {}", stat.st_uid)
        } else if stat.st_mode & 0o022 != 0 {
            format!("its mode {:o} lets others write", stat.st_mode & 0o7777)
        } else {
            return Ok(());
        };
        Err(LogError::Unsafe { path: self.path.clone(), reason })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of `name` in this folder, for messages and for readers that take paths.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn stat(&self) -> Result<Stat, LogError> {
        fstat(&self.fd).map_err(io::Error::from).at("read", &self.path)
    }

    /// Whether the path still leads to this folder: it may have been moved, removed, or replaced.
    pub(crate) fn is_in_place(&self) -> bool {
        let there = rustix::fs::stat(&self.path);
        there.is_ok_and(|there| fstat(&self.fd).is_ok_and(|here| same_file(&here, &there)))
    }

    /// Whether the folder itself was removed, and everything in it.
    pub(crate) fn is_removed(&self) -> bool {
        fstat(&self.fd).is_ok_and(|here| here.st_nlink == 0)
    }

    /// Where the folder is now, in words: the path that was opened may lead elsewhere.
    pub(crate) fn remains(&self) -> String {
        if self.is_removed() {
            return "what was written so far was removed with it".into();
        }
        let link = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        match std::fs::read_link(link) {
            Ok(path) => format!("what was written so far is in {}", path.display()),
            // No /proc: the folder is wherever it was moved to.
            Err(_) => "what was written so far is in the folder, wherever it was moved to".into(),
        }
    }

    /// Whether `lock` is the file that locks this folder, wherever the folder is.
    pub(crate) fn is_locked_by(&self, lock: &File) -> bool {
        self.holds(LOCK, lock)
    }

    /// Whether `name` is `file`.
    pub(crate) fn holds(&self, name: &str, file: &File) -> bool {
        let there = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        there.is_ok_and(|there| fstat(file).is_ok_and(|here| same_file(&here, &there)))
    }

    /// The folder `name` in this one; `None` where there is none.
    pub(crate) fn sub(&self, name: &str) -> Result<Option<Folder>, LogError> {
        let path = self.at(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Folder { fd, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(refused(errno, &path)),
        }
    }

    /// The same, made where there is none.
    pub(crate) fn make_sub(&self, name: &str) -> Result<Folder, LogError> {
        let path = self.at(name);
        match mkdirat(&self.fd, name, Mode::from_raw_mode(FOLDER_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(io::Error::from(errno)).at("create", &path),
        }
        let sub = self.sub(name)?.ok_or_else(|| refused(Errno::NOENT, &path))?;
        sub.refuse_strangers()?;
        Ok(sub)
    }

    /// The regular file `name`, for reading.
    pub(crate) fn open_file(&self, name: &str) -> Result<File, LogError> {
        self.opened(name, OFlags::RDONLY)
    }

    /// The regular file `name`, for reading and writing.
    pub(crate) fn open_file_to_change(&self, name: &str) -> Result<File, LogError> {
        self.opened(name, OFlags::RDWR)
    }

    fn opened(&self, name: &str, access: OFlags) -> Result<File, LogError> {
        let path = self.at(name);
        // Without waiting: the open of a FIFO waits for the other end, and would before its type is known.
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = openat(&self.fd, name, flags, Mode::from_raw_mode(FILE_MODE))
            .map_err(|errno| refused(errno, &path))?;
        let stat = fstat(&fd).map_err(io::Error::from).at("read", &path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(LogError::NotAFile { path, reason: "is no regular file" });
        }
        Ok(File::from(fd))
    }

    /// All bytes of `name`.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, LogError> {
        let mut bytes = Vec::new();
        self.open_file(name)?.read_to_end(&mut bytes).at("read", &self.at(name))?;
        Ok(bytes)
    }

    /// The new file `name`, to append to and read back; there must be nothing of that name.
    pub(crate) fn create_file(&self, name: &str) -> Result<File, LogError> {
        self.opened(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
    }

    /// Whether there is anything called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Length and time of the last change [µs since 1970 UTC] of `name`, if it is a regular file.
    pub(crate) fn size_and_change(&self, name: &str) -> Option<(u64, i64)> {
        let stat = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let changed_us =
            (stat.st_mtime as i64).saturating_mul(1_000_000).saturating_add(stat.st_mtime_nsec as i64 / 1000);
        is_file.then_some((stat.st_size as u64, changed_us))
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), LogError> {
        renameat(&self.fd, from, &self.fd, to).map_err(io::Error::from).at("put in place", &self.at(to))
    }

    /// Removes the file `name`; that there is none is no error.
    pub(crate) fn remove(&self, name: &str) -> Result<(), LogError> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(io::Error::from(errno)).at("remove", &self.at(name)),
        }
    }

    /// Removes the folder `name` if it is empty; it stays when somebody else's file is in it.
    pub(crate) fn remove_if_empty(&self, name: &str) {
        let _ = unlinkat(&self.fd, name, AtFlags::REMOVEDIR);
    }

    pub(crate) fn sync(&self) -> Result<(), LogError> {
        fsync(&self.fd).map_err(io::Error::from).at("write", &self.path)
    }

    /// Names of everything in the folder, sorted.
    pub(crate) fn names(&self) -> Result<Vec<String>, LogError> {
        let listing = || -> Result<Vec<String>, Errno> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.fd)? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                if name != "." && name != ".." {
                    names.push(name);
                }
            }
            // The order of a directory is the file system's.
            names.sort();
            Ok(names)
        };
        listing().map_err(io::Error::from).at("list", &self.path)
    }

    /// Numbers of the entries that are called `prefix`, six digits or more, `suffix`; in order.
    pub(crate) fn numbers(&self, prefix: &str, suffix: &str) -> Result<Vec<u64>, LogError> {
        let number = |name: &String| {
            let digits = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            let number: u64 = digits.parse().ok()?;
            // One name for a number: part-1 is nobody's part 000001.
            (*name == format!("{prefix}{number:06}{suffix}")).then_some(number)
        };
        let mut numbers: Vec<u64> = self.names()?.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Writes a file under another name and renames it into place: it is complete or not there, and nothing is
    /// left behind when that fails. Returns length and checksum, and what `fill` returned.
    pub(crate) fn put_in_place<T>(
        &self,
        name: &str,
        durable: bool,
        fill: impl FnOnce(&mut Stamped<File>) -> Result<T, LogError>,
    ) -> Result<(Stamp, T), LogError> {
        let temporary = format!("{name}.tmp");
        // What a crash left behind.
        self.remove(&temporary)?;
        let written = (|| {
            let mut file = Stamped::new(self.create_file(&temporary)?);
            let filled = fill(&mut file)?;
            let (file, stamp) = file.into_parts();
            if durable {
                file.sync_all().at("write", &self.at(name))?;
            }
            self.rename(&temporary, name)?;
            if durable {
                self.sync()?;
            }
            Ok((stamp, filled))
        })();
        if written.is_err() {
            let _ = self.remove(&temporary);
        }
        written
    }

    /// Puts `text` in place as `name` through the file `reserve`, whose blocks are on the disk already: on a disk
    /// that others fill at the same time, no room that was freed for it can be lost to them.
    pub(crate) fn put_through(&self, reserve: &str, name: &str, text: &[u8]) -> Result<(), LogError> {
        let path = self.at(name);
        let mut file = self.opened(reserve, OFlags::RDWR)?;
        if file.metadata().at("read", &path)?.len() < text.len() as u64 {
            return Err(io::Error::from(io::ErrorKind::StorageFull)).at("write", &path);
        }
        let put = file.write_all(text).and_then(|()| file.set_len(text.len() as u64));
        put.and_then(|()| file.sync_all()).at("write", &path)?;
        self.rename(reserve, name)?;
        self.sync()
    }

    /// Takes the lock of the one writer; the kernel releases it when the process ends in any way.
    pub(crate) fn lock(&self) -> Result<File, LogError> {
        let path = self.at(LOCK);
        let mut file = self.opened(LOCK, OFlags::RDWR | OFlags::CREATE)?;
        let stat = fstat(&file).map_err(io::Error::from).at("read", &path)?;
        if stat.st_nlink > 1 {
            // It is another file as well, which would be written over below.
            return Err(LogError::NotAFile { path, reason: "has a second name" });
        }
        let is_free = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => self.lock_itself()?,
            Err(Errno::WOULDBLOCK) => false,
            // A file system without locks is an error, not a second writer.
            Err(errno) => return Err(io::Error::from(errno)).at("lock", &path),
        };
        if !is_free {
            let mut holder = String::new();
            // A process id and no more: the file is its owner's to fill.
            (&file).take(20).read_to_string(&mut holder).at("read", &path)?;
            return Err(LogError::Locked { path: self.path.clone(), holder: holder.trim().into() });
        }
        if !self.is_in_place() || !self.holds(LOCK, &file) {
            return Err(self.lost("lock"));
        }
        // For the message to who comes second; the lock is the kernel's, and a stale number here does no harm.
        let pid = format!("{}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(pid.as_bytes()))
            .at("write", &path)?;
        Ok(file)
    }

    /// Whether no other writer holds a lock on the folder itself, which this one now does.
    ///
    /// The file `lock` can be removed, and a second writer would then begin before the first one looks. File
    /// systems over a network may lock files only; there the file is all there is.
    fn lock_itself(&self) -> Result<bool, LogError> {
        match flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::BADF | Errno::INVAL | Errno::NOLCK | Errno::OPNOTSUPP) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(io::Error::from(errno)).at("lock", &self.path),
        }
    }

    /// As a file system leaves the folder that cannot lock it.
    #[cfg(test)]
    pub(crate) fn unlock_itself(&self) {
        flock(&self.fd, FlockOperation::Unlock).expect("the test's own lock");
    }

    /// Gives the lock up. Closing the files would not do while a child process that was forked a moment ago, and
    /// has not called exec yet, holds a copy of them.
    pub(crate) fn unlock(&self, lock: &File) -> Result<(), LogError> {
        let released = flock(lock, FlockOperation::Unlock);
        // Where a folder cannot be locked, it cannot be unlocked either.
        let _ = flock(&self.fd, FlockOperation::Unlock);
        released.map_err(io::Error::from).at("unlock", &self.at(LOCK))
    }

    /// Whether `lock` is still the lock of this folder, and this folder the one at its path.
    pub(crate) fn is_held(&self, lock: &File) -> Result<(), LogError> {
        match (self.is_in_place(), self.is_locked_by(lock)) {
            (false, _) => Err(self.lost("folder")),
            (_, false) => Err(self.lost("lock")),
            _ => Ok(()),
        }
    }

    pub(crate) fn lost(&self, what: &'static str) -> LogError {
        LogError::Lost { path: self.path.clone(), what, remains: self.remains() }
    }
}

/// A folder with other things in it is not to be written into, let alone replaced.
pub(crate) fn refuse_others(folder: &Folder) -> Result<(), LogError> {
    // A lock alone is left by a writer that failed before it wrote a manifest.
    match folder.names()?.iter().any(|name| name != LOCK) {
        true => {
            let reason = "the folder holds other files".into();
            Err(LogError::NotALog { path: folder.path().into(), reason })
        }
        false => Ok(()),
    }
}

fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Why `path` was not opened.
fn refused(errno: Errno, path: &Path) -> LogError {
    // A link where O_NOFOLLOW forbids one; ENOTDIR where a folder was wanted and the link stands in its place.
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_symlink());
    if matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::MLINK) && is_link {
        return LogError::NotAFile { path: path.into(), reason: "is a symbolic link" };
    }
    // A socket, or a FIFO without its other end.
    if errno == Errno::NXIO {
        return LogError::NotAFile { path: path.into(), reason: "is no regular file" };
    }
    match Err::<(), _>(io::Error::from(errno)).at("open", path) {
        Err(error) => error,
        Ok(()) => unreachable!("an error was passed"),
    }
}
