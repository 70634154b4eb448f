//! The kernel as it runs: its tables, who sleeps on what, and the clock.

use thinktime_engine::controller::Controller;
use thinktime_engine::memory::FirstFit;
use thinktime_engine::{Calendar, LawViolation, Laws, Model, Priority, Slot, Span, Time};

use super::config::Config;
use super::files::Files;
use super::meters::{Meters, Observed, Readings};
use super::paging::Frames;
use super::process::{LONGEST, Process, SWAPPER, Text};
use super::states::{Channel, Current, Mode, Role, Search, Status, priority};
use super::swapper::Swapper;
use super::terminal::Terminal;
use super::units::{CLOCK, DISKS, PROCESSOR, SAMPLE, TERMINAL, blocks};
use crate::kernel::{Amount, Monitor, Replication, Simulated};

/// Clock interrupts per second.
pub(super) const HERTZ: u64 = 60;
/// Swapper, `init`, shell, `update` and the parent of the workers.
const SYSTEM_PROCESSES: u32 = 5;
/// Ticks by which recent processor time falls each second (`SCHMAG`).
const DECAY: u8 = 10;
/// Seconds after which the clock looks for another process anyway.
// `clock.c` sets `runrun` whenever the two low bits of the time are zero.
pub(super) const TURN_S: u64 = 4;

/// The whole simulated system: processor, memory, disks and terminal, and the kernel's tables.
pub(super) struct Machine<'a, M> {
    /// The configuration.
    pub config: &'a Config,
    /// The process table. Entries of those who have exited and were waited for are used again, the first first.
    pub processes: Vec<Process>,
    /// The process that has the processor; none: it idles, or searches.
    pub current: Option<Current>,
    /// The search for the next process that is under way, if it takes time.
    pub search: Option<Search>,
    /// Where the search for the next to run begins.
    // The search begins after the last one chosen: equal priorities go round the table.
    pub last: usize,
    /// Priority at which the current process was chosen (`curpri`).
    pub current_priority: i16,
    /// Somebody may deserve the processor more (`runrun`).
    pub reconsider: bool,
    /// Processor time of interrupts that is still to be taken from the current process.
    pub interrupts: Span,
    /// Main memory without the kernel [click].
    pub memory: FirstFit,
    /// The swap area [block].
    pub swap_area: FirstFit,
    /// State of process 0 between its sleeps.
    pub swapper: Swapper,
    /// With paging, in place of `memory`.
    pub frames: Frames,
    /// Pure texts.
    pub texts: Vec<Text>,
    /// The controller and its drives.
    pub disks: Controller,
    /// The files and the block buffers.
    pub files: Files,
    /// The terminal that all workers write to.
    pub terminal: Terminal,
    /// Time of the clock at the start.
    phase: Span,
    /// Clock interrupts, counted from when the clock showed zero.
    ticks: u64,
    /// Seconds that the clock shows.
    pub seconds: u64,
    /// When the next of the old sleepers is woken (`tout`).
    pub time_out: u64,
    /// The parent has printed: the run ends.
    pub over: bool,
    /// Workers that have not yet written to the terminal.
    pub unseen: u32,
    /// Counters and times.
    pub meters: Meters,
    /// Length of an interval of the log's samples.
    interval: Span,
    /// End of the last interval.
    sampled: Time,
    /// Receiver of events, interactions and samples.
    pub monitor: &'a mut M,
    /// Class of every interaction in the log; built once, as each report takes it.
    pub labels: std::sync::Arc<str>,
}

impl<'a, M: Monitor> Simulated<'a, M> for Machine<'a, M> {
    fn calendar(config: &Config) -> Calendar {
        Calendar::new(DISKS.0 + Controller::slots(config.disks.drives), 1)
    }

    fn new(config: &'a Config, replication: &Replication, monitor: &'a mut M) -> Self {
        let &Replication { streams, interval, .. } = replication;
        let phase = config.clock_phase(&streams);
        let mut machine = Machine {
            config,
            processes: Vec::new(),
            current: None,
            search: None,
            last: SWAPPER,
            current_priority: priority::LOWEST,
            reconsider: false,
            interrupts: Span::ZERO,
            memory: FirstFit::new(config.memory),
            swap_area: FirstFit::new(config.disks.swap_blocks),
            swapper: Swapper::default(),
            frames: Frames::new(config.frames_plan()),
            texts: config.texts(),
            disks: config.disks.controller(config.buffers, config.workers() + SYSTEM_PROCESSES, &streams),
            files: Files::new(config.files_plan(), &streams),
            terminal: Terminal::new(config.line),
            phase,
            ticks: (u128::from(phase.0) * u128::from(HERTZ) / 1_000_000_000) as u64,
            seconds: phase.0 / 1_000_000_000,
            time_out: 0,
            over: false,
            unseen: 0,
            meters: Meters::new(),
            interval,
            sampled: Time::ZERO,
            monitor,
            labels: "interaction".into(),
        };
        for process in config.first_processes(&streams) {
            machine.boot(process);
        }
        machine.unseen = config.workers();
        machine
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        let now = calendar.now();
        self.sample(now);
        for p in 0..self.processes.len() {
            if let Some(unfinished) = self.processes[p].interaction {
                self.report(p, &unfinished, None);
            }
        }
        let begun = self.processes.iter().filter_map(|process| process.interaction.map(|i| i.arrived));
        self.meters.check(now, begun, laws)?;
        self.disks.check(now, laws)?;
        self.files.cache.check(laws)?;
        self.frames.check(laws)?;
        self.memory.check("main memory", laws)?;
        self.swap_area.check("swap area", laws)?;
        // Last, as it trusts the sums that memory has just been checked for.
        self.check_images(laws)
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// A process that stands in memory when the system comes up.
    fn boot(&mut self, mut process: Process) {
        process.loaded = true;
        if let Some(text) = process.text.take() {
            // Its copy in the swap area is made when the first of its users begins it, in `xalloc`.
            self.place_text(text, Time::ZERO);
            if self.texts[text].memory.is_none() {
                self.texts[text].memory = self.memory.take(Time::ZERO, self.texts[text].size);
            }
            self.texts[text].users += 1;
            self.texts[text].loaded += 1;
            process.text = Some(text);
        }
        if process.size > 0 && self.config.page > 0 {
            process.swap = self.swap_area.take(Time::ZERO, blocks(process.size));
        } else if process.size > 0 {
            process.memory = self.memory.take(Time::ZERO, process.size);
        }
        self.processes.push(process);
    }

    /// Reports an event to the monitor; a constant decides, so that an unobserved run pays nothing.
    pub fn event(&mut self, now: Time, kind: &'static str, process: usize, amount: Option<Amount>) {
        if M::LISTENS {
            let user = match self.processes[process].role {
                Role::Worker(number) => Some(number),
                Role::System => None,
            };
            self.monitor.event(now, kind, user, amount);
        }
    }

    /// `sleep`: gives up the processor until `channel` is woken.
    pub fn sleep(&mut self, p: usize, channel: Channel, priority: i16, now: Time) {
        let sleeper = &mut self.processes[p];
        sleeper.channel = Some(channel);
        sleeper.priority = priority;
        // The sign decides, as in `sleep`: at negative priorities no signal is taken, and the wait is short.
        sleeper.status = if priority < 0 { Status::Asleep } else { Status::Waiting };
        // Whoever waits for something slow may be swapped out: the swapper has been waiting for that.
        if priority >= 0 && std::mem::take(&mut self.swapper.no_victim) {
            self.wake(Channel::NoVictim, now);
        }
    }

    /// `wakeup`: all who sleep on `channel` are ready; whoever is too late for a single thing sleeps again.
    pub fn wake(&mut self, channel: Channel, now: Time) {
        for p in 0..self.processes.len() {
            if self.processes[p].channel == Some(channel) {
                self.make_ready(p, now);
            }
        }
    }

    /// `setrun`: the process is ready, and may deserve the processor more than the current one.
    fn make_ready(&mut self, p: usize, now: Time) {
        let woken = &mut self.processes[p];
        woken.channel = None;
        woken.status = Status::Ready;
        // Only a flag: the switch comes when the current process leaves the kernel, which is never preempted.
        self.reconsider |= woken.priority < self.current_priority;
        if !woken.loaded {
            woken.ready_out_since = now;
            if std::mem::take(&mut self.swapper.nobody_out) {
                self.wake(Channel::NobodyOut, now);
            }
        }
    }

    /// A clock interrupt (`clock.c`).
    fn tick(&mut self, calendar: &mut Calendar) {
        self.ticks += 1;
        // Computed from the number of the tick: a sum of rounded sixtieths would drift.
        calendar.set(CLOCK, self.time_of_tick(self.ticks + 1), Priority::Arrival);
        // Before the process is charged: the meters see the state in which the interrupt found the machine.
        self.meters.tick(&self.observed());
        if let Some(current) = self.current {
            // Charged by the tick to whoever is current, as the real clock does: short bursts between ticks
            // go free.
            let recent = &mut self.processes[current.process].recent;
            // `p_cpu` is a byte that must not wrap to 0.
            *recent = recent.saturating_add(1);
        }
        if self.ticks % HERTZ == 0 {
            self.second(calendar.now());
        }
    }

    /// Time of a clock interrupt by its number.
    fn time_of_tick(&self, tick: u64) -> Time {
        // The next tick is never before the start: `ticks` are those that the clock had had by then.
        Time((u128::from(tick) * 1_000_000_000 / u128::from(HERTZ)) as u64 - self.phase.0)
    }

    /// Work of the clock once per second (`clock.c`).
    fn second(&mut self, now: Time) {
        self.seconds += 1;
        if self.seconds == self.time_out {
            self.wake(Channel::TimeOut, now);
        }
        // Equal priorities take turns only because of this.
        self.reconsider |= self.seconds % TURN_S == 0;
        for p in 0..self.processes.len() {
            let process = &mut self.processes[p];
            if process.status == Status::Gone {
                continue;
            }
            process.resident = (process.resident + 1).min(LONGEST);
            // Linear decay: 10 of at most 60 ticks a second. A process with more than a sixth of the
            // processor keeps sinking.
            process.recent = process.recent.saturating_sub(DECAY);
            // Not those at kernel priorities: they keep what they slept at until they leave the kernel.
            if process.priority > priority::USER {
                self.set_user_priority(p);
            }
            if self.processes[p].alarm == Some(self.seconds) {
                self.processes[p].alarm = None;
                self.pause_ends(p, now);
                if self.processes[p].channel == Some(Channel::Alarm(p)) {
                    self.make_ready(p, now);
                }
            }
        }
        // A second attempt of those who found no swap space.
        self.wake(Channel::NextSecond, now);
        if std::mem::take(&mut self.swapper.no_victim) {
            self.wake(Channel::NoVictim, now);
        }
        if let Some(current) = self.current {
            if self.processes[current.process].mode == Mode::User {
                self.set_user_priority(current.process);
            }
        }
    }

    /// State of processor and disks that a clock interrupt finds.
    fn observed(&self) -> Observed {
        Observed {
            mode: match self.search {
                Some(_) => Some(Mode::System),
                None => self.current.map(|current| self.processes[current.process].mode),
            },
            drives: std::array::from_fn(|drive| {
                (drive as u32) < self.config.disks.drives && self.disks.drive_busy(drive as u32)
            }),
            queue: self.disks.present(),
        }
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// Statistics begin anew; the sample that is under way is closed first, or it would reach back beyond
    /// zeroed meters.
    pub fn restart_meters(&mut self, now: Time) {
        self.sample(now);
        self.meters.restart(now);
        self.disks.restart_statistics(now);
        self.memory.restart_statistics(now);
        self.swap_area.restart_statistics(now);
    }

    /// Ends an interval of the log's samples.
    fn sample(&mut self, now: Time) {
        self.account(now);
        let length = now.since(self.sampled);
        if M::LISTENS && length > Span::ZERO {
            let readings = self.readings(now);
            let row = self.meters.sample_row(&readings, length);
            self.monitor.sample(self.sampled, length, row);
        }
        self.sampled = now;
    }

    /// Instruments that a sample reads; starts their activity anew.
    fn readings(&mut self, now: Time) -> Readings {
        let drives_busy = std::array::from_fn(|drive| {
            let installed = (drive as u32) < self.config.disks.drives;
            if installed { self.disks.drive_busy_area(drive as u32, now) } else { 0 }
        });
        let count = |wanted: fn(&Process) -> bool| self.processes.iter().filter(|p| wanted(p)).count() as u64;
        let readings = Readings {
            drives_busy,
            ready: count(|process| process.status == Status::Ready),
            loaded: count(|process| process.loaded),
            memory_free: self.memory.free(),
            swap_free: self.swap_area.free(),
            active_users: count(|process| process.active && process.role != Role::System),
        };
        // Read and cleared together: active means active since the last sample.
        self.processes.iter_mut().for_each(|process| process.active = false);
        readings
    }

    /// Every image is in one place, or in two while it is moved; every click and block of both is accounted for.
    fn check_images(&self, laws: &mut Laws) -> Result<(), LawViolation> {
        let law = "conservation of memory";
        let images = self.processes.iter().filter(|p| p.memory.is_some()).map(|p| p.size);
        let texts = self.texts.iter().filter(|text| text.memory.is_some()).map(|text| text.size);
        let held = self.memory.size() - self.memory.free();
        laws.equal(law, "images in main memory", held, images.chain(texts).sum())
    }
}

impl<M: Monitor> Model for Machine<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        calendar.set(CLOCK, self.time_of_tick(self.ticks + 1), Priority::Arrival);
        if M::LISTENS {
            calendar.set(SAMPLE, Time::ZERO + self.interval, Priority::Observation);
        }
        self.dispatch(calendar);
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        match slot {
            PROCESSOR => {
                self.account(calendar.now());
                match self.current {
                    Some(current) => self.run(current.process, calendar),
                    None => self.search_ends(calendar),
                }
            }
            CLOCK => self.tick(calendar),
            TERMINAL => self.wake(Channel::Terminal, calendar.now()),
            SAMPLE => {
                self.sample(calendar.now());
                calendar.set(SAMPLE, calendar.now() + self.interval, Priority::Observation);
                // A sample only looks: it is no interrupt of the simulated machine, and must not give rise to
                // a switch.
                return;
            }
            disks => {
                if self.transfer_ends(disks, calendar) {
                    self.steal(calendar);
                }
            }
        }
        self.after_interrupt(calendar);
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        self.restart_meters(calendar.now());
    }

    fn is_over(&self) -> bool {
        self.over
    }
}
