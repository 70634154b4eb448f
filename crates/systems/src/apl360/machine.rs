//! The machine as it runs: the effect of each event.
//!
//! An input goes from its terminal to the foreground; after its first slice it is done, or goes to the
//! background, or, if a command, to the command queue; an output-bound one goes to and fro between
//! background and the wait for output (Figure 6).

use std::collections::{BTreeSet, VecDeque};

use thinktime_engine::memory::Regions;
use thinktime_engine::{Batches, Calendar, LawViolation, Laws, Model, Priority, Slot, Span, Time};

use super::config::Config;
use super::disk::{Access, SwapDisk};
use super::measures::{Measures, Queue};
use super::responses::{RunTotals, sample_row};
use super::scheduler::{Criterion, Dispatcher};
use super::workload::{Activity, Class, Place, User, labels};
use crate::kernel::{Accounted, Amount, Interaction, Monitor, Replication, Simulated};

/// Near slots of the calendar; each user has a far one, for the end of thinking, typing or output.
pub(super) const PROCESSOR: Slot = Slot(0);
pub(super) const DISK: Slot = Slot(1);
const CLOCK: Slot = Slot(2);
/// Number of near slots.
pub(super) const NEAR_SLOTS: u32 = 3;

/// Holder of the region of a library directory; users are below.
const DIRECTORY: u32 = u32::MAX;

/// A time slice in progress, after the supervisor's part.
#[derive(Clone, Copy, Debug)]
struct Slice {
    /// User of the workspace that runs.
    user: u32,
    /// When the slice began.
    begun: Time,
    /// Supervisor's part, which comes first.
    overhead: Span,
    /// Interpreter's part.
    service: Span,
}

/// The swapper: one workspace at a time leaves or comes.
#[derive(Clone, Copy, Debug)]
struct Swapper {
    /// Whether a workspace is on its way.
    busy: bool,
    /// Inputs of workspaces on disk since the last swap-out decision (cause 1).
    inputs: u64,
    /// Slices since the last input, library load or swap-out (cause 3).
    slices: u64,
    /// Criterion of the original scheduler.
    criterion: Criterion,
}

/// The whole simulated system: one processor, regions of main memory, the disk and the users.
pub(super) struct Machine<'a, M> {
    /// The configuration.
    config: &'a Config,
    /// Users and their workspaces.
    users: Vec<User>,
    /// Active workspaces on disk, by address.
    waiting: BTreeSet<u32>,
    /// Resident active workspaces in dispatching order, the running one left out.
    ready: VecDeque<u32>,
    /// The slice in progress.
    running: Option<Slice>,
    /// State of the swapper.
    swapper: Swapper,
    /// Main memory, each region for a workspace of the largest size or for a library directory. The system's
    /// own programs lie elsewhere.
    memory: Regions,
    /// The swap disk.
    disk: SwapDisk,
    /// Commands after their first slice; the first one is being served.
    commands: VecDeque<u32>,
    /// A command whose library directory has to be loaded (cause 2).
    directory_wanted: Option<u32>,
    /// Accesses of the current command that are not done.
    library_accesses_to_go: u32,
    /// Turns given so far.
    turns: u64,
    /// Accesses that have ended, and have not taken their processor time yet.
    accesses_to_handle: u64,
    /// Everything that is measured.
    pub measures: Measures,
    /// Length of an interval of the log's samples.
    interval: Span,
    /// Time of the last sample.
    sampled: Time,
    /// Receiver of events, interactions and samples.
    monitor: &'a mut M,
    /// Names of the classes in the log.
    labels: [std::sync::Arc<str>; 3],
}

impl<'a, M: Monitor> Simulated<'a, M> for Machine<'a, M> {
    fn calendar(config: &Config) -> Calendar {
        Calendar::new(NEAR_SLOTS, config.users)
    }

    fn new(config: &'a Config, replication: &Replication, monitor: &'a mut M) -> Self {
        let &Replication { streams, interval, .. } = replication;
        let users: Vec<User> = (0..config.users).map(|user| User::new(&streams, user)).collect();
        Machine {
            config,
            measures: Measures::new(config.users),
            users,
            waiting: BTreeSet::new(),
            ready: VecDeque::new(),
            running: None,
            swapper: Swapper { busy: false, inputs: 0, slices: 0, criterion: Criterion::FirstSlice },
            memory: Regions::new(config.regions as usize),
            disk: SwapDisk::new(config.disk, DISK, &streams),
            commands: VecDeque::new(),
            directory_wanted: None,
            library_accesses_to_go: 0,
            turns: 0,
            accesses_to_handle: 0,
            interval,
            sampled: Time::ZERO,
            monitor,
            labels: labels(),
        }
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        let now = calendar.now();
        if now > self.sampled {
            self.sample(now);
        }
        for user in 0..self.config.users {
            if self.users[user as usize].activity != Activity::Thinking {
                self.report(user, None);
            }
        }
        self.measures.check(now, &self.users, self.running_parts(now), laws)?;
        self.disk.check(now, laws)?;
        self.memory.check("main memory", now, laws)
    }
}

impl<M: Monitor> Accounted for Machine<'_, M> {
    type Configuration = Config;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        RunTotals {
            measures: &self.measures,
            now,
            disk_busy: self.disk.busy(now),
            accesses: self.disk.begun(),
        }
    }

    fn batches(&self) -> &Batches {
        &self.measures.batches
    }
}

impl<M: Monitor> Machine<'_, M> {
    fn user(&mut self, user: u32) -> &mut User {
        &mut self.users[user as usize]
    }

    fn event(&mut self, now: Time, kind: &'static str, user: u32, amount: Option<Amount>) {
        if M::LISTENS {
            self.monitor.event(now, kind, Some(user), amount);
        }
    }

    /// The input of `user` goes on to another activity, and perhaps to another queue.
    fn go(&mut self, user: u32, to: Activity, now: Time) {
        let moved = &mut self.users[user as usize];
        let (old, new) = (Queue::of(moved.activity), Queue::of(to));
        moved.activity = to;
        if old != new {
            self.measures.leave(old, now, moved.entered);
            self.measures.enter(new, now);
            moved.entered = now;
        }
    }

    /// The user begins to think; before, the reply of the last input is typed.
    fn think(&mut self, user: u32, first: bool, calendar: &mut Calendar) {
        let config = self.config;
        let source = &mut self.user(user).source;
        // The reply is typed on the terminal that the user types on: one after the other.
        let reply = if first { Span::ZERO } else { source.think(&config.reply) };
        let think = reply + source.think(&config.insertion);
        self.user(user).think = think;
        calendar.set(calendar.far(user), calendar.now() + think, Priority::Arrival);
    }

    /// The input of `user` is complete.
    fn input(&mut self, user: u32, now: Time) {
        let mix = &self.config.mix;
        self.go(user, Activity::Foreground, now);
        self.put_last(user);
        let asking = self.user(user);
        asking.transaction = asking.source.input(mix);
        asking.attained = Span::ZERO;
        asking.to_stop = asking.transaction.piece.unwrap_or(Span(u64::MAX));
        // Only output-bound work stops on its way.
        (asking.arrived, asking.first_slice, asking.first_output) = (now, None, None);
        let place = asking.place;
        self.measures.input(now);
        self.swapper.slices = 0;
        match place {
            // Foreground goes first: its first slice decides the reaction time.
            Place::Resident => self.ready.push_front(user),
            Place::Disk => {
                self.swapper.inputs += 1;
                self.waiting.insert(user);
            }
            // On its way it is in no queue; what ends the move puts it there.
            Place::Loading | Place::Leaving => self.swapper.inputs += 1,
        }
        self.event(now, "input", user, None);
    }

    /// The user goes to the end of its queue, behind all others, and begins a new turn.
    fn put_last(&mut self, user: u32) {
        self.turns += 1;
        let last = self.turns;
        let moved = self.user(user);
        (moved.turn, moved.turn_slices) = (last, 0);
    }

    /// A user's workspace needs the processor again, after a wait for output or for the library.
    fn resume(&mut self, user: u32, as_what: Activity, now: Time) {
        self.go(user, as_what, now);
        self.put_last(user);
        match self.user(user).place {
            Place::Resident => self.ready.push_back(user),
            Place::Disk => {
                self.waiting.insert(user);
            }
            Place::Loading | Place::Leaving => {}
        }
    }

    /// Original scheduler: I/O asks the interpreter to end the slice (page 127). The supervisor's own part is not
    /// interrupted.
    fn cut_slice(&mut self, calendar: &mut Calendar) {
        let Some(slice) = &mut self.running else { return };
        if !self.config.scheduler.cuts_slices() {
            return;
        }
        let started = slice.begun + slice.overhead;
        let end = calendar.now().max(started);
        if end >= started + slice.service {
            return;
        }
        slice.service = end.since(started);
        if end == calendar.now() {
            calendar.clear(PROCESSOR);
            self.slice_ends(calendar);
        } else {
            calendar.set(PROCESSOR, end, Priority::Completion);
        }
    }

    /// The slice in progress has ended.
    fn slice_ends(&mut self, calendar: &mut Calendar) {
        let Some(slice) = self.running.take() else { return };
        let (now, user) = (calendar.now(), slice.user);
        self.measures.slice_ends(now, slice.overhead);
        self.swapper.slices += 1;
        self.event(now, "slice_end", user, Some(Amount::seconds(slice.service)));
        let Config { scheduler, slice: longest, .. } = *self.config;
        let served = self.user(user);
        let first = served.is_foreground();
        let before = scheduler.queue(served, longest);
        served.attained += slice.service;
        served.turn_slices += 1;
        served.to_stop -= slice.service;
        let (class, done) = (served.transaction.class, served.remaining() == Span::ZERO);
        let stops = served.to_stop == Span::ZERO;
        // Before `done` is looked at: a command waits for its turn even if its first slice was all it needed.
        if class == Class::Command && first {
            self.go(user, Activity::CommandWait, now);
            // In the queue of commands also while it is served: its length tells whether another is.
            self.commands.push_back(user);
            // One command at a time: there is one region for a library directory.
            if self.commands.len() == 1 {
                self.begin_command(user, calendar);
            }
        } else if done {
            self.complete(user, calendar);
        } else if stops {
            self.stop_for_output(user, calendar);
        } else {
            if first {
                self.go(user, Activity::Background, now);
            }
            if scheduler.queue(self.user(user), longest) != before {
                self.put_last(user);
            }
            self.ready.push_back(user);
        }
    }

    /// An output-bound transaction stops until the buffers are empty.
    fn stop_for_output(&mut self, user: u32, calendar: &mut Calendar) {
        let (now, mix) = (calendar.now(), &self.config.mix);
        self.go(user, Activity::OutputWait, now);
        let stopped = self.user(user);
        stopped.first_output.get_or_insert(now);
        stopped.to_stop = stopped.transaction.piece.unwrap_or(Span(u64::MAX));
        let drain = stopped.source.drain(mix);
        calendar.set(calendar.far(user), now + drain, Priority::Completion);
        self.event(now, "output_wait_start", user, None);
    }

    /// The turn of a command has come: its libraries are read, or it wants the processor at once.
    fn begin_command(&mut self, user: u32, calendar: &mut Calendar) {
        if self.config.mix.library_accesses == 0 {
            self.library_is_ready(user, calendar);
        } else {
            self.swapper.slices = 0;
            self.directory_wanted = Some(user);
        }
    }

    /// The libraries of a command have been read.
    fn library_is_ready(&mut self, user: u32, calendar: &mut Calendar) {
        if self.user(user).remaining() == Span::ZERO {
            self.complete(user, calendar);
        } else {
            self.resume(user, Activity::CommandService, calendar.now());
        }
    }

    /// The input of `user` needs no more service.
    fn complete(&mut self, user: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        self.go(user, Activity::Thinking, now);
        self.event(now, "completion", user, None);
        self.measures.complete(&self.users[user as usize], now);
        self.report(user, Some(now));
        self.think(user, false, calendar);
        if self.users[user as usize].transaction.class == Class::Command {
            // The command that ends is the first, as only that is served.
            self.commands.pop_front();
            if let Some(next) = self.commands.front().copied() {
                self.begin_command(next, calendar);
            }
        }
    }

    /// Reports the interaction of `user`; without `completion`, one that the end of the run cuts short.
    fn report(&mut self, user: u32, completion: Option<Time>) {
        if !M::LISTENS {
            return;
        }
        let reported = &self.users[user as usize];
        self.monitor.interaction(&Interaction {
            user,
            class: self.labels[reported.transaction.class as usize].clone(),
            think: reported.think,
            arrival: reported.arrived,
            first_service: reported.first_slice,
            first_output: reported.first_output.or(completion),
            completion,
            service: reported.attained,
            waited: true,
        });
    }

    /// An access of the disk has ended.
    fn access_ends(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        let Some(access) = self.disk.end(now) else { return };
        self.event(now, access.events()[1], access.user(), None);
        self.accesses_to_handle += 1;
        match access {
            Access::SwapOut(user) => self.has_left(user, now),
            Access::SwapIn(user) => {
                self.user(user).place = Place::Resident;
                self.swapper.busy = false;
                self.ready.push_front(user);
            }
            Access::Library(user) => {
                self.library_accesses_to_go -= 1;
                if self.library_accesses_to_go > 0 {
                    // Whoever waits goes first, and draws first from the disk's stream.
                    self.begin_access(calendar);
                    self.disk.request(Access::Library(user), now);
                } else {
                    self.memory.release(now, DIRECTORY);
                    self.library_is_ready(user, calendar);
                }
            }
        }
    }

    /// The workspace of `user` has been written to the disk.
    fn has_left(&mut self, user: u32, now: Time) {
        self.memory.release(now, user);
        self.swapper.busy = false;
        let whole_turn = self.config.slices_before_swap;
        let gone = self.user(user);
        gone.place = Place::Disk;
        if gone.activity.is_active() {
            // Round robin: driven out before the end of its turn, it keeps its place and has the rest later. An input
            // that came while its workspace left keeps its place, too: it has waited since.
            if !gone.is_foreground() && gone.turn_slices >= whole_turn {
                self.put_last(user);
            }
            self.waiting.insert(user);
        }
    }

    /// The supervisor: swaps, and gives the processor to the next. While the interpreter runs a slice that
    /// I/O does not cut, there is no supervisor.
    fn supervise(&mut self, calendar: &mut Calendar) {
        if self.running.is_none() || self.config.scheduler.cuts_slices() {
            self.swap(calendar);
        }
        self.begin_access(calendar);
        self.dispatch(calendar);
    }

    /// Begins the next access of the disk.
    fn begin_access(&mut self, calendar: &mut Calendar) {
        if let Some(access) = self.disk.begin(calendar) {
            self.event(calendar.now(), access.events()[0], access.user(), None);
        }
    }

    /// Brings in a workspace, or drives one out, if the swapper is free.
    fn swap(&mut self, calendar: &mut Calendar) {
        if self.swapper.busy {
            return;
        }
        let now = calendar.now();
        if self.memory.free() > 0 {
            self.fill(now);
        } else if let Some(victim) = self.victim() {
            // Saturating: other causes than an input bring a swap-out, too.
            self.swapper.inputs = self.swapper.inputs.saturating_sub(1);
            self.swapper.slices = 0;
            self.swapper.busy = true;
            // It gets no slice while it is written.
            self.ready.retain(|user| *user != victim);
            self.user(victim).place = Place::Leaving;
            self.disk.request(Access::SwapOut(victim), now);
        }
    }

    /// A free region goes to a library directory, or to the workspace that the scheduler chooses.
    fn fill(&mut self, now: Time) {
        // The directory first: a command that waits holds up all other commands.
        if let Some(user) = self.directory_wanted.take() {
            self.memory.take(now, DIRECTORY);
            self.library_accesses_to_go = self.config.mix.library_accesses;
            self.disk.request(Access::Library(user), now);
            return;
        }
        if !self.config.criterion_persists {
            self.swapper.criterion = Criterion::FirstSlice;
        }
        let Config { scheduler, slice, .. } = self.config;
        let criterion = &mut self.swapper.criterion;
        let arm = self.disk.arm();
        if let Some(user) = scheduler.choose(&self.users, &self.waiting, arm, *slice, criterion) {
            self.waiting.remove(&user);
            self.memory.take(now, user);
            self.user(user).place = Place::Loading;
            self.swapper.busy = true;
            self.disk.request(Access::SwapIn(user), now);
        }
    }

    /// Workspace that has to leave, if one has to: the longest resident, but none that waits for its first slice. If
    /// it is running it leaves after its slice.
    fn victim(&self) -> Option<u32> {
        let cause = self.directory_wanted.is_some()
            || (!self.waiting.is_empty()
                && (self.input_asks()
                    || self.swapper.slices >= self.config.slices_before_swap
                    || self.residents().any(|user| self.is_idle(user))));
        if !cause {
            return None;
        }
        let running = self.running.map(|slice| slice.user);
        let can_leave = |user: &u32| {
            let holder = &self.users[*user as usize];
            holder.place == Place::Resident && !holder.is_foreground()
        };
        let longest = self.residents().find(can_leave);
        // The running one is not passed over for another: the swap waits for the end of its slice.
        longest.filter(|user| Some(*user) != running)
    }

    /// Users whose workspaces hold regions, the longest resident first.
    fn residents(&self) -> impl Iterator<Item = u32> + '_ {
        self.memory.holders().iter().copied().filter(|holder| *holder != DIRECTORY)
    }

    /// True if an input asks for a swap-out (cause 1). The original scheduler takes one decision per input,
    /// whichever workspace that brings in; the others go on until there is no foreground on disk.
    fn input_asks(&self) -> bool {
        if self.config.scheduler.cuts_slices() {
            self.swapper.inputs > 0
        } else {
            self.waiting.iter().any(|user| self.users[*user as usize].is_foreground())
        }
    }

    /// True if the workspace is resident and needs no more service (cause 4).
    fn is_idle(&self, user: u32) -> bool {
        let holder = &self.users[user as usize];
        holder.place == Place::Resident && !holder.activity.is_active()
    }

    /// Gives the next slice, if the processor is free.
    fn dispatch(&mut self, calendar: &mut Calendar) {
        if self.running.is_some() {
            return;
        }
        let Some(user) = self.next_to_run() else { return };
        let (now, config) = (calendar.now(), self.config);
        let chosen = &mut self.users[user as usize];
        if chosen.is_foreground() {
            // Foreground lasts for one slice, so that this is its first.
            chosen.first_slice = Some(now);
            self.measures.reaction(now.since(chosen.arrived));
        }
        let service = config.slice.min(chosen.remaining()).min(chosen.to_stop);
        let overhead = config.dispatch + Span(config.access.0 * std::mem::take(&mut self.accesses_to_handle));
        self.measures.slice_begins(now, overhead);
        self.running = Some(Slice { user, begun: now, overhead, service });
        calendar.set(PROCESSOR, now + overhead + service, Priority::Completion);
        self.event(now, "slice_start", user, None);
    }

    /// Resident workspace that gets the next slice.
    fn next_to_run(&mut self) -> Option<u32> {
        if self.config.dispatcher == Dispatcher::RoundRobin {
            return self.ready.pop_front();
        }
        let Config { scheduler, slice, .. } = self.config;
        let rank = |user: &u32| scheduler.rank(&self.users[*user as usize], *slice);
        let (place, _) = self.ready.iter().enumerate().min_by_key(|(_, user)| rank(user))?;
        self.ready.remove(place)
    }

    /// Ends an interval of the log's samples.
    fn sample(&mut self, now: Time) {
        if M::LISTENS {
            let users_active = self.users_active();
            let disk = (self.disk.busy(now), self.disk.begun());
            let row = sample_row(&mut self.measures, now, users_active, disk);
            self.monitor.sample(self.sampled, now.since(self.sampled), row);
        }
        self.sampled = now;
    }

    /// Users with an input in the system at some time since the last sample.
    fn users_active(&self) -> u64 {
        let active = |user: &&User| user.activity != Activity::Thinking || user.entered > self.sampled;
        self.users.iter().filter(active).count() as u64
    }

    /// Overhead and service of the slice in progress, so far.
    fn running_parts(&self, now: Time) -> (Span, Span) {
        self.running.map_or((Span::ZERO, Span::ZERO), |slice| {
            let so_far = now.since(slice.begun);
            let overhead = so_far.min(slice.overhead);
            (overhead, so_far - overhead)
        })
    }
}

impl<M: Monitor> Model for Machine<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        for user in 0..self.config.users {
            // All users think at the start, so that the books of the queues begin complete.
            self.measures.enter(Queue::Thinking, Time::ZERO);
            self.think(user, true, calendar);
        }
        if M::LISTENS {
            calendar.set(CLOCK, Time::ZERO + self.interval, Priority::Observation);
        }
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        let now = calendar.now();
        match calendar.far_index(slot) {
            Some(user) => {
                if self.users[user as usize].activity == Activity::Thinking {
                    self.input(user, now);
                } else {
                    self.event(now, "output_wait_end", user, None);
                    self.resume(user, Activity::Background, now);
                }
                self.cut_slice(calendar);
            }
            // After the input is in its queue: the slice's end looks for the next to run.
            None if slot == PROCESSOR => self.slice_ends(calendar),
            None if slot == DISK => {
                self.access_ends(calendar);
                self.cut_slice(calendar);
            }
            None => {
                self.sample(now);
                calendar.set(CLOCK, now + self.interval, Priority::Observation);
                return;
            }
        }
        self.supervise(calendar);
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        let now = calendar.now();
        let parts = self.running_parts(now);
        self.measures.restart(now, &self.users, parts);
        self.disk.restart_statistics(now);
        self.memory.restart_statistics(now);
        self.sampled = now;
    }
}
