//! Use of NVIDIA's cards by process: by NVML, the library of their own driver, which tells the kernel nothing of it.
//!
//! The library is loaded when a recording begins, where there is such a driver. Its calls take milliseconds, and seconds
//! for a card that sleeps or was lost, so they are made in a thread of their own: a sample asks, takes an answer that is
//! there, and never waits. What comes late counts in the next interval.
//!
//! # Limitations
//! Was tried with a library that answers as NVML is documented, and on no card. The driver samples how busy the engines
//! are, several times a second at most, and tells a mean in whole percent. Inside of a PID namespace it names
//! processes by other numbers; there it is not asked.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value as Json, json};

use super::gpu::{Cards, DRIVERS, GpuUse, NO_DRIVER, NO_LOADER};
use crate::kernel::clock::{Clock, Moment, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;

/// Name of the library, as the driver installs it.
const LIBRARY: &str = "libnvidia-ml.so.1";
/// Variable with the path of another one.
const VARIABLE: &str = "THINKTIME_NVML";
/// Shortest time between two questions [ns]: the driver hardly knows more. Every sample of a second asks.
const EVERY_NS: i64 = 500_000_000;
/// Time after which memory that was told is not taken for what is used now [ns].
const STALE_NS: i64 = 60_000_000_000;

/// What the thread found out, once it has been asked.
#[derive(Debug, Default)]
struct Answer {
    processes: BTreeMap<i32, GpuUse>,
    cards: u32,
    /// First problem of each card, and of the library.
    problems: Vec<String>,
    /// CPU time of the thread [ns].
    cpu_ns: u64,
}

/// The library, asked in a thread of its own.
#[derive(Debug)]
pub(super) struct Asked {
    ask: SyncSender<()>,
    answers: Receiver<Answer>,
    is_asked: bool,
    next_ns: i64,
    /// Came after the last sample had been taken.
    late: Option<Answer>,
    last: Answer,
    /// Monotonic time of the last answer [ns].
    last_ns: i64,
}

impl Asked {
    /// Begins to load the library; an error says why it is not asked.
    pub(super) fn open(root: &Root) -> Result<Asked, String> {
        let library = library(root)?;
        if !host::is_first_pid_namespace(root) {
            return Err(
                "NVML names processes by their numbers on the host, and this is a PID namespace of its own"
                    .into(),
            );
        }
        let (ask, asked) = sync_channel(1);
        let (tell, answers) = sync_channel(1);
        thread::Builder::new()
            .name("nvml".into())
            .spawn(move || answer(&library, &asked, &tell))
            .map_err(|error| format!("no thread for NVML: {error}"))?;
        Ok(Asked {
            ask,
            answers,
            is_asked: false,
            next_ns: i64::MIN,
            late: None,
            last: Answer::default(),
            last_ns: i64::MIN,
        })
    }
}

/// Library to load; an error where there is no driver.
fn library(root: &Root) -> Result<OsString, String> {
    // SAFETY: reads numbers that the kernel gave to this process.
    let (secure, loader) = unsafe { (libc::getauxval(libc::AT_SECURE), libc::getauxval(libc::AT_BASE)) };
    // Whoever is given permissions by the file of the program loads nothing that others name.
    if let Some(path) = std::env::var_os(VARIABLE).filter(|_| secure == 0 && loader != 0) {
        return Ok(path);
    }
    if !root.is_machine() || !DRIVERS.iter().any(|file| root.exists(file)) {
        return Err(NO_DRIVER.into());
    }
    // Without a loader, the program is linked statically.
    if loader == 0 { Err(NO_LOADER.into()) } else { Ok(LIBRARY.into()) }
}

impl Asked {
    /// The answer, once it is there.
    fn receive(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        self.is_asked = false;
        Some(answer)
    }
}

impl Cards for Asked {
    fn ask(&mut self, now: Moment) {
        if let Some(answer) = self.receive() {
            self.late = Some(answer);
        }
        if !self.is_asked && now.monotonic_ns >= self.next_ns {
            // Fails when the thread has ended: its last answer says why.
            self.is_asked = self.ask.try_send(()).is_ok();
            self.next_ns = now.monotonic_ns.saturating_add(EVERY_NS);
        }
    }

    fn take(&mut self, now: Moment) -> BTreeMap<i32, GpuUse> {
        let answers: Vec<Answer> = [self.late.take(), self.receive()].into_iter().flatten().collect();
        if answers.is_empty() {
            // Memory is as it was; what was used in between comes with the next answer.
            let is_stale = now.monotonic_ns.saturating_sub(self.last_ns) > STALE_NS;
            let memory = |(pid, used): (&i32, &GpuUse)| (*pid, GpuUse { busy_ns: None, ..*used });
            return if is_stale { BTreeMap::new() } else { self.last.processes.iter().map(memory).collect() };
        }
        self.last_ns = now.monotonic_ns;
        let (mut used, mut cpu_ns) = (BTreeMap::<i32, GpuUse>::new(), 0);
        for answer in answers {
            cpu_ns += answer.cpu_ns;
            for (pid, now) in &answer.processes {
                let sum = used.entry(*pid).or_default();
                sum.memory = now.memory;
                sum.busy_ns = match (sum.busy_ns, now.busy_ns) {
                    (Some(one), Some(other)) => Some(one.saturating_add(other)),
                    (one, other) => one.or(other),
                };
            }
            self.last = answer;
        }
        self.last.cpu_ns = cpu_ns;
        used
    }

    fn wait(&mut self, longest: Duration) -> Result<(u32, Vec<String>), String> {
        self.ask(SystemClock.now());
        match self.answers.recv_timeout(longest) {
            Ok(Answer { cards: 0, problems, .. }) => {
                Err(problems.first().map_or("no card", String::as_str).into())
            }
            Ok(answer) => Ok((answer.cards, answer.problems)),
            Err(RecvTimeoutError::Timeout) => Err(format!("NVML did not answer in {} s", longest.as_secs())),
            Err(RecvTimeoutError::Disconnected) => Err("NVML ended its thread".into()),
        }
    }

    fn take_cpu_ns(&mut self) -> u64 {
        std::mem::take(&mut self.last.cpu_ns)
    }

    fn to_json(&self) -> Json {
        json!({ "cards": self.last.cards, "problems": self.last.problems })
    }
}

/// The thread: answers until nobody asks any more.
fn answer(library: &OsString, asked: &Receiver<()>, tell: &SyncSender<Answer>) {
    let loaded = Nvml::builder().lib_path(library).init();
    let mut cards = Vec::new();
    let mut clock = SystemClock;
    let mut cpu_ns = 0;
    while asked.recv().is_ok() {
        let mut answer = Answer::default();
        match &loaded {
            Ok(nvml) => ask_all(nvml, &mut cards, &mut answer),
            Err(error) => answer.problems.push(format!("{}: {error}", library.to_string_lossy())),
        }
        let now_ns = clock.thread_cpu_ns();
        answer.cpu_ns = now_ns.saturating_sub(std::mem::replace(&mut cpu_ns, now_ns));
        if tell.send(answer).is_err() || loaded.is_err() {
            return;
        }
    }
}

/// What is known of a card between two questions.
#[derive(Default)]
struct Card {
    /// Monotonic time of the last question [ns].
    asked_ns: Option<i64>,
    /// It tells nobody how busy it is.
    is_mute: bool,
}

fn ask_all(nvml: &Nvml, cards: &mut Vec<Card>, answer: &mut Answer) {
    match nvml.device_count() {
        Ok(count) => answer.cards = count,
        Err(error) => answer.problems.push(error.to_string()),
    }
    cards.resize_with(answer.cards as usize, Card::default);
    for (index, card) in (0..).zip(cards) {
        if let Err((what, error)) = ask_one(nvml, index, card, &mut answer.processes) {
            answer.problems.push(format!("card {index}, {what}: {error}"));
        }
    }
}

/// Adds what the processes have of a card. After an error, which names what was asked, the rest was told.
fn ask_one(
    nvml: &Nvml,
    index: u32,
    card: &mut Card,
    processes: &mut BTreeMap<i32, GpuUse>,
) -> Result<(), (&'static str, NvmlError)> {
    let device = nvml.device_by_index(index).map_err(|error| ("the card itself", error))?;
    let busy = ask_busy(&device, card, processes);
    let lists = [
        ("processes that compute", device.running_compute_processes()),
        ("processes that draw", device.running_graphics_processes()),
    ];
    let mut memory: BTreeMap<i32, Option<u64>> = BTreeMap::new();
    for ProcessInfo { pid, used_gpu_memory, .. } in
        lists.iter().filter_map(|(_, list)| list.as_ref().ok()).flatten()
    {
        let bytes = match used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(*bytes),
            UsedGpuMemory::Unavailable => None,
        };
        // Who computes and draws stands in both lists, with the same memory.
        if let Ok(pid) = i32::try_from(*pid) {
            let known = memory.entry(pid).or_default();
            *known = (*known).max(bytes);
        }
    }
    for (pid, bytes) in memory {
        let used = processes.entry(pid).or_default();
        if let Some(bytes) = bytes {
            used.memory = Some(used.memory.unwrap_or(0).saturating_add(bytes));
        }
        // A process that is there and was not told to have been busy was not.
        if busy.is_ok() {
            used.busy_ns.get_or_insert(0);
        }
    }
    lists.into_iter().try_for_each(|(what, list)| list.map(drop).map_err(|error| (what, error)))?;
    busy.map_err(|error| ("time of its engines", error))
}

/// Adds how long the engines of a card worked for each process since the last question.
fn ask_busy(
    device: &Device<'_>,
    card: &mut Card,
    processes: &mut BTreeMap<i32, GpuUse>,
) -> Result<(), NvmlError> {
    if card.is_mute {
        return Err(NvmlError::NotSupported);
    }
    let now = SystemClock.now();
    let passed_ns = card.asked_ns.replace(now.monotonic_ns).map_or(0, |asked_ns| now.monotonic_ns - asked_ns);
    let passed_ns = u64::try_from(passed_ns).unwrap_or(0);
    // By the clock of now, which may have been set meanwhile.
    let since_us = u64::try_from(now.wall_ns / 1000).unwrap_or(0).saturating_sub(passed_ns / 1000);
    let samples = match device.process_utilization_stats(since_us) {
        Ok(samples) => samples,
        // Nobody used it since then.
        Err(NvmlError::NotFound) => Vec::new(),
        Err(error) => {
            card.is_mute = matches!(error, NvmlError::NotSupported);
            return Err(error);
        }
    };
    for sample in samples {
        // Memory is no engine. Some drivers fill what they do not know with anything.
        let shares = [sample.sm_util, sample.enc_util, sample.dec_util];
        let is_possible = sample.timestamp > since_us && shares.iter().all(|share| *share <= 100);
        if let (Ok(pid), true) = (i32::try_from(sample.pid), is_possible) {
            let busy_ns = passed_ns / 100 * u64::from(shares.iter().sum::<u32>());
            let used = &mut processes.entry(pid).or_default().busy_ns;
            *used = Some(used.unwrap_or(0).saturating_add(busy_ns));
        }
    }
    Ok(())
}
