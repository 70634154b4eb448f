//! The kernel as it runs: who has the processor, who sleeps on what, and the clock.

use thinktime_engine::controller::Controller;
use thinktime_engine::memory::FirstFit;
use thinktime_engine::{Calendar, LawViolation, Laws, Model, Priority, Slot, Span, Time};

use super::calls::Call;
use super::config::Config;
use super::files::Files;
use super::meters::{Meters, Observed, Readings};
use super::paging::Frames;
use super::process::{LONGEST, Process, SWAPPER, Text, next_to_run};
use super::states::{Channel, Flow, Mode, Role, Status, priority};
use super::swapper::Swapper;
use super::terminal::Terminal;
use super::units::{CLOCK, DISKS, PROCESSOR, SAMPLE, TERMINAL, blocks};
use super::workload::Step;
use crate::kernel::{Amount, Monitor, Replication, Simulated};

/// Clock interrupts per second.
pub(super) const HERTZ: u64 = 60;
/// Swapper, `init`, shell, `update` and the parent of the workers.
const SYSTEM_PROCESSES: u32 = 5;
/// Ticks by which recent processor time falls each second (`SCHMAG`).
const DECAY: u8 = 10;
/// Seconds after which the clock looks for another process anyway.
// `clock.c` sets `runrun` whenever the two low bits of the time are zero.
const TURN_S: u64 = 4;

/// The process that has the processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// Its place in the process table.
    pub process: usize,
    /// Since when its processor time is counted.
    pub since: Time,
}

/// The whole simulated system: processor, memory, disks and terminal, and the kernel's tables.
pub(super) struct Machine<'a, M> {
    /// The configuration.
    pub config: &'a Config,
    /// The process table; entries are never used again.
    pub processes: Vec<Process>,
    /// The process that has the processor; none: it idles.
    pub current: Option<Current>,
    /// Where the search for the next to run begins.
    // The search begins after the last one chosen: equal priorities go round the table.
    last: usize,
    /// Priority at which the current process was chosen (`curpri`).
    current_priority: i16,
    /// Somebody may deserve the processor more (`runrun`).
    reconsider: bool,
    /// Processor time of interrupts that is still to be taken from the current process.
    interrupts: Span,
    /// Main memory without the kernel [click].
    pub memory: FirstFit,
    /// The swap area [block].
    pub swap_area: FirstFit,
    /// State of process 0 between its sleeps.
    pub swapper: Swapper,
    /// With paging, in place of `memory`.
    pub frames: Frames,
    /// Pure texts: one at most.
    pub texts: Vec<Text>,
    /// The controller and its drives.
    pub disks: Controller,
    /// The files and the block buffers.
    pub files: Files,
    /// The terminal that all workers write to.
    pub terminal: Terminal,
    /// Clock interrupts since the start.
    ticks: u64,
    /// Seconds that the clock has shown.
    pub seconds: u64,
    /// When the next of the old sleepers is woken (`tout`).
    pub time_out: u64,
    /// Workers that have not exited.
    pub workers: u32,
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
        let mut machine = Machine {
            config,
            processes: Vec::new(),
            current: None,
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
            ticks: 0,
            seconds: 0,
            time_out: 0,
            workers: 0,
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
        machine.workers = config.workers();
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
    fn sleep(&mut self, p: usize, channel: Channel, priority: i16, now: Time) {
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

    /// `setpri`: sets the priority of a process that returns to user mode.
    fn set_user_priority(&mut self, p: usize) {
        let priority = self.processes[p].user_priority();
        self.processes[p].priority = priority;
        // As in Sixth Edition, whose comparison is this way round: a worse priority makes the kernel look again.
        self.reconsider |= priority > self.current_priority;
    }

    /// `swtch`: gives the processor to who deserves it, until one has something to compute or nobody has.
    fn dispatch(&mut self, calendar: &mut Calendar) {
        // A process may sleep again at once without having computed: then the next one is tried.
        while self.current.is_none() {
            self.reconsider = false;
            let Some(p) = next_to_run(&self.processes, self.last) else { return };
            let now = calendar.now();
            self.last = p;
            self.current_priority = self.processes[p].priority;
            self.current = Some(Current { process: p, since: now });
            self.meters.processor_taken(now);
            // The first time that the worker has the processor after its pause.
            if let Some(interaction) = &mut self.processes[p].interaction {
                interaction.first_service.get_or_insert(now);
            }
            self.event(now, "slice_start", p, None);
            self.run(p, calendar);
        }
    }

    /// The current process goes on until it has to compute, or gives the processor up.
    fn run(&mut self, p: usize, calendar: &mut Calendar) {
        loop {
            let now = calendar.now();
            let left = self.processes[p].left;
            // Steps that cost nothing could follow one another for ever, without an event.
            if !calendar.spend(u64::from(left == Span::ZERO)) {
                return;
            }
            if left > Span::ZERO {
                // Interrupts that were charged to this process come before its own time.
                calendar.set(PROCESSOR, now + self.interrupts + left, Priority::Completion);
                return;
            }
            // The swapper has no program: its state is in `swapper`.
            let flow = if p == SWAPPER { self.swap_processes(calendar) } else { self.proceed(p, calendar) };
            match flow {
                Flow::Compute(span) => self.processes[p].left = span,
                Flow::Sleep(channel, priority) => {
                    self.sleep(p, channel, priority, now);
                    self.give_up(now);
                    return;
                }
                Flow::Away => {
                    self.give_up(now);
                    return;
                }
                // Back to user mode: here alone the kernel looks whether somebody deserves the processor
                // more.
                Flow::Done => {
                    self.processes[p].call = None;
                    self.processes[p].mode = Mode::User;
                    self.set_user_priority(p);
                    if self.reconsider {
                        self.give_up(now);
                        return;
                    }
                }
            }
        }
    }

    /// Takes the processor from the current process.
    fn give_up(&mut self, now: Time) {
        if let Some(current) = self.current.take() {
            self.meters.processor_idle(now);
            self.event(now, "slice_end", current.process, None);
        }
    }

    /// The current process goes on in its system call, or begins its next step.
    fn proceed(&mut self, p: usize, calendar: &mut Calendar) -> Flow {
        if self.processes[p].call.is_some() {
            return self.call(p, calendar);
        }
        match self.processes[p].program.next() {
            Step::Compute(span) => {
                self.processes[p].mode = Mode::User;
                Flow::Compute(self.config.scaled(span))
            }
            Step::Exit => self.exit(p, calendar.now()),
            step => {
                if matches!(step, Step::Pause(_)) {
                    // The response ends where the pause is asked for, before the time of the system call.
                    self.interaction_ends(p, calendar.now());
                }
                self.processes[p].mode = Mode::System;
                self.processes[p].call = Call::of(step);
                Flow::Compute(self.config.costs.call)
            }
        }
    }

    /// Books the processor time that the current process has had since the last call.
    fn account(&mut self, now: Time) {
        let Some(current) = &mut self.current else { return };
        let (passed, interrupts) = (now.since(current.since), self.interrupts);
        current.since = now;
        // Interrupts come first: their time is the system's, and the process waits for it.
        let stolen = passed.min(interrupts);
        self.interrupts -= stolen;
        self.meters.charge_mode(Mode::System, stolen);
        let had = passed - stolen;
        let process = &mut self.processes[current.process];
        process.left -= had;
        if let Some(interaction) = &mut process.interaction {
            interaction.service += had;
        }
        process.active |= process.mode == Mode::User && had > Span::ZERO;
        self.meters.charge_mode(process.mode, had);
    }

    /// Charges a disk interrupt to the current process; an idle processor serves it in idle time.
    fn steal(&mut self, calendar: &mut Calendar) {
        if self.current.is_some() && self.config.costs.interrupt > Span::ZERO {
            self.account(calendar.now());
            self.interrupts += self.config.costs.interrupt;
            // What the process has left ends later by the time of the interrupt.
            let left = self.current.map_or(Span::ZERO, |current| self.processes[current.process].left);
            calendar.set(PROCESSOR, calendar.now() + self.interrupts + left, Priority::Completion);
        }
    }

    /// End of an interrupt: another process may deserve the processor more than one in user mode.
    fn after_interrupt(&mut self, calendar: &mut Calendar) {
        if let Some(current) = self.current {
            // In system mode the kernel goes on: `runrun` is looked at on its way back to the user.
            if !self.reconsider || self.processes[current.process].mode == Mode::System {
                return;
            }
            self.account(calendar.now());
            calendar.clear(PROCESSOR);
            self.give_up(calendar.now());
        }
        self.dispatch(calendar);
    }

    /// A clock interrupt (`clock.c`).
    fn tick(&mut self, calendar: &mut Calendar) {
        self.ticks += 1;
        // Computed from the number of the tick: a sum of rounded sixtieths would drift.
        calendar.set(CLOCK, Self::time_of_tick(self.ticks + 1), Priority::Arrival);
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
    fn time_of_tick(tick: u64) -> Time {
        Time((u128::from(tick) * 1_000_000_000 / u128::from(HERTZ)) as u64)
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
            mode: self.current.map(|current| self.processes[current.process].mode),
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
        calendar.set(CLOCK, Self::time_of_tick(1), Priority::Arrival);
        if M::LISTENS {
            calendar.set(SAMPLE, Time::ZERO + self.interval, Priority::Observation);
        }
        self.dispatch(calendar);
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        match slot {
            PROCESSOR => {
                self.account(calendar.now());
                if let Some(current) = self.current {
                    self.run(current.process, calendar);
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
        self.workers == 0
    }
}
