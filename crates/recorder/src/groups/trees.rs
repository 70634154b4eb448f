//! The hierarchies of control groups of a machine.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags, open, statat};

use crate::kernel::files::Root;

/// A hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Version 2.
    Unified,
    /// CPU times of version 1.
    Cpuacct,
    /// Quotas of version 1.
    Cpu,
    /// Memory of version 1.
    Memory,
    /// Block devices of version 1.
    Blkio,
}

const TREES: [Tree; 5] = [Tree::Unified, Tree::Cpuacct, Tree::Cpu, Tree::Memory, Tree::Blkio];

/// Where hierarchies are mounted (file-hierarchy(7), and the layout of systemd), and a file of their root that
/// only the right one has.
const MOUNTS: [(Tree, &str, &str); 8] = [
    (Tree::Unified, "/sys/fs/cgroup", "cgroup.controllers"),
    (Tree::Unified, "/sys/fs/cgroup/unified", "cgroup.controllers"),
    (Tree::Cpuacct, "/sys/fs/cgroup/cpuacct", "cpuacct.usage"),
    (Tree::Cpuacct, "/sys/fs/cgroup/cpu,cpuacct", "cpuacct.usage"),
    (Tree::Cpu, "/sys/fs/cgroup/cpu", "cpu.shares"),
    (Tree::Cpu, "/sys/fs/cgroup/cpu,cpuacct", "cpu.shares"),
    (Tree::Memory, "/sys/fs/cgroup/memory", "memory.usage_in_bytes"),
    (Tree::Blkio, "/sys/fs/cgroup/blkio", "blkio.throttle.io_serviced"),
];

/// Hierarchies in which a group may be.
#[derive(Clone, Debug)]
pub struct Places([bool; TREES.len()]);

impl Default for Places {
    /// All of them.
    fn default() -> Places {
        Places([true; TREES.len()])
    }
}

/// The hierarchies that there are.
#[derive(Debug)]
pub struct Trees {
    roots: [Option<PathBuf>; TREES.len()],
    /// The same, open: a path from there is shorter, and is looked up at every sample.
    folders: [Option<OwnedFd>; TREES.len()],
    /// The number of a folder's links tells how many groups are below it.
    has_links: bool,
}

impl Trees {
    /// The hierarchies below `root`.
    pub fn open(root: &Root) -> Trees {
        let mut roots = [const { None }; TREES.len()];
        for (tree, mount, file) in MOUNTS {
            if roots[tree as usize].is_none() && root.exists(&format!("{mount}/{file}")) {
                roots[tree as usize] = Some(root.path(mount));
            }
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folders = roots.each_ref().map(|root| open(root.as_ref()?, flags, Mode::empty()).ok());
        Trees { roots, folders, has_links: root.is_machine() }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.roots.iter().all(Option::is_none)
    }

    /// Versions in use, for the manifest.
    pub fn name(&self) -> &'static str {
        let has_first = self.roots[1..].iter().any(Option::is_some);
        match (self.roots[0].is_some(), has_first) {
            (true, true) => "versions 1 and 2",
            (true, false) => "version 2",
            (false, true) => "version 1",
            (false, false) => "none",
        }
    }

    /// Folder of a group; `None` without that hierarchy.
    fn folder(&self, tree: Tree, path: &str) -> Option<PathBuf> {
        Some(self.roots[tree as usize].as_ref()?.join(path.trim_start_matches('/')))
    }

    /// A file of a group.
    pub fn file(&self, tree: Tree, path: &str, file: &str) -> Option<PathBuf> {
        self.folder(tree, path).map(|folder| folder.join(file))
    }

    /// Links of the folders of a group in all hierarchies, which change with the number of groups below it; `None`
    /// where that is not known. Looks in those of `places`, and leaves those in which the group is.
    pub fn links(&self, path: &str, places: &mut Places) -> Option<u64> {
        if !self.has_links {
            return None;
        }
        let below = path.trim_start_matches('/');
        let below = if below.is_empty() { "." } else { below };
        let mut sum = 0u64;
        for (folder, is_there) in self.folders.iter().zip(&mut places.0) {
            let found = folder.as_ref().filter(|_| *is_there);
            let found = found.and_then(|folder| statat(folder, below, AtFlags::empty()).ok());
            *is_there = found.is_some();
            #[allow(clippy::unnecessary_cast, reason = "it is not of one type on every architecture")]
            let links = found.map_or(0, |found| found.st_nlink as u64);
            sum = sum.wrapping_mul(4096).wrapping_add(links);
        }
        Some(sum)
    }

    /// Names of the groups directly below `path`, each once.
    pub fn children(&self, path: &str) -> Vec<String> {
        let mut names = Vec::new();
        for folder in TREES.iter().filter_map(|tree| self.folder(*tree, path)) {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            // Names that are no text cannot be a unit's or a container's, and would not be unique once they were.
            names.extend(folders.filter_map(|entry| entry.file_name().into_string().ok()));
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_looked_for_where_it_was_found_until_it_may_be_elsewhere_too() {
        let folder = tempfile::tempdir().unwrap();
        let mounts = folder.path().join("sys/fs/cgroup");
        for (_, mount, file) in
            MOUNTS.iter().filter(|(tree, ..)| matches!(tree, Tree::Cpuacct | Tree::Memory))
        {
            let mount = folder.path().join(mount.trim_start_matches('/'));
            fs::create_dir_all(&mount).unwrap();
            fs::write(mount.join(file), "0").unwrap();
        }
        let trees = Trees { has_links: true, ..Trees::open(&Root::new(folder.path())) };
        fs::create_dir(mounts.join("memory/job")).unwrap();
        let mut places = Places::default();
        let found = trees.links("/job", &mut places);
        let in_one = [false, false, false, true, false];
        assert_eq!((trees.name(), places.0), ("version 1", in_one));
        // One in another hierarchy is found when its parent, which has another number of groups then, says so.
        fs::create_dir(mounts.join("cpuacct/job")).unwrap();
        assert_eq!((trees.links("/job", &mut places), places.0), (found, in_one));
        let mut places = Places::default();
        assert_ne!(trees.links("/job", &mut places), found);
        assert_eq!(places.0, [false, true, false, true, false]);
        // One that is removed is nowhere.
        fs::remove_dir(mounts.join("cpuacct/job")).unwrap();
        fs::remove_dir(mounts.join("memory/job")).unwrap();
        assert_eq!((trees.links("/job", &mut places), places.0), (Some(0), [false; TREES.len()]));
    }
}
