//! A control group for each login: CPU time of everything that runs in it or has run in it.
//!
//! Only version 2 of control groups, whose `cpu.stat` is there without any controller, and complete: no limit is set, and
//! nothing is switched on for other groups. The user's process makes its group and enters it; the nursery removes all when
//! everything in them has ended.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use crate::nursery::process::retry;

const PROCESSES: &str = "cgroup.procs";

/// Folder of the groups of a play with this name, if such may be made: below the group of this process.
pub(crate) fn usable_folder(name: &str) -> Option<PathBuf> {
    let own = own_folder()?;
    // Both ends of a move and what they have in common are in it.
    rustix::fs::access(own.join(PROCESSES), Access::WRITE_OK).ok()?;
    let folder = own.join(name);
    fs::create_dir(&folder).ok()?;
    let has_time = fs::read(folder.join("cpu.stat")).is_ok_and(|text| times_ns(&text).is_some());
    // Made again by the first login: a play that never begins leaves nothing.
    let _ = fs::remove_dir(&folder);
    has_time.then_some(folder)
}

/// Folder of the group of this process in the hierarchy of version 2.
fn own_folder() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    // ID, parent, device, root, mount point, ... - type, source, options; see proc_pid_mountinfo(5).
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let is_groups = kind.split(' ').next() == Some("cgroup2");
        let mut words = place.split(' ').skip(3);
        is_groups.then(|| Some((words.next()?, words.next()?)))?
    })?;
    let below = own.strip_prefix(mount.0.trim_end_matches('/'))?;
    Some(Path::new(mount.1).join(below.trim_start_matches('/')))
}

/// Makes the group `folder`, and moves this process there.
pub(crate) fn enter(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(PROCESSES), "0")
}

/// Removes a folder of groups, once everything in them has ended.
pub(crate) fn remove(folder: &Path) {
    for group in fs::read_dir(folder).into_iter().flatten().flatten() {
        // The files of a group go with it; only groups within it are folders.
        let _ = fs::remove_dir(group.path());
    }
    let _ = fs::remove_dir(folder);
}

/// The CPU time of a group.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    /// `cpu.stat`, once it has been read.
    stat: Option<OwnedFd>,
}

impl Group {
    pub fn new(folder: PathBuf) -> Group {
        Group { folder, stat: None }
    }

    /// CPU time in all, in user state and in the kernel so far [ns].
    pub fn cpu_ns(&mut self) -> Option<[u64; 3]> {
        if self.stat.is_none() {
            let path = self.folder.join("cpu.stat");
            self.stat = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        }
        let mut text = [0u8; 2048];
        let length =
            retry(|| rustix::io::pread(self.stat.as_ref().ok_or(rustix::io::Errno::NOENT)?, &mut text, 0));
        times_ns(&text[..length.ok()?])
    }
}

/// The first three times of `cpu.stat` [ns].
fn times_ns(text: &[u8]) -> Option<[u64; 3]> {
    let text = std::str::from_utf8(text).ok()?;
    let time = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()?.checked_mul(1000)
    };
    Some([time("usage_usec")?, time("user_usec")?, time("system_usec")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_kernels_file() {
        let text = b"usage_usec 123\nuser_usec 100\nsystem_usec 23\nnice_usec 0\nnr_periods 0\n";
        assert_eq!(times_ns(text), Some([123_000, 100_000, 23_000]));
        assert_eq!(times_ns(b"user 3\nsystem 4\n"), None);
    }
}
