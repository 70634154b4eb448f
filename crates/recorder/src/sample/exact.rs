//! Exact CPU time of the whole machine, as the scheduler measures it and not as the tick samples it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::kernel::files::{KernelFile, Root, read_whole};
use crate::proc::{cpu_usage, schedstat};
use crate::sample::missing::{Missing, SourceFailure};

/// Source of the exact CPU time, best first.
#[derive(Debug)]
pub enum ExactTime {
    /// `cpuacct.usage` of the root group (cgroup version 1): complete, current to the tick.
    Cpuacct(KernelFile),
    /// The sum of `cpu.stat` over the top groups (version 2; that of the root itself is tick-sampled).
    /// Kernel threads belong to no group and are added from the processes.
    Cgroup2(TopGroups),
    /// `/proc/schedstat`: complete, but a run is counted when it ends.
    RunQueues(KernelFile),
    /// The sum over the processes: without those that start and end between two samples unnoticed.
    Processes,
}

/// Mount points of the controller: alone, or together with `cpu` as systemd mounts it.
const CPUACCT: [&str; 2] =
    ["/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"];
/// Where version 2 is mounted: alone, or beside version 1 (systemd's hybrid layout).
const CGROUP2: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

impl ExactTime {
    /// The best source that exists here and covers the whole machine; `missing` gets the reasons for the
    /// others.
    pub fn open(root: &Root, missing: &mut Missing) -> ExactTime {
        let mut buffer = Vec::new();
        for name in CPUACCT {
            if let Ok(file) = KernelFile::open(root, name) {
                let usable = file.read(&mut buffer).is_ok_and(|text| {
                    cpu_usage::parse_cpuacct(text, name).is_ok_and(|usage| is_whole_machine(root, usage))
                });
                if usable {
                    return ExactTime::Cpuacct(file);
                }
                missing
                    .insert(name.into(), "it does not account for the whole machine (a container?)".into());
            }
        }
        for folder in CGROUP2 {
            if let Some(groups) = TopGroups::open(root, folder) {
                return ExactTime::Cgroup2(groups);
            }
        }
        let name = "/proc/schedstat";
        if let Ok(file) = KernelFile::open(root, name) {
            let parsed = file.read(&mut buffer).ok().map(|text| schedstat::parse_run_queues(text, name));
            if let Some(Ok(Some(_))) = parsed {
                return ExactTime::RunQueues(file);
            }
        }
        missing.insert(
            "cpuacct.usage".into(),
            "no exact CPU time of the whole machine here: it is summed over the processes".into(),
        );
        ExactTime::Processes
    }

    /// The name of the source in the manifest.
    pub fn name(&self) -> &'static str {
        match self {
            ExactTime::Cpuacct(_) => "cpuacct.usage",
            ExactTime::Cgroup2(_) => "cgroup2 cpu.stat and kernel threads",
            ExactTime::RunQueues(_) => "/proc/schedstat",
            ExactTime::Processes => "processes",
        }
    }

    /// CPU time since boot [ns]; `None` if it has to be summed over the processes, or the source failed.
    pub fn read(&mut self, buffer: &mut Vec<u8>, failures: &mut Vec<SourceFailure>) -> Option<u64> {
        let (name, value) = match self {
            ExactTime::Cpuacct(file) => {
                (&file.name, parsed(file, buffer, cpu_usage::parse_cpuacct).map(Some))
            }
            ExactTime::RunQueues(file) => (&file.name, parsed(file, buffer, schedstat::parse_run_queues)),
            ExactTime::Cgroup2(groups) => return Some(groups.read(buffer)),
            ExactTime::Processes => return None,
        };
        match value {
            Ok(value) => value,
            Err(reason) => {
                failures.push(SourceFailure { name: name.clone(), reason });
                None
            }
        }
    }
}

/// The parsed contents of a file, or the reason for which there are none.
fn parsed<T, E: ToString>(
    file: &KernelFile,
    buffer: &mut Vec<u8>,
    parse: impl FnOnce(&[u8], String) -> Result<T, E>,
) -> Result<T, String> {
    let text = file.read(buffer).map_err(|error| error.to_string())?;
    parse(text, file.name.clone()).map_err(|error| error.to_string())
}

/// True if the root group's CPU time is that of the whole machine.
///
/// In a container the root group is the container's: its time is then far from that of `/proc/stat`. The
/// tick's sampling error cannot change a sum over minutes by a factor of three, except for a load in step
/// with it. Soon after boot there is too little time to compare, so that the group is accepted.
fn is_whole_machine(root: &Root, usage_ns: u64) -> bool {
    let Some(text) = root.text("/proc/stat") else { return false };
    let Ok(stat) = crate::proc::stat::parse(text.as_bytes(), "/proc/stat") else { return false };
    let ticks = stat.total.user + stat.total.nice + stat.total.system;
    let sampled_s = ticks as f64 / crate::kernel::host::clock_ticks() as f64;
    let exact_s = usage_ns as f64 * 1e-9;
    sampled_s < 60.0 || exact_s > 0.3 * sampled_s
}

/// The groups below the root of a version-2 hierarchy.
#[derive(Debug)]
pub struct TopGroups {
    folder: std::path::PathBuf,
    /// File of each group, and its CPU time when last read [ns].
    groups: BTreeMap<String, (fs::File, u64)>,
    /// CPU time of groups that were removed [ns].
    removed_ns: u64,
    /// Links of the folder when it was last listed: two, and one for each group in it.
    links: u64,
}

impl TopGroups {
    fn open(root: &Root, folder: &str) -> Option<TopGroups> {
        // Only the root group has no `cgroup.events`; in a container the topmost visible group is not the root.
        if !root.exists(&format!("{folder}/cgroup.controllers"))
            || root.exists(&format!("{folder}/cgroup.events"))
        {
            return None;
        }
        let mut groups =
            TopGroups { folder: root.path(folder), groups: BTreeMap::new(), removed_ns: 0, links: 0 };
        groups.read(&mut Vec::new());
        (!groups.groups.is_empty()).then_some(groups)
    }

    /// Opens the groups that are new in the folder.
    fn list(&mut self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if let Entry::Vacant(place) = self.groups.entry(name) {
                if let Ok(file) = fs::File::open(entry.path().join("cpu.stat")) {
                    place.insert((file, 0));
                }
            }
        }
    }

    /// CPU time of all groups since boot [ns].
    fn read(&mut self, buffer: &mut Vec<u8>) -> u64 {
        let links = fs::metadata(&self.folder).map_or(0, |folder| folder.nlink());
        if links != self.links {
            self.list();
            self.links = links;
        }
        let mut sum = 0;
        let mut removed = Vec::new();
        for (name, (file, last)) in &mut self.groups {
            let usage = read_whole(&*file, buffer).ok();
            match usage.and_then(|text| cpu_usage::parse_cpu_stat(text, "cpu.stat").ok()) {
                Some(now) => {
                    // Never backwards: a sum over groups that falls would be taken for a reset.
                    *last = now.max(*last);
                    sum += *last;
                }
                None => removed.push(name.clone()),
            }
        }
        for name in removed {
            if let Some((_, last)) = self.groups.remove(&name) {
                // Its time stays in the total since boot, or the total would fall.
                self.removed_ns += last;
                // Another may have taken its place, with the same number of links: list again.
                self.links = 0;
            }
        }
        sum + self.removed_ns
    }
}
