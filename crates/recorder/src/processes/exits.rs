//! What the kernel says of every task when it ends: the exit messages of taskstats.
//!
//! A socket of its own receives a message for each task that ends, whoever waits for it: its user, name, CPU time,
//! faults and I/O. They are received at every sample, and in between before the buffer of the socket is full.
//! Layouts: linux/taskstats.h, version 12 and later (Linux 5.19), the first that says to which process a task belongs.
//!
//! # Limitations
//! The kernel sends the message before it gives back the memory of the process, and the CPU time in it is that of the
//! last tick or switch of the task. For a task that never slept, the time of its life less its waiting for a CPU is
//! closer, but holds what the hypervisor took from it too: of all such time of an interval, as much is left out as was
//! taken from the machine. The rest appears in the totals of the process that waits for it, and the census counts it
//! from there.
//!
//! The user is the real one, not the effective. Needs CAP_NET_ADMIN in the initial user and process namespaces.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{SendFlags, send};

use super::departures::{Departed, Departures};
use super::netlink::{
    HEADER_BYTES, IO_DELAY_OFFSET, NLMSG_ERROR, RUN_OFFSET, SWAP_DELAY_OFFSET, TASKSTATS_CMD_GET,
    TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_AGGR_TGID, TASKSTATS_TYPE_STATS, WAIT_OFFSET, attribute, body,
    open_family, put_message, receive_many, u16_at, u32_at, u64_at,
};
use super::usage::{Usage, possible_wait_ns};
use crate::kernel::clock::{Clock, Moment, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::proc::process_stat::{Name, is_low_priority};

// From linux/taskstats.h and linux/netlink.h: part of the kernel's ABI.
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const NLM_F_ACK: u16 = 4;
/// `ac_flag`: the last task of its process.
const AGROUP: u8 = 0x20;
/// First version of `struct taskstats` with the number of the process.
const VERSION_MIN: u16 = 12;

// Offsets in `struct taskstats` [byte].
const FLAG_OFFSET: usize = 8;
const NICE_OFFSET: usize = 9;
const NAME_OFFSET: usize = 80;
const NAME_BYTES: usize = 32;
const CLASS_OFFSET: usize = 112;
const USER_OFFSET: usize = 120;
const PID_OFFSET: usize = 128;
const PARENT_OFFSET: usize = 132;
const ELAPSED_OFFSET: usize = 144;
const USER_TIME_OFFSET: usize = 152;
const SYSTEM_TIME_OFFSET: usize = 160;
const FAULTS_MINOR_OFFSET: usize = 168;
const FAULTS_MAJOR_OFFSET: usize = 176;
const RESIDENT_MAX_OFFSET: usize = 200;
const READ_BYTES_OFFSET: usize = 248;
const WRITE_BYTES_OFFSET: usize = 256;
const SLEEPS_OFFSET: usize = 272;
const PROCESS_OFFSET: usize = 368;
const PROCESS_ELAPSED_OFFSET: usize = 376;

/// Longest time between two readings of the scheduler's clock for a task that runs: the tick of the slowest kernels
/// [ns].
const TICK_MAX_NS: u64 = 10_000_000;
/// The tick of most kernels [ns].
const TICK_USUAL_NS: u64 = 4_000_000;
/// What the end of a process takes after its message, about, and for each page that it gives back [ns].
const END_NS: u64 = 50_000;
const PAGE_NS: u64 = 200;
/// Room for messages that were not received yet [byte]. The kernel takes it only as it is needed.
const BUFFER_BYTES: usize = 32 << 20;
/// Messages that have room in it, with what the kernel needs for each.
const CAPACITY: f64 = 20_000.0;
/// Share of the room that may fill until the messages are received.
const FILL_MAX: f64 = 0.2;
/// Bounds of the time until they are [ns].
const DRAIN_NS: (f64, f64) = (10e6, 1e9);
/// Messages received in one call, and room for each [byte]: two records of version 16 have 1,200.
const BATCH: usize = 32;
const MESSAGE_BYTES: usize = 4096;
/// Processes that are kept by themselves between two samples: those that ended last.
const SINGLE_MAX: usize = 4096;
/// Processes with threads that ended, of which sums are kept: more than a kernel has processes are leftovers.
const PARTS_MAX: usize = 1 << 16;

/// A task that ended, as in its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Task {
    pid: i32,
    process: i32,
    parent: i32,
    uid: u32,
    name: Name,
    /// Without user and system time.
    usage: Usage,
    /// User and system time by the tick [ns].
    ticks_ns: (u64, u64),
    /// CPU time in it that is known from the life of the task only [ns].
    by_life_ns: u64,
    /// CPU time that is probably not in it [ns].
    missing_ns: u64,
    /// Life of the process until now [ns].
    elapsed_ns: u64,
    /// It leaves the CPU to others.
    is_low_priority: bool,
    /// The last task of its process.
    is_last: bool,
    /// Waits that the kernel told to be longer than the task's life.
    impossible_waits: u64,
    /// CPU time and waiting of all tasks of the process, where it had several [ns].
    process_ns: Option<(u64, u64)>,
}

/// The socket, and the processes that ended since the last sample.
#[derive(Debug)]
pub struct Exits {
    socket: OwnedFd,
    family: u16,
    buffer: Vec<u8>,
    ends: Ends,
    /// Time until the buffer may be too full [ns].
    allowed_ns: i64,
}

/// Processes that ended since the last sample, from messages in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    departures: Departures,
    /// Tasks that ended before the last one of their process.
    parts: BTreeMap<i32, Task>,
    /// When messages were received last, at a sample and at all.
    sampled: Option<Moment>,
    drained: Option<Moment>,
    /// Times at which messages were lost, of which nothing was said yet.
    losses: u64,
    /// Waits that were told to be longer than the life of their task, since the beginning.
    impossible_waits: u64,
}

fn short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an exit message is too short")
}

/// The task of a message; `None` for a message that is of no task.
fn parse(message: &[u8]) -> io::Result<Option<Task>> {
    let body = body(message)?;
    let stats = |kind| attribute(body, kind).and_then(|nested| attribute(nested, TASKSTATS_TYPE_STATS));
    let Some(record) = stats(TASKSTATS_TYPE_AGGR_PID) else { return Ok(None) };
    let mut task = task(record).ok_or_else(short)?;
    task.process_ns = stats(TASKSTATS_TYPE_AGGR_TGID)
        .and_then(|record| u64_at(record, RUN_OFFSET).zip(u64_at(record, WAIT_OFFSET)));
    task.is_last |= task.process_ns.is_some();
    Ok(Some(task))
}

fn task(record: &[u8]) -> Option<Task> {
    if u16_at(record, 0)? < VERSION_MIN {
        return None;
    }
    let number = |at| u32_at(record, at).and_then(|number| i32::try_from(number).ok());
    let nanoseconds = |at| u64_at(record, at).map(|microseconds| microseconds.saturating_mul(1000));
    let (run_ns, wait_ns) = (u64_at(record, RUN_OFFSET)?, u64_at(record, WAIT_OFFSET)?);
    let alive_ns = nanoseconds(ELAPSED_OFFSET)?;
    // The scheduler's time is that of the last tick or switch. A task that never slept ran or waited all its life.
    let longest_ns = alive_ns.saturating_sub(wait_ns).min(run_ns.saturating_add(TICK_MAX_NS));
    let exact_ns = if u64_at(record, SLEEPS_OFFSET)? == 0 { run_ns.max(longest_ns) } else { run_ns };
    let faults_minor = u64_at(record, FAULTS_MINOR_OFFSET)?;
    // It gives back what it has, not what it ever had: a long life has any number of faults.
    let pages_max = u64_at(record, RESIDENT_MAX_OFFSET)?.saturating_mul(1024) / host::page_bytes();
    // Anything from nothing to a tick.
    let since_tick_ns = alive_ns.saturating_sub(wait_ns).saturating_sub(exact_ns).min(TICK_USUAL_NS) / 2;
    let (io_delay_ns, swap_delay_ns) = (u64_at(record, IO_DELAY_OFFSET)?, u64_at(record, SWAP_DELAY_OFFSET)?);
    // The nice value is a byte with a sign.
    let (nice, class) = (*record.get(NICE_OFFSET)?, *record.get(CLASS_OFFSET)?);
    Some(Task {
        pid: number(PID_OFFSET)?,
        process: number(PROCESS_OFFSET)?,
        parent: number(PARENT_OFFSET)?,
        uid: u32_at(record, USER_OFFSET)?,
        name: Name::new(record.get(NAME_OFFSET..NAME_OFFSET + NAME_BYTES)?),
        usage: Usage {
            exact_ns,
            wait_ns,
            io_wait_ns: possible_wait_ns(io_delay_ns, alive_ns),
            swap_wait_ns: possible_wait_ns(swap_delay_ns, alive_ns),
            faults_minor,
            faults_major: u64_at(record, FAULTS_MAJOR_OFFSET)?,
            read_bytes: u64_at(record, READ_BYTES_OFFSET)?,
            write_bytes: u64_at(record, WRITE_BYTES_OFFSET)?,
            ..Usage::default()
        },
        ticks_ns: (nanoseconds(USER_TIME_OFFSET)?, nanoseconds(SYSTEM_TIME_OFFSET)?),
        by_life_ns: exact_ns - run_ns,
        missing_ns: END_NS
            .saturating_add(faults_minor.min(pages_max).saturating_mul(PAGE_NS))
            .saturating_add(since_tick_ns),
        elapsed_ns: nanoseconds(PROCESS_ELAPSED_OFFSET)?,
        is_low_priority: is_low_priority(i64::from(nice as i8), u64::from(class)),
        is_last: record.get(FLAG_OFFSET)? & AGROUP != 0,
        impossible_waits: u64::from(io_delay_ns > alive_ns) + u64::from(swap_delay_ns > alive_ns),
        process_ns: None,
    })
}

impl Exits {
    /// Registers for the messages of all CPUs; an error if the kernel has none or does not permit them.
    pub fn open(root: &Root) -> io::Result<Exits> {
        Exits::with_room(root, BUFFER_BYTES)
    }

    /// The same with room for messages of `bytes`, of which the kernel makes twice as many.
    pub(super) fn with_room(root: &Root, bytes: usize) -> io::Result<Exits> {
        let (socket, family) = open_family()?;
        let cpus = root
            .text("/sys/devices/system/cpu/possible")
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "/sys/devices/system/cpu/possible"))?;
        // Beyond the limit for users.
        set_socket_recv_buffer_size_force(&socket, bytes)?;
        let exits = Exits {
            socket,
            family,
            buffer: vec![0; BATCH * MESSAGE_BYTES],
            ends: Ends::default(),
            allowed_ns: DRAIN_NS.1 as i64,
        };
        exits.register(cpus.trim())
    }

    fn register(mut self, cpus: &str) -> io::Result<Exits> {
        let mut request = Vec::new();
        let list = format!("{cpus}\0");
        let attribute = (TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, list.as_bytes());
        put_message(&mut request, self.family, 1, TASKSTATS_CMD_GET, attribute);
        // Without it, the kernel answers only a registration that it refuses.
        let flags = u16_at(&request, 6).unwrap_or_default() | NLM_F_ACK;
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        send(&self.socket, &request, SendFlags::empty())?;
        loop {
            let lengths = receive_many(&self.socket, &mut self.buffer, MESSAGE_BYTES, 1, 0)?;
            let message = &self.buffer[..lengths.first().copied().unwrap_or_default().min(MESSAGE_BYTES)];
            if u16_at(message, 4).ok_or_else(short)? != NLMSG_ERROR {
                // A task ended meanwhile. Its version is that of all.
                parse(message)?;
                continue;
            }
            return match u32_at(message, HEADER_BYTES).ok_or_else(short)? as i32 {
                0 => Ok(self),
                errno => Err(io::Error::from_raw_os_error(-errno)),
            };
        }
    }

    /// Monotonic time at which messages have to be received [ns].
    pub fn due_ns(&self) -> i64 {
        self.ends.drained.map_or(i64::MAX, |drained| drained.monotonic_ns.saturating_add(self.allowed_ns))
    }

    /// Receives the messages between two samples.
    pub fn drain(&mut self, now: Moment) -> io::Result<()> {
        self.receive(now)?;
        self.ends.group(SINGLE_MAX);
        Ok(())
    }

    /// The processes that ended since the last sample, given after a scan of all processes.
    ///
    /// `stolen_ns` is the time that a hypervisor took from all CPUs meanwhile.
    pub fn at_sample(&mut self, now: Moment, stolen_ns: u64) -> io::Result<&Departures> {
        let before = self.ends.departures.single.len();
        self.receive(now)?;
        let ends = &mut self.ends;
        for departed in &mut ends.departures.single[before..] {
            departed.is_in_flight = true;
        }
        ends.departures.leave_out(stolen_ns);
        ends.departures.is_complete = ends.losses == 0 && ends.sampled.is_some();
        ends.sampled = Some(now);
        Ok(&ends.departures)
    }

    /// Forgets the processes that ended, and returns how often messages were lost.
    pub fn clear(&mut self) -> u64 {
        let ends = &mut self.ends;
        ends.departures.single.clear();
        ends.departures.grouped.clear();
        std::mem::take(&mut ends.losses)
    }

    /// Waits that were told to be longer than the life of their task, since the beginning.
    pub fn impossible_waits(&self) -> u64 {
        self.ends.impossible_waits
    }

    fn receive(&mut self, now: Moment) -> io::Result<()> {
        let mut received = 0u64;
        loop {
            let batch =
                receive_many(&self.socket, &mut self.buffer, MESSAGE_BYTES, BATCH, libc::MSG_DONTWAIT);
            let lengths = match batch {
                Ok(lengths) => lengths,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.ends.lose();
                    continue;
                }
                Err(error) => return Err(error),
            };
            received += lengths.len() as u64;
            // Some ended after the call began.
            let now = SystemClock.now();
            let buffer = std::mem::take(&mut self.buffer);
            for (message, length) in buffer.chunks(MESSAGE_BYTES).zip(&lengths) {
                self.ends.take(&message[..(*length).min(MESSAGE_BYTES)], now);
            }
            self.buffer = buffer;
            if lengths.len() < BATCH {
                break;
            }
        }
        let before = self.ends.drained.replace(now);
        let passed_ns = before.map_or(1e9, |before| (now.monotonic_ns - before.monotonic_ns).max(1) as f64);
        let until_full_ns = FILL_MAX * CAPACITY * passed_ns / received.max(1) as f64;
        self.allowed_ns = until_full_ns.clamp(DRAIN_NS.0, DRAIN_NS.1) as i64;
        Ok(())
    }
}

impl Ends {
    /// Adds the task of a message.
    pub(crate) fn take(&mut self, message: &[u8], now: Moment) {
        match parse(message) {
            Ok(Some(task)) => self.end(task, now),
            Ok(None) => {}
            // Of a message that cannot be read, the rest is not known either.
            Err(_) => self.losses += 1,
        }
    }

    /// Messages were lost: with them, perhaps, the last tasks of processes with threads.
    fn lose(&mut self) {
        self.losses += 1;
        self.parts.clear();
    }

    /// Joins the processes that began after the last sample, so that memory does not grow with the length of the interval.
    ///
    /// Not the `kept` that ended last: who should wait for them may not have done so when processes are read.
    pub(crate) fn group(&mut self, kept: usize) {
        let old = self.departures.single.len().saturating_sub(kept);
        let last = self.departures.single.split_off(old);
        for departed in std::mem::replace(&mut self.departures.single, last) {
            if departed.is_new {
                self.departures.group(departed);
            } else {
                self.departures.single.push(departed);
            }
        }
    }

    /// Adds a task to its process, which ends with the last one.
    fn end(&mut self, mut task: Task, now: Moment) {
        self.impossible_waits += task.impossible_waits;
        if let Some(part) = self.parts.remove(&task.process) {
            task.usage += part.usage;
            task.ticks_ns.0 = task.ticks_ns.0.saturating_add(part.ticks_ns.0);
            task.ticks_ns.1 = task.ticks_ns.1.saturating_add(part.ticks_ns.1);
            task.by_life_ns = task.by_life_ns.saturating_add(part.by_life_ns);
            // A process has the name, the user and the priority of its first task.
            if part.pid == part.process && task.pid != task.process {
                (task.pid, task.name, task.uid) = (part.pid, part.name, part.uid);
                task.is_low_priority = part.is_low_priority;
            }
        }
        if !task.is_last {
            if self.parts.len() < PARTS_MAX {
                self.parts.insert(task.process, task);
            }
            return;
        }
        if let Some((run_ns, wait_ns)) = task.process_ns {
            // Also of tasks that ended before the recorder began.
            if run_ns >= task.usage.exact_ns {
                (task.usage.exact_ns, task.by_life_ns) = (run_ns, 0);
            }
            task.usage.wait_ns = task.usage.wait_ns.max(wait_ns);
        }
        self.departures.single.push(self.departed(&task, now));
    }

    fn departed(&self, task: &Task, now: Moment) -> Departed {
        let elapsed_ns = i64::try_from(task.elapsed_ns).unwrap_or(i64::MAX);
        let earliest_ns = self.drained.unwrap_or(now).monotonic_ns.saturating_sub(elapsed_ns);
        let latest_ns = now.monotonic_ns.saturating_sub(elapsed_ns);
        // The life of a process leaves out the time for which the machine was suspended; its start does not.
        let suspended_ns = now.boot_ns.saturating_sub(now.monotonic_ns).max(0);
        Departed {
            pid: task.process,
            parent: task.parent,
            uid: task.uid,
            name: task.name,
            usage: task.usage,
            low_priority_ns: if task.is_low_priority { task.usage.exact_ns } else { 0 },
            ticks_ns: task.ticks_ns,
            by_life_ns: task.by_life_ns,
            missing_ns: task.missing_ns,
            lifetime_ns: task.elapsed_ns,
            count: 1,
            start_ns: (earliest_ns, latest_ns.saturating_add(suspended_ns)),
            is_passed_on: false,
            is_in_flight: false,
            is_new: self.sampled.is_some_and(|sampled| earliest_ns > sampled.monotonic_ns),
        }
    }
}

/// Messages that no kernel sends, in any number: nothing panics, and grouping loses neither a process nor its time.
///
/// # Panics
/// The sums of single processes and of groups differ.
#[cfg(any(test, fuzzing))]
pub(crate) fn hostile<'a>(messages: impl Iterator<Item = &'a [u8]>) {
    let at = |monotonic_ns| Moment { wall_ns: 1 << 60, monotonic_ns, boot_ns: monotonic_ns + 5_000_000_000 };
    let mut ends =
        Ends { sampled: Some(at(1_000_000_000)), drained: Some(at(2_000_000_000)), ..Ends::default() };
    let sums = |ends: &Ends| {
        let departures = &ends.departures;
        let all = departures.single.iter().chain(departures.grouped.values());
        all.fold((0u64, Usage::default(), 0u64), |(count, mut usage, lifetime_ns), departed| {
            usage += departed.usage;
            (count + departed.count, usage, lifetime_ns.saturating_add(departed.lifetime_ns))
        })
    };
    let mut taken = 0;
    for message in messages {
        ends.take(message, at(3_000_000_000));
        taken += 1;
    }
    let single = sums(&ends);
    assert!(single.0 + ends.losses <= taken, "{} ends and {} losses of {taken}", single.0, ends.losses);
    ends.group(0);
    assert_eq!(single, sums(&ends));
    let stolen_ns = single.0.saturating_mul(1_000_000);
    ends.departures.leave_out(stolen_ns);
    assert!(single.1.exact_ns - sums(&ends).1.exact_ns <= stolen_ns.saturating_add(single.0));
    assert!(ends.departures.single.iter().all(|departed| !departed.is_new));
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::{Mutex, PoisonError};

    use proptest::prelude::*;

    use super::super::netlink::put_attribute;
    use super::*;

    const STATS_BYTES: usize = 440;

    /// What the kernel sends when a task ends: its record, and that of its process if that had several tasks.
    #[derive(Clone, Debug)]
    struct Told {
        pid: u32,
        process: u32,
        parent: u32,
        uid: u32,
        run_ns: u64,
        is_last: bool,
        process_run_ns: Option<u64>,
        /// Life [us].
        alive_us: u64,
        /// Waiting for a disk [ns].
        io_delay_ns: u64,
        /// Times at which it slept.
        sleeps: u64,
    }

    /// The only task of a process, as the tests change it.
    const TASK: Told = Told {
        pid: 7,
        process: 7,
        parent: 1,
        uid: 5,
        run_ns: 100,
        is_last: true,
        process_run_ns: None,
        alive_us: 1000,
        io_delay_ns: 0,
        sleeps: 1,
    };

    fn message(told: &Told) -> Vec<u8> {
        let mut record = vec![0; STATS_BYTES];
        let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &14u16.to_ne_bytes());
        put(FLAG_OFFSET, &[if told.is_last { AGROUP } else { 0 }]);
        put(NAME_OFFSET, b"worker");
        for (at, number) in [
            (USER_OFFSET, told.uid),
            (PID_OFFSET, told.pid),
            (PARENT_OFFSET, told.parent),
            (PROCESS_OFFSET, told.process),
        ] {
            put(at, &number.to_ne_bytes());
        }
        for (at, number) in [
            (RUN_OFFSET, told.run_ns),
            (ELAPSED_OFFSET, told.alive_us),
            (PROCESS_ELAPSED_OFFSET, told.alive_us),
            (SLEEPS_OFFSET, told.sleeps),
            (IO_DELAY_OFFSET, told.io_delay_ns),
        ] {
            put(at, &number.to_ne_bytes());
        }
        let mut nested = Vec::new();
        put_attribute(&mut nested, 1, &told.pid.to_ne_bytes());
        put_attribute(&mut nested, TASKSTATS_TYPE_STATS, &record);
        let mut message = Vec::new();
        put_message(&mut message, 29, 0, 2, (TASKSTATS_TYPE_AGGR_PID, &nested));
        if let Some(run_ns) = told.process_run_ns {
            record[RUN_OFFSET..RUN_OFFSET + 8].copy_from_slice(&run_ns.to_ne_bytes());
            let mut nested = Vec::new();
            put_attribute(&mut nested, 2, &told.process.to_ne_bytes());
            put_attribute(&mut nested, TASKSTATS_TYPE_STATS, &record);
            put_attribute(&mut message, TASKSTATS_TYPE_AGGR_TGID, &nested);
            let length = message.len() as u32;
            message[..4].copy_from_slice(&length.to_ne_bytes());
        }
        message
    }

    fn told() -> impl Strategy<Value = Told> {
        let numbers = (1u32..20, 1u32..20, 0u32..20, 0u32..4);
        let times = (any::<u64>(), any::<Option<u64>>(), 0u64..10_000_000, any::<u64>(), 0u64..2);
        (numbers, any::<bool>(), times).prop_map(
            |(numbers, is_last, (run_ns, process_run_ns, alive_us, io_delay_ns, sleeps))| Told {
                pid: numbers.0,
                process: numbers.1,
                parent: numbers.2,
                uid: numbers.3,
                run_ns,
                is_last,
                process_run_ns,
                alive_us,
                io_delay_ns,
                sleeps,
            },
        )
    }

    fn moment(monotonic_ns: i64) -> Moment {
        Moment { wall_ns: 0, monotonic_ns, boot_ns: monotonic_ns }
    }

    #[test]
    fn a_process_ends_with_its_last_task_and_has_the_time_of_all() {
        let mut ends = Ends::default();
        let task = Told { is_last: false, io_delay_ns: 300_000, ..TASK };
        ends.take(&message(&task), moment(1));
        assert!(ends.departures.single.is_empty(), "the process goes on");
        let last = Told { pid: 9, run_ns: 50, process_run_ns: Some(180), uid: 6, ..task };
        ends.take(&message(&last), moment(2));
        let [process] = &ends.departures.single[..] else { panic!("{ends:?}") };
        assert_eq!((process.pid, process.uid, process.usage.exact_ns), (7, 5, 180));
        assert_eq!((process.parent, process.count, process.lifetime_ns), (1, 1, 1_000_000));
        assert_eq!(process.usage.io_wait_ns, 600_000, "of both tasks");
    }

    #[test]
    fn what_is_known_from_a_life_only_leaves_room_for_what_a_hypervisor_took() {
        // Neither slept, nor was read by a tick in its 1 and 3 ms of life.
        let short = Told { sleeps: 0, run_ns: 0, ..TASK };
        let long = Told { pid: 8, process: 8, alive_us: 3000, ..short };
        // The same life with a sleep says nothing of CPU time.
        let sleeper = Told { pid: 9, process: 9, alive_us: 3000, ..TASK };
        for (stolen_ns, expected) in [
            (0, [1_000_000, 3_000_000, 100]),
            (2_000_000, [500_000, 1_500_000, 100]),
            (60_000_000, [0, 0, 100]),
        ] {
            for is_grouped in [false, true] {
                let mut ends = Ends { sampled: Some(moment(0)), ..Ends::default() };
                for told in [&short, &long, &sleeper] {
                    ends.take(&message(told), moment(5_000_000));
                }
                if is_grouped {
                    ends.group(0);
                }
                ends.departures.leave_out(stolen_ns);
                let departures = &ends.departures;
                let all = departures.single.iter().chain(departures.grouped.values());
                let used: Vec<_> = all.map(|departed| departed.usage.exact_ns).collect();
                match is_grouped {
                    false => assert_eq!(used, expected),
                    true => assert_eq!(used.iter().sum::<u64>(), expected.iter().sum::<u64>()),
                }
            }
        }
    }

    #[test]
    fn no_task_waited_for_longer_than_it_lived() {
        let mut ends = Ends::default();
        // Seen: the time since boot.
        let task = Told { alive_us: 800_000, io_delay_ns: 1_162_473_519_316, ..TASK };
        ends.take(&message(&task), moment(1));
        for (pid, io_delay_ns) in [(8, 799_000_000), (9, 1_100_000_000)] {
            ends.take(&message(&Told { pid, process: pid, io_delay_ns, ..task }), moment(1));
        }
        let delays: Vec<_> = ends.departures.single.iter().map(|one| one.usage.io_wait_ns).collect();
        assert_eq!(delays, [0, 799_000_000, 800_000_000]);
        assert_eq!(ends.impossible_waits, 2);
    }

    #[test]
    fn a_message_that_is_cut_or_too_old_is_a_loss() {
        let whole = message(&TASK);
        // From the header's end on: the attributes are there, but not all of the record.
        for end in [0, 10, 19] {
            let mut ends = Ends::default();
            ends.take(&whole[..end], moment(1));
            assert_eq!((ends.losses, ends.departures.single.len()), (1, 0), "{end}");
        }
        let mut old = whole;
        let version = old.len() - STATS_BYTES;
        old[version..version + 2].copy_from_slice(&11u16.to_ne_bytes());
        let mut ends = Ends::default();
        ends.take(&old, moment(1));
        assert_eq!((ends.losses, ends.departures.single.len()), (1, 0));
    }

    /// Held by a test that counts ends: the children of another would find no room either.
    pub(crate) static STORM: Mutex<()> = Mutex::new(());

    /// Starts a program as `user` and waits for its end, `count` times.
    pub(crate) fn run_and_wait(count: usize, user: u32) {
        for _ in 0..count {
            assert!(Command::new("true").uid(user).status().unwrap().success());
        }
    }

    #[test]
    fn messages_that_find_no_room_are_counted_and_the_next_interval_is_complete_again() {
        let _storm = STORM.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |bytes| Exits::with_room(&Root::new("/"), bytes);
        let Ok(mut small) = open(4096).inspect_err(|error| eprintln!("skipped: {error}")) else { return };
        let mut large = open(BUFFER_BYTES).unwrap();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let children = |departures: &Departures| {
            departures.single.iter().filter(|departed| departed.parent == own).count()
        };
        for exits in [&mut small, &mut large] {
            assert!(!exits.at_sample(SystemClock.now(), 0).unwrap().is_complete, "nothing came before");
            exits.clear();
        }
        // Nobody reads meanwhile.
        run_and_wait(200, 65_534);
        let complete = large.at_sample(SystemClock.now(), 0).unwrap();
        assert!(complete.is_complete && children(complete) >= 200, "{}", children(complete));
        let lossy = small.at_sample(SystemClock.now(), 0).unwrap();
        assert!(!lossy.is_complete && children(lossy) < 200, "{}", children(lossy));
        assert!(small.clear() > 0);
        assert_eq!(large.clear(), 0);
        // Others on this machine may fill so little room too, but not each time.
        let is_complete = (0..100).any(|_| {
            run_and_wait(1, 65_534);
            let departures = small.at_sample(SystemClock.now(), 0).unwrap();
            let is_complete = departures.is_complete && children(departures) == 1;
            small.clear();
            is_complete
        });
        assert!(is_complete);
    }

    proptest! {
        #[test]
        fn any_order_of_ends_is_counted_once(all in proptest::collection::vec(told(), 0..40)) {
            let messages: Vec<_> = all.iter().map(message).collect();
            hostile(messages.iter().map(Vec::as_slice));
        }

        #[test]
        fn damaged_messages_never_panic(
            one in told(), at in 0usize..1200, byte in any::<u8>(), cut in 0usize..1200,
        ) {
            let mut message = message(&one);
            let at = at % message.len();
            message[at] = byte;
            message.truncate(cut.max(at));
            hostile([&message[..]].into_iter());
        }

        #[test]
        fn noise_never_panics(message in proptest::collection::vec(any::<u8>(), 0..600)) {
            hostile([&message[..]].into_iter());
        }
    }
}
