//! Use of graphics devices by user, from what the kernel's drivers tell of each opening of a device.
//!
//! Needs no library: the numbers are in `/proc/PID/fdinfo`, in a format common to the drivers (amdgpu, i915, xe, msm,
//! panfrost and others). To find the descriptors, the processes are looked at in turn within a budget of CPU time; those
//! that are known are read at every sample.
//!
//! # Limitations
//! The descriptors of other users may be seen by root, or with CAP_SYS_PTRACE. What a client used after its last reading
//! is lost. NVIDIA's own driver tells nothing here, but to its library: see `nvml.rs`, which a static program is without.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs::{self, File};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::census::{Census, Key};
use super::nvml::Asked;
use crate::kernel::clock::{Clock, Moment, SystemClock};
use crate::kernel::files::{Root, read_whole};
use crate::proc::drm::{self, Client, Engine};

/// CPU time for looking at processes in a second [ns]: half a thousandth of a CPU.
const BUDGET_NS_PER_S: f64 = 5e5;
/// Most for a sample, however long ago the last one was [ns].
const BUDGET_MAX_NS: f64 = 10e6;
/// CPU time at the start [ns]: the first interval then knows every client, on most machines.
const BUDGET_START_NS: i64 = 50_000_000;
/// Folder with an entry for each device.
const DEVICES: &str = "/sys/class/drm";
/// What a descriptor of a device refers to.
const FILES: &str = "/dev/dri/";

/// What shows that there is a driver of NVIDIA's own: in Linux, and in Linux below Windows.
pub(super) const DRIVERS: [&str; 2] = ["/proc/driver/nvidia/version", "/dev/dxg"];
/// Why nobody is asked on most machines.
pub(super) const NO_DRIVER: &str = "no driver of NVIDIA";
/// Why a program without a loader asks nobody.
pub(super) const NO_LOADER: &str =
    "this program is linked statically and loads no library: use `thinktime record`";
/// Longest time for which the doctor waits: a driver that nobody uses is started first.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Cards whose driver tells a library what processes use.
pub(super) trait Cards: Debug + Send {
    /// Begins a reading, unless one is under way or the last one is too young. Does not wait.
    fn ask(&mut self, now: Moment);
    /// What processes have used since the reading before, and have of memory now.
    fn take(&mut self, now: Moment) -> BTreeMap<i32, GpuUse>;
    /// Waits for a reading: the number of cards, and what they do not tell; or why there is none.
    fn wait(&mut self, longest: Duration) -> Result<(u32, Vec<String>), String>;
    /// CPU time of the last reading, once [ns].
    fn take_cpu_ns(&mut self) -> u64;
    /// Facts for the manifest.
    fn to_json(&self) -> Json;
}

/// The cards of `root`; an error says why nobody is asked.
fn cards(root: &Root) -> Result<Box<dyn Cards>, String> {
    Ok(Box::new(Asked::open(root)?))
}

/// What a user, or a process, has of graphics devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuUse {
    /// Time in which engines worked for it in the last interval, summed over the engines [ns].
    pub busy_ns: Option<u64>,
    /// Resident memory of its buffers [byte].
    pub memory: Option<u64>,
}

/// Descriptors of graphics devices that a process has.
#[derive(Debug)]
struct Holder {
    start_ticks: u64,
    files: Vec<u32>,
    /// Number of the sample at which it was looked at.
    sample: u32,
}

/// Clients of the graphics devices, between samples.
#[derive(Debug)]
pub struct Gpu {
    root: Root,
    /// Graphics devices at the start.
    devices: usize,
    holders: BTreeMap<i32, Holder>,
    /// Last reading of the engines of each client, by device and number.
    clients: BTreeMap<(String, u64), BTreeMap<String, Engine>>,
    users: BTreeMap<Key, GpuUse>,
    /// Cards that a library is asked for, or why none is.
    cards: Result<Box<dyn Cards>, String>,
    /// Users of the processes that had something of these cards: one may have ended when the answer comes.
    owners: BTreeMap<i32, Key>,
    samples: u32,
    /// CPU time that may be used [ns]; below zero after a process with many descriptors.
    allowance_ns: i64,
    buffer: Vec<u8>,
}

impl Gpu {
    /// The devices of `root`; nothing is read where there are none.
    pub fn new(root: &Root) -> Gpu {
        let is_device = |name: &str| name.starts_with("card") && !name.contains('-');
        let names = fs::read_dir(root.path(DEVICES)).into_iter().flatten().flatten();
        Gpu {
            root: root.clone(),
            devices: names.filter(|entry| entry.file_name().to_str().is_some_and(is_device)).count(),
            holders: BTreeMap::new(),
            clients: BTreeMap::new(),
            users: BTreeMap::new(),
            cards: cards(root),
            owners: BTreeMap::new(),
            samples: 0,
            allowance_ns: BUDGET_START_NS,
            buffer: Vec::new(),
        }
    }

    /// Asks for what the cards know. Before all other reading, so that the answer may be there after it.
    pub fn ask(&mut self, now: Moment) {
        if let Ok(cards) = &mut self.cards {
            cards.ask(now);
        }
    }

    /// Reads the clients; `since_ticks` is the beginning of the interval after boot, `None` at the first sample.
    pub fn sample(&mut self, census: &Census, since_ticks: Option<u64>, passed_ns: u64, now: Moment) {
        self.users.clear();
        if self.devices > 0 {
            self.read_clients(census, since_ticks, passed_ns);
        }
        let Ok(cards) = &mut self.cards else { return };
        let mut before = std::mem::take(&mut self.owners);
        for (pid, used) in cards.take(now) {
            let Some(key) = census.key(pid).cloned().or_else(|| before.remove(&pid)) else { continue };
            let user = self.users.entry(key.clone()).or_default();
            for (sum, part) in [(&mut user.busy_ns, used.busy_ns), (&mut user.memory, used.memory)] {
                *sum = sum.map_or(part, |sum| Some(sum.saturating_add(part.unwrap_or(0))));
            }
            self.owners.insert(pid, key);
        }
    }

    fn read_clients(&mut self, census: &Census, since_ticks: Option<u64>, passed_ns: u64) {
        self.samples = self.samples.wrapping_add(1);
        let known = self.look(census, since_ticks, passed_ns);
        let mut seen = BTreeMap::new();
        // The youngest holder of a client first: a display server opens devices for its clients.
        let mut holders: Vec<_> =
            self.holders.iter().map(|(pid, holder)| (holder.start_ticks, *pid)).collect();
        holders.sort_unstable_by(|one, other| other.cmp(one));
        for (_, pid) in holders {
            let files = self.holders[&pid].files.clone();
            let Some(key) = census.key(pid) else { continue };
            for file in files {
                let path = self.root.path(&format!("/proc/{pid}/fdinfo/{file}"));
                let Some(client) = read(&path, &mut self.buffer) else { continue };
                let id = (client.device.clone(), client.id);
                if seen.contains_key(&id) {
                    continue;
                }
                let is_new = since_ticks.is_some() && known.contains(&pid);
                let engines = self.add(key, &id, client, passed_ns, is_new);
                seen.insert(id, engines);
            }
        }
        self.clients = seen;
    }

    /// Adds a client to its user; the readings to compare the next ones with.
    ///
    /// All that a new client has used is of this interval if `is_new`: its process had been looked at without it.
    fn add(
        &mut self,
        key: &Key,
        id: &(String, u64),
        client: Client,
        passed_ns: u64,
        is_new: bool,
    ) -> BTreeMap<String, Engine> {
        let before = self.clients.remove(id);
        let nothing = Engine::default();
        let user = self.users.entry(key.clone()).or_default();
        if let Some(memory) = client.memory {
            user.memory = Some(user.memory.unwrap_or(0).saturating_add(memory));
        }
        let mut engines = BTreeMap::new();
        for (name, engine) in client.engines {
            let old = before.as_ref().map(|engines| engines.get(&name).unwrap_or(&nothing));
            let grown = match old {
                Some(old) => engine.grown_ns(old, passed_ns),
                None if is_new => engine.busy_ns,
                None => engine.busy_ns.or(engine.cycles).map(|_| 0),
            };
            if let Some(grown) = grown {
                user.busy_ns = Some(user.busy_ns.unwrap_or(0).saturating_add(grown));
            }
            engines.insert(name, old.map_or(engine, |old| engine.at_least(old)));
        }
        engines
    }

    /// Looks for descriptors, at new processes first, then in turn.
    ///
    /// Returns the processes of which every new client is of this interval: those that were looked at before, and those
    /// that began in it.
    fn look(&mut self, census: &Census, since_ticks: Option<u64>, passed_ns: u64) -> BTreeSet<i32> {
        let known = |holder: &Holder, pid| {
            census.facts(pid).is_some_and(|facts| facts.stat.start_ticks == holder.start_ticks)
        };
        self.holders.retain(|pid, holder| known(holder, *pid));
        let mut before: BTreeSet<i32> = self.holders.keys().copied().collect();
        let earned_ns = (BUDGET_NS_PER_S * passed_ns as f64 * 1e-9).clamp(0.0, BUDGET_MAX_NS) as i64;
        self.allowance_ns += earned_ns;
        let mut clock = SystemClock;
        let start_ns = clock.thread_cpu_ns();
        let mut due: Vec<(u32, i32)> = Vec::new();
        for (pid, _, facts) in census.living().filter(|(_, _, facts)| !facts.stat.is_kernel_thread) {
            let sample = self.holders.get(&pid).map_or(0, |holder| holder.sample);
            if since_ticks.is_some_and(|since| facts.stat.start_ticks >= since) {
                before.insert(pid);
            }
            due.push((sample, pid));
        }
        due.sort_unstable();
        for (_, pid) in due {
            if self.allowance_ns <= (clock.thread_cpu_ns() - start_ns) as i64 {
                break;
            }
            let Some(facts) = census.facts(pid) else { continue };
            let files = self.files(pid);
            let holder = Holder { start_ticks: facts.stat.start_ticks, files, sample: self.samples };
            self.holders.insert(pid, holder);
        }
        // What is left is not saved: the work of many samples would fall on one.
        self.allowance_ns = (self.allowance_ns - (clock.thread_cpu_ns() - start_ns) as i64).min(0);
        before
    }

    /// Descriptors of a process that are graphics devices.
    fn files(&self, pid: i32) -> Vec<u32> {
        let folder = self.root.path(&format!("/proc/{pid}/fd"));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_device =
            |target: std::path::PathBuf| target.to_str().is_some_and(|target| target.starts_with(FILES));
        let mut files: Vec<u32> = entries
            .filter(|entry| fs::read_link(entry.path()).is_ok_and(is_device))
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        files.sort_unstable();
        files
    }

    /// Use by user in the last interval.
    pub fn users(&self) -> &BTreeMap<Key, GpuUse> {
        &self.users
    }

    /// CPU time that threads of their own took since it was asked last [ns].
    pub fn take_cpu_ns(&mut self) -> u64 {
        self.cards.as_mut().map_or(0, |cards| cards.take_cpu_ns())
    }

    /// Facts for the manifest.
    pub fn to_json(&self) -> Json {
        let nvml = self.cards.as_ref().map_or_else(|why| json!(why), |cards| cards.to_json());
        json!({ "devices": self.devices, "clients": self.clients.len(), "nvml": nvml })
    }

    /// What there is to ask, for the doctor.
    pub fn examine(root: &Root) -> Sources {
        let mut gpu = Gpu::new(root);
        let driver =
            |number: usize| fs::read_link(root.path(&format!("{DEVICES}/card{number}/device/driver")));
        let name = |path: std::path::PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        let drivers: BTreeSet<String> = (0..64).filter_map(|number| name(driver(number).ok()?)).collect();
        let mut clients = BTreeMap::new();
        let processes = fs::read_dir(root.path("/proc")).into_iter().flatten().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        for pid in if gpu.devices > 0 { numbers.collect() } else { Vec::new() } {
            for file in gpu.files(pid) {
                let path = root.path(&format!("/proc/{pid}/fdinfo/{file}"));
                if let Some(client) = read(&path, &mut gpu.buffer) {
                    clients.insert((client.device, client.id), !client.engines.is_empty());
                }
            }
        }
        let telling = clients.values().filter(|tells| **tells).count();
        let cards = gpu.cards.and_then(|mut cards| cards.wait(ANSWER_MAX));
        Sources { devices: gpu.devices, drivers, clients: clients.len(), telling, cards }
    }
}

/// Where the use of graphics devices could come from.
#[derive(Debug)]
pub struct Sources {
    /// Devices of the kernel's drivers, and the names of these.
    pub devices: usize,
    pub drivers: BTreeSet<String>,
    /// Openings of the devices that may be seen, and those that tell how long engines worked.
    pub clients: usize,
    pub telling: usize,
    /// Cards that NVML knows and what they do not tell, or why it told nothing.
    pub cards: Result<(u32, Vec<String>), String>,
}

impl Sources {
    /// True where NVIDIA's own driver is not there.
    pub fn is_without_nvidia(&self) -> bool {
        self.cards.as_ref().is_err_and(|why| why == NO_DRIVER)
    }
}

fn read(path: &std::path::Path, buffer: &mut Vec<u8>) -> Option<Client> {
    drm::parse(read_whole(File::open(path).ok()?, buffer).ok()?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::census::Surroundings;
    use super::super::departures::Departures;
    use super::super::{By, Facts, Scan};
    use super::*;
    use crate::proc::process_stat::ProcessStat;

    const SECOND: u64 = 1_000_000_000;

    /// A machine with graphics devices, as a tree of files.
    struct Machine {
        tree: tempfile::TempDir,
        census: Census,
        gpu: Gpu,
        samples: u64,
    }

    impl Machine {
        fn new() -> Machine {
            let tree = tempfile::tempdir().unwrap();
            for device in ["card0", "card0-HDMI-A-1", "renderD128"] {
                fs::create_dir_all(tree.path().join("sys/class/drm").join(device)).unwrap();
            }
            let gpu = Gpu::new(&Root::new(tree.path()));
            assert_eq!(gpu.devices, 1);
            Machine { tree, census: Census::new(By::Uid, 10_000_000), gpu, samples: 0 }
        }

        /// Opens a device or another file, or changes what a descriptor tells.
        fn write(&self, pid: i32, file: u32, target: &str, text: &str) {
            let process = self.tree.path().join(format!("proc/{pid}"));
            for folder in ["fd", "fdinfo"] {
                fs::create_dir_all(process.join(folder)).unwrap();
            }
            let link = process.join(format!("fd/{file}"));
            let _ = fs::remove_file(&link);
            symlink(target, link).unwrap();
            fs::write(process.join(format!("fdinfo/{file}")), text).unwrap();
        }

        /// A sample of processes: number, user, and start [sample].
        fn sample(&mut self, processes: &[(i32, u32, u64)]) -> BTreeMap<Key, GpuUse> {
            let mut scan = Scan::default();
            for (pid, uid, start) in processes {
                let stat =
                    ProcessStat { pid: *pid, parent: 1, start_ticks: 100 * start, ..ProcessStat::default() };
                scan.changed(
                    *pid,
                    Facts {
                        stat,
                        run_ns: Some(0),
                        wait_ns: None,
                        wait_cut_ns: 0,
                        has_all_waits: true,
                        had_one_thread: true,
                        swap_wait_ns: None,
                        io: None,
                        command: "work".into(),
                        uid: *uid,
                        cgroup: None,
                    },
                );
            }
            let since_ticks = (self.samples > 0).then_some(100 * self.samples);
            let around = Surroundings {
                since_ticks,
                length_ns: 1,
                capacity_ns: 1,
                own_pid: None,
                departures: &Departures::default(),
                is_gone: &mut |_| false,
            };
            self.census.step(&scan, around);
            self.samples += 1;
            self.gpu.sample(&self.census, since_ticks, SECOND, Moment::default());
            self.gpu.users().clone()
        }
    }

    fn client(id: u64, render_ns: u64, kib: u64) -> String {
        format!(
            "pos:\t0\ndrm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t{id}\n\
             drm-engine-render:\t{render_ns} ns\ndrm-engine-copy:\t7 ns\ndrm-resident-system0:\t{kib} KiB\n"
        )
    }

    fn used(busy_ns: u64, kib: u64) -> GpuUse {
        GpuUse { busy_ns: Some(busy_ns), memory: Some(kib << 10) }
    }

    #[test]
    fn each_client_counts_once_for_its_user() {
        let mut machine = Machine::new();
        let (display, alice) = ((10, 0, 0), (20, 1000, 0));
        machine.write(10, 3, "/dev/dri/card0", &client(1, 5000, 8));
        // The display server opened what Alice draws with, and kept it.
        machine.write(10, 4, "/dev/dri/renderD128", &client(2, 900, 4));
        machine.write(20, 7, "/dev/dri/renderD128", &client(2, 900, 4));
        machine.write(20, 8, "/tmp/file", &client(9, 1, 1));
        let display_uid = Key::Uid(0);
        let first = machine.sample(&[display, (20, 1000, 0)]);
        // What was used before the first sample belongs to no interval.
        assert_eq!(first, BTreeMap::from([(display_uid.clone(), used(0, 8)), (Key::Uid(1000), used(0, 4))]));
        machine.write(10, 3, "/dev/dri/card0", &client(1, 5000 + 30, 8));
        machine.write(20, 7, "/dev/dri/renderD128", &client(2, 900 + 400, 16));
        machine.write(10, 4, "/dev/dri/renderD128", &client(2, 900 + 400, 16));
        let next = machine.sample(&[display, alice]);
        assert_eq!(next, BTreeMap::from([(display_uid, used(30, 8)), (Key::Uid(1000), used(400, 16))]));
        // A driver may tell less for a while: the larger value stands.
        for (told, expected) in [(1200, 0), (1350, 50)] {
            machine.write(20, 7, "/dev/dri/renderD128", &client(2, told, 16));
            assert_eq!(machine.sample(&[display, alice])[&Key::Uid(1000)].busy_ns, Some(expected), "{told}");
        }
    }

    #[test]
    fn a_new_client_counts_in_full_where_it_is_of_the_interval() {
        let mut machine = Machine::new();
        machine.write(20, 1, "/dev/null", "pos:\t0\n");
        assert!(machine.sample(&[(20, 1000, 0)]).is_empty());
        machine.write(20, 7, "/dev/dri/renderD128", &client(2, 300, 4));
        machine.write(30, 7, "/dev/dri/renderD128", &client(3, 50, 2));
        // 30 began in the interval, and 40 was hidden until now.
        machine.write(40, 7, "/dev/dri/renderD128", &client(4, 70_000, 2));
        let found = machine.sample(&[(20, 1000, 0), (30, 2000, 1), (40, 3000, 0)]);
        let expected = [(1000, used(307, 4)), (2000, used(57, 2)), (3000, used(0, 2))];
        assert_eq!(found, expected.map(|(uid, found)| (Key::Uid(uid), found)).into_iter().collect());
    }

    #[test]
    fn without_a_device_nothing_is_looked_at() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(Gpu::new(&Root::new(tree.path())).devices, 0);
    }
}
