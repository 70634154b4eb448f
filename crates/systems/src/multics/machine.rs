//! Effects of every event: paths end, pages come, lines are typed, meters are read.

use std::collections::VecDeque;

use thinktime_engine::drum::Drum;
use thinktime_engine::{Calendar, Component, LawViolation, Laws, Model, Priority, Slot, Span, Stream, Time};

use super::config::Config;
use super::disks::Disks;
use super::events::Event;
use super::locks::{LOCKS, Lock, Section};
use super::measures::Measures;
use super::pool::Pool;
use super::processor::{Processor, State, Then};
use super::traffic::Traffic;
use super::ttm::{self, Meters, SystemState};
use super::users::{End, Role, User};
use crate::kernel::{Configuration, Monitor, Replication, Simulated};

/// Near slots: two for processors, then these; each user has two far ones, for typed lines and for lines of replies.
const DRUM: Slot = Slot(2);
const SAMPLE: Slot = Slot(3);
const ARMS: Slot = Slot(4);
/// Far slots per user.
pub(super) const SLOTS_A_USER: u32 = 2;

/// Number of near slots with `arms` disk arms.
pub(super) fn near_slots(arms: u32) -> u32 {
    ARMS.0 + arms
}

/// A page on its way to or from the drum.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transfer {
    /// To core; this process waits.
    In(u32),
    /// From core; nobody waits.
    Out,
}

/// An interrupt that no processor has taken yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interrupt {
    Drum,
    Disk(u32),
    /// A line of this user's terminal has come.
    LineIn(u32),
    /// A line of a reply has been typed.
    LineOut,
}

/// The whole simulated system: processors, locks, core, drum, disks and the users at their terminals.
pub(super) struct Machine<'a, M> {
    /// The configuration.
    pub(super) config: &'a Config,
    /// Users with their processes, and processes of the system.
    pub(super) users: Vec<User>,
    /// One or two.
    pub(super) processors: Vec<Processor>,
    /// Time of work at present as a multiple of its time alone.
    pub(super) slowness: f64,
    /// Processor that holds each lock.
    pub(super) holders: [Option<usize>; LOCKS],
    /// Eligible processes, and those that wait to become eligible.
    pub(super) traffic: Traffic,
    /// Pages of core that are not wired.
    pub(super) core: Pool,
    /// The table of active segments.
    pub(super) segments: Pool,
    /// The paging drum.
    pub(super) drum: Drum<Transfer>,
    /// The disk arms.
    pub(super) disks: Disks,
    /// Those that no processor has taken yet, in order of arrival.
    pub(super) interrupts: VecDeque<Interrupt>,
    /// Processes whose pages came from the drum since its interrupt was last handled.
    from_drum: Vec<u32>,
    /// Whether an interrupt of the drum waits or is being handled.
    drum_calls: bool,
    /// Random numbers of path lengths.
    pub(super) paths: Stream,
    /// Random numbers of pages: modified or not, from drum or disk.
    chance: Stream,
    /// The total time meters.
    pub(super) meters: Meters,
    /// Averages over the run.
    pub(super) measures: Measures,
    /// Length of an interval of the log's samples.
    interval: Span,
    /// The last sample: its time, meters, and area of eligible processes.
    sampled: (Time, Meters, u128),
    /// Receiver of events, interactions and samples.
    pub(super) monitor: &'a mut M,
}

impl<'a, M: Monitor> Simulated<'a, M> for Machine<'a, M> {
    fn calendar(config: &Config) -> Calendar {
        Calendar::new(near_slots(config.disk_arms), SLOTS_A_USER * config.roles.len() as u32)
    }

    fn new(config: &'a Config, replication: &Replication, monitor: &'a mut M) -> Self {
        let &Replication { streams, interval, .. } = replication;
        let stream = |name| streams.stream(Component(name), 0);
        let users: Vec<User> = config
            .roles
            .iter()
            .enumerate()
            .map(|(number, role)| User::new(&streams, number as u32, *role))
            .collect();
        let everybody = users.len();
        Machine {
            config,
            processors: vec![Processor::new(); config.cpus],
            slowness: 1.0,
            holders: [None; LOCKS],
            traffic: Traffic::new(
                config.eligibility,
                config.order,
                config.levels,
                everybody,
                stream("multics eligibility"),
            ),
            core: Pool::new(config.page_lifetime, config.pageable, everybody, stream("multics core")),
            segments: Pool::new(
                config.segment_lifetime,
                config.active_segments,
                everybody,
                stream("multics active segments"),
            ),
            drum: Drum::new(config.drum, DRUM, stream("multics drum")),
            disks: Disks::new(config.disk_arms, config.disk_access, ARMS, stream("multics disks")),
            interrupts: VecDeque::new(),
            from_drum: Vec::new(),
            drum_calls: false,
            paths: stream("multics paths"),
            chance: stream("multics pages"),
            meters: Meters::default(),
            measures: Measures::new(config.waiting_lines),
            interval,
            sampled: (Time::ZERO, Meters::default(), 0),
            users,
            monitor,
        }
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        self.sample(calendar);
        self.report_unfinished();
        self.check(calendar.now(), laws)
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// A section of `event`'s path, of the length drawn.
    fn section(&mut self, event: Event) -> Section {
        let length = self.config.paths.draw(event, &mut self.paths);
        Section { lock: self.config.locks.of(event), length }
    }

    /// Processor `cpu` enters a path of one section, which is metered as an event.
    fn event(&mut self, cpu: usize, event: Event, then: Then, calendar: &mut Calendar) {
        self.meters.events[event as usize] += 1;
        let section = self.section(event);
        self.enters(cpu, event, section, None, then, calendar);
    }

    /// Processor `cpu` is free to do what is next: interrupts first, then who comes before, then its own process.
    pub(super) fn continues(&mut self, cpu: usize, calendar: &mut Calendar) {
        self.does(cpu, State::Deciding, Span::ZERO, calendar);
        let interrupt = if self.takes_interrupts(cpu) { self.interrupts.pop_front() } else { None };
        if let Some(interrupt) = interrupt {
            let (event, then) = match interrupt {
                Interrupt::Drum => (Event::DrumInterrupt, Then::DrumPagesHaveCome),
                Interrupt::Disk(process) => (Event::Interrupt, Then::DiskPageHasCome(process)),
                Interrupt::LineIn(user) => (Event::Interrupt, Then::LineHasCome(user)),
                Interrupt::LineOut => (Event::Interrupt, Then::GoOn),
            };
            return self.event(cpu, event, then, calendar);
        }
        match self.processors[cpu].process {
            Some(process) if self.processors[cpu].preempted => {
                self.measures.preemptions += 1;
                self.traffic.returns(process);
                self.gets_work(cpu, calendar);
            }
            Some(process) => self.runs(cpu, process, calendar),
            None if self.traffic.somebody_is_ready() => self.gets_work(cpu, calendar),
            None => self.does(cpu, State::Idle, Span::ZERO, calendar),
        }
    }

    /// Whether interrupts that wait are for processor `cpu`: one of them has all, unless another has nothing to do.
    fn takes_interrupts(&self, cpu: usize) -> bool {
        let has_nothing = self.processors[cpu].process.is_none() && !self.traffic.somebody_is_ready();
        // Also one that has nothing to do: an idle processor waits with interrupts enabled.
        cpu == 0 || !self.config.interrupts_to_one || has_nothing
    }

    /// Processor `cpu` leaves its process and looks for another.
    pub(super) fn gets_work(&mut self, cpu: usize, calendar: &mut Calendar) {
        self.processors[cpu].process = None;
        self.processors[cpu].preempted = false;
        self.meters.events[Event::Getwork as usize] += 1;
        let section = self.section(Event::Getwork);
        // Who comes from a page fault may still hold page control: it then chooses under that lock, and takes
        // no other, so that the order in which locks are taken can never be a circle.
        let holds = self.holders[Lock::PageControl as usize] == Some(cpu);
        let (first, rest) = if holds {
            (Section { lock: Some(Lock::PageControl), ..section }, None)
        } else {
            self.config.in_part_locked(section, self.config.traffic_lock_share)
        };
        self.enters(cpu, Event::Getwork, first, rest, Then::ChooseProcess, calendar);
    }

    /// The process on processor `cpu` goes on: with the rest of its page fault, or in user programs.
    fn runs(&mut self, cpu: usize, process: u32, calendar: &mut Calendar) {
        let user = &mut self.users[process as usize];
        let Some(work) = &mut user.work else { return };
        work.first_service.get_or_insert(calendar.now());
        let (pages, segments) = (work.pages, work.segments);
        // The second half of the page fault: the process runs it itself when it gets a processor after its
        // page has come.
        if std::mem::take(&mut user.fault_is_open) {
            let mut section = self.section(Event::PageFault);
            section.length = self.config.after_page(section.length);
            return self.enters(cpu, Event::PageFault, section, None, Then::GoOn, calendar);
        }
        // Drawn anew for every burst: times between misses are exponential, and what was left of them has no
        // memory.
        let page = self.core.lifetime(process, pages);
        let segment = self.segments.lifetime(process, segments);
        let (length, end) = user.burst(page, segment, self.config.gate_headway_ns);
        self.does(cpu, State::Useful(end), length, calendar);
    }

    /// A burst in user programs has ended.
    fn burst_ends(&mut self, cpu: usize, end: End, calendar: &mut Calendar) {
        let Some(process) = self.processors[cpu].process else { return };
        match end {
            End::PageFault => self.page_fault(cpu, process, calendar),
            End::SegmentFault => self.segment_fault(cpu, process, calendar),
            End::GateFault => self.event(cpu, Event::GateFault, Then::GoOn, calendar),
            End::Output => {
                let now = calendar.now();
                if let Some(work) = &mut self.users[process as usize].work {
                    // The burst was cut at the output: what comes after it is the rest of the work.
                    work.left = work.left_at_output;
                    work.first_output = Some(now);
                }
                self.continues(cpu, calendar);
            }
            // The timer interrupts.
            End::Quantum => self.event(cpu, Event::Interrupt, Then::QuantumIsUsedUp, calendar),
            End::Answered => {
                self.processors[cpu].process = None;
                self.answers(process, calendar);
                self.gets_work(cpu, calendar);
            }
        }
    }

    /// The process refers to a page that is not in core.
    fn page_fault(&mut self, cpu: usize, process: u32, calendar: &mut Calendar) {
        self.meters.events[Event::PageFault as usize] += 1;
        let taken = self.core.take(process);
        self.measures.examined += u64::from(taken.examined);
        if let Some(work) = &mut self.users[process as usize].work {
            work.charged.page_faults += 1;
        }
        self.trace(calendar.now(), "page_fault", process);
        // Drawn only where the place was somebody's: free places cost no random number.
        let out = taken.from_somebody && self.chance.uniform() < self.config.modified;
        let mut section = self.section(Event::PageFault);
        section.length =
            // Each place that the hand looks at takes time under the lock: page faults get dearer as core
            // fills up.
            self.config.before_page(section.length) + self.config.examine.times(u64::from(taken.examined));
        self.enters(cpu, Event::PageFault, section, None, Then::AskForPage { out }, calendar);
    }

    /// The process refers to a segment that is not active.
    fn segment_fault(&mut self, cpu: usize, process: u32, calendar: &mut Calendar) {
        self.meters.events[Event::SegmentFault as usize] += 1;
        // Without a transfer: an active segment is an entry of a table, and its pages come by page faults.
        self.segments.take(process);
        self.trace(calendar.now(), "segment_fault", process);
        let section = self.section(Event::SegmentFault);
        let (locked, rest) = self.config.in_part_locked(section, self.config.segment_lock_share);
        self.enters(cpu, Event::SegmentFault, locked, rest, Then::GoOn, calendar);
    }

    /// A path of the supervisor has ended: its effect.
    fn path_ends(&mut self, cpu: usize, then: Then, calendar: &mut Calendar) {
        match then {
            Then::GoOn => self.continues(cpu, calendar),
            Then::AskForPage { out } => self.ask_for_page(cpu, out, calendar),
            Then::DrumPagesHaveCome => {
                // Before the pages are handed over: one that comes from now on calls again.
                self.drum_calls = false;
                for process in std::mem::take(&mut self.from_drum) {
                    self.page_arrives(process, calendar);
                }
                self.continues(cpu, calendar);
            }
            Then::DiskPageHasCome(process) => {
                self.page_arrives(process, calendar);
                self.continues(cpu, calendar);
            }
            Then::LineHasCome(user) => {
                self.reads(user, calendar);
                self.continues(cpu, calendar);
            }
            Then::QuantumIsUsedUp => {
                if let Some(process) = self.processors[cpu].process.take() {
                    self.ceases_to_be_eligible(process, calendar.now());
                    let user = &mut self.users[process as usize];
                    // Who used up a quantum falls a level: a long computation gives way to short ones.
                    user.level += 1;
                    self.wants_to_run(process, calendar);
                }
                self.gets_work(cpu, calendar);
            }
            Then::ChooseProcess => {
                self.award(calendar);
                // Eligibility first: somebody made eligible here can be chosen at once.
                self.processors[cpu].process = self.traffic.next();
                self.continues(cpu, calendar);
            }
        }
    }

    /// The process waits for its page; a modified one is written to make room.
    fn ask_for_page(&mut self, cpu: usize, out: bool, calendar: &mut Calendar) {
        if let Some(process) = self.processors[cpu].process.take() {
            self.users[process as usize].waits_since = calendar.now();
            if self.chance.uniform() < self.config.disk_share {
                self.disks.ask(process, calendar);
            } else {
                self.drum.ask(Transfer::In(process), calendar);
            }
        }
        if out {
            // After the page that is waited for, which thus stands before it in the queue.
            self.drum.ask(Transfer::Out, calendar);
        }
        self.gets_work(cpu, calendar);
    }

    /// The interrupt of a page is handled: its process is ready.
    fn page_arrives(&mut self, process: u32, calendar: &mut Calendar) {
        let user = &mut self.users[process as usize];
        user.fault_is_open = true;
        self.measures.page_waits.record(calendar.now().since(user.waits_since));
        self.traffic.ready(process);
        self.report(process, calendar);
    }

    /// `process` wants to become eligible.
    pub(super) fn wants_to_run(&mut self, process: u32, calendar: &mut Calendar) {
        let user = &mut self.users[process as usize];
        user.quantum = self.config.quantum_of(user.level);
        self.traffic.wants(process, user.level);
        self.award(calendar);
    }

    /// `process` has used up its quantum, or answered its user.
    pub(super) fn ceases_to_be_eligible(&mut self, process: u32, now: Time) {
        self.traffic.loses(process, self.core.used(process), now);
        self.trace(now, "ineligible", process);
    }

    /// Makes processes eligible while there is room.
    fn award(&mut self, calendar: &mut Calendar) {
        while let Some(process) = self.traffic.award(calendar.now()) {
            self.trace(calendar.now(), "eligible", process);
            self.report(process, calendar);
        }
    }

    /// `process` can run: an idle processor looks for work, or one that runs a process which comes after it.
    fn report(&mut self, process: u32, calendar: &mut Calendar) {
        // Processors that are about to choose will take those who are ready: to call another would be too
        // many.
        let choosing = self.processors.iter().filter(|processor| processor.is_choosing()).count();
        if choosing >= self.traffic.ready_processes() {
            return;
        }
        if let Some(idle) = self.processors.iter().position(Processor::is_idle) {
            return self.continues(idle, calendar);
        }
        if self.config.preempt {
            self.preempts(process, calendar);
        }
    }

    /// Takes a processor from the process that comes last, if `process` comes before it.
    fn preempts(&mut self, process: u32, calendar: &mut Calendar) {
        let running = |processor: &Processor| processor.process.filter(|_| !processor.preempted);
        let mut last: Option<(usize, u32)> = None;
        for (cpu, other) in self.processors.iter().enumerate().filter_map(|(cpu, p)| Some((cpu, running(p)?)))
        {
            if last.is_none_or(|(_, latest)| self.traffic.precedes(latest, other)) {
                last = Some((cpu, other));
            }
        }
        let Some((cpu, other)) = last else { return };
        if !self.traffic.precedes(process, other) {
            return;
        }
        self.processors[cpu].preempted = true;
        // In the supervisor the processor is not taken away; it sees the flag when its path has ended.
        if matches!(self.processors[cpu].state, State::Useful(_)) {
            self.continues(cpu, calendar);
        }
    }

    /// An interrupt comes: an idle processor takes it, or else one that is in user programs, the one whose process
    /// comes last if there is a choice; or whichever of them first ends a path.
    pub(super) fn interrupt(&mut self, interrupt: Interrupt, calendar: &mut Calendar) {
        // In order of coming, whoever takes them: an interrupt that finds all in the supervisor waits here.
        self.interrupts.push_back(interrupt);
        let mut taker: Option<usize> = None;
        for (cpu, processor) in self.processors.iter().enumerate() {
            match (processor.state, processor.process) {
                (State::Idle, _) => {
                    taker = Some(cpu);
                    break;
                }
                (State::Useful(_), Some(process)) if cpu == 0 || !self.config.interrupts_to_one => {
                    let latest = taker.and_then(|cpu| self.processors[cpu].process);
                    if latest.is_none_or(|latest| self.traffic.precedes(latest, process)) {
                        taker = Some(cpu);
                    }
                }
                _ => {}
            }
        }
        if let Some(cpu) = taker {
            self.continues(cpu, calendar);
        }
    }

    /// Reports an event to the monitor.
    #[inline]
    pub(super) fn trace(&mut self, now: Time, kind: &'static str, process: u32) {
        if M::LISTENS {
            self.monitor.event(now, kind, Some(process), None);
        }
    }

    /// Ends an interval of the log's samples.
    fn sample(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        self.settle_all(now);
        // Meters are booked when a processor changes what it does: what it is in the middle of must be booked
        // first.
        let (start, meters, eligible) = self.sampled;
        let length = now.since(start);
        if M::LISTENS && length > Span::ZERO {
            let area = self.traffic.eligible.area(now);
            let state = SystemState {
                users: self.config.population(),
                active: self.active_users(),
                eligible_mean: (area - eligible) as f64 / length.0 as f64,
            };
            self.monitor.sample(start, length, ttm::row(&self.meters.since(&meters), state));
        }
        self.sampled = (now, self.meters, self.traffic.eligible.area(now));
        calendar.set(SAMPLE, now + self.interval, Priority::Observation);
    }

    /// Users at work at some time since the last sample; starts anew.
    fn active_users(&mut self) -> u64 {
        let mut active = 0;
        for user in self.users.iter_mut().filter(|user| user.role != Role::Housekeeping) {
            // Active during an interval: at work now, or marked so since the last sample.
            let now = user.work.is_some() || !user.inputs.is_empty();
            active += u64::from(std::mem::replace(&mut user.active, now) || now);
        }
        active
    }

    /// Books what all processors have done until now.
    fn settle_all(&mut self, now: Time) {
        for cpu in 0..self.processors.len() {
            self.settle(cpu, now);
        }
    }

    /// Processor time charged to interactions in progress [ns].
    fn charged_in_progress(&self) -> u128 {
        let works = self.users.iter().filter_map(|user| user.work.as_ref());
        works.map(|work| u128::from(work.charged.all())).sum()
    }

    /// Meters since statistics began.
    pub(super) fn metered(&self) -> Meters {
        self.meters.since(&self.measures.at_start)
    }

    /// Every law of the run.
    fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        let typed = self.users.iter().flat_map(|user| {
            let working = user.work.iter().map(|work| work.input.typed);
            working.chain(user.inputs.iter().map(|input| input.typed))
        });
        self.measures.interactions.check("users", now, typed, laws)?;
        self.drum.check(now, laws)?;
        self.disks.check(now, laws)?;
        self.core.check("core", laws)?;
        self.segments.check("the table of active segments", laws)?;
        let meters = self.metered();
        let elapsed = now.since(self.measures.since).0 * self.processors.len() as u64;
        // Every nanosecond of every processor is in exactly one meter.
        laws.equal("time adds up", "processors", meters.all(), elapsed)?;
        let time = |event: Event| u128::from(meters.time[event as usize]);
        let faults = time(Event::PageFault) + time(Event::SegmentFault) + time(Event::GateFault);
        let charged = self.measures.charged + self.charged_in_progress() - self.measures.charged_earlier;
        laws.equal(
            "processes are charged with useful time and faults",
            "processors",
            u128::from(meters.useful) + faults,
            charged,
        )
    }
}

impl<M: Monitor> Model for Machine<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        self.log_in_all(calendar);
        calendar.set(SAMPLE, Time::ZERO + self.interval, Priority::Observation);
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        let near = near_slots(self.config.disk_arms);
        match slot {
            // Two slots for processors, whether there are one or two: the numbers of the others do not depend
            // on it.
            Slot(cpu) if cpu < DRUM.0 => self.is_done(cpu as usize, calendar),
            DRUM => {
                if let Some(page) = self.drum.due(calendar) {
                    self.drum_is_done(page, calendar);
                }
            }
            SAMPLE => self.sample(calendar),
            Slot(slot) if slot < near => {
                if let Some(process) = self.disks.due(slot - ARMS.0, calendar) {
                    self.interrupt(Interrupt::Disk(process), calendar);
                }
            }
            Slot(far) => self.terminal_is_due(far - near, calendar),
        }
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        let now = calendar.now();
        self.settle_all(now);
        let in_progress = self.charged_in_progress();
        self.measures.restart(now, self.meters, in_progress);
        self.drum.restart_statistics(now);
        self.disks.restart_statistics(now);
        self.traffic.eligible.restart(now);
        // The interval that is in progress goes on: what it had so far was before the area was set to zero.
        self.sampled.2 = self.traffic.eligible.area(now);
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// The current work of processor `cpu` is done.
    fn is_done(&mut self, cpu: usize, calendar: &mut Calendar) {
        self.settle(cpu, calendar.now());
        match self.processors[cpu].state {
            State::Useful(end) => {
                self.does(cpu, State::Deciding, Span::ZERO, calendar);
                self.burst_ends(cpu, end, calendar);
            }
            State::Path(path) => {
                self.does(cpu, State::Deciding, Span::ZERO, calendar);
                if self.section_ends(cpu, path, calendar) {
                    self.path_ends(cpu, path.then, calendar);
                }
            }
            State::Idle | State::Deciding | State::Spinning(_) => {}
        }
    }

    /// The drum has transferred a page: one interrupt serves all that come until it is handled.
    fn drum_is_done(&mut self, page: Transfer, calendar: &mut Calendar) {
        if let Transfer::In(process) = page {
            // Handed over by the interrupt, not here: until then nobody knows that the page has come.
            self.from_drum.push(process);
        }
        if !std::mem::replace(&mut self.drum_calls, true) {
            self.interrupt(Interrupt::Drum, calendar);
        }
    }
}
