//! The processor: the choice of its next work, the length of it, and the effect of its end.
//!
//! The processor's time is cut into [`Segment`]s: passes of the dispatcher, problem state time of a user, and the
//! service of CP that ends it. CP's own work (for a line that came in, spooling, log-ons) comes before all users.

use std::collections::VecDeque;

use thinktime_engine::drum::Drum;
use thinktime_engine::{
    Calendar, Component, LawViolation, Laws, Level, Model, Priority, Slot, Span, Stream, Streams, Time,
};

use super::config::Config;
use super::disks::Disks;
use super::dusetimr::{Counters, Readings};
use super::measures::Measures;
use super::printer::Printer;
use super::queues::{Queue, Queues};
use super::schedule::{Day, Stretch, Stretches};
use super::services::{KINDS, Kind, Paths, Work};
use super::storage::{Frame, Page, Storage};
use super::users::{self, End, OPERATOR, State, User};
use crate::kernel::{Monitor, Replication, Simulated};

/// Near slots of the calendar; each user has a far one, for actions of its owner at the terminal.
const PROCESSOR: Slot = Slot(0);
const DRUM: Slot = Slot(1);
/// Begin or end of a stretch.
pub(super) const START_STOP: Slot = Slot(2);
/// Crash of the system.
pub(super) const RESTART: Slot = Slot(3);
/// CP's base work.
pub(super) const SECOND: Slot = Slot(4);
/// DUSETIMR is started.
pub(super) const READING: Slot = Slot(5);
/// A possible log-on.
pub(super) const LOG_ON: Slot = Slot(6);
/// A block has been printed.
pub(super) const PRINTER: Slot = Slot(7);
/// A large activity begins.
pub(super) const ACTIVITY: Slot = Slot(8);
/// A piece of a large activity.
pub(super) const PIECE: Slot = Slot(9);
const DISKS: Slot = Slot(10);

/// A piece of work that CP does by itself.
#[derive(Clone, Copy, Debug)]
struct Chore {
    work: Work,
    /// User who is charged; none: the one who ran last.
    user: Option<u32>,
}

/// Work of the processor, from one decision to the next.
#[derive(Clone, Copy, Debug)]
struct Segment {
    begun: Time,
    /// Dispatcher's time by the kind of request that caused the passes [ns].
    dispatch: [u64; KINDS],
    /// Problem state time of a user, and how it ends; none: CP's own work.
    burst: Option<(u32, Span, End)>,
    /// CP time for privileged instructions in that problem state time.
    privileged: Span,
    /// The service of CP that ends it, if there is one.
    work: Option<Work>,
    /// User who is charged for it.
    charged: u32,
    /// Time of all this together.
    length: Span,
}

/// The whole simulated system: processor with CP, storage, drum and disks, the users, and the recorder's
/// readings.
pub(super) struct Machine<'a, M> {
    /// The configuration.
    pub(super) config: &'a Config,
    /// Users, the operator first.
    pub(super) users: Vec<User>,
    /// Users who may run, and those who wait to be admitted.
    pub(super) queues: Queues,
    /// Page frames by their holders.
    pub(super) storage: Storage,
    /// The paging drum.
    pub(super) drum: Drum<Page>,
    /// Spindles and channels of the users' virtual disks.
    pub(super) disks: Disks,
    /// CP's own work, in order of its arrival.
    chores: VecDeque<Chore>,
    /// Work in progress; none: the processor waits, or the machine is down.
    segment: Option<Segment>,
    /// Dispatcher passes to be made, by the kind of request after which they come.
    after: [u64; KINDS],
    /// Dispatcher time to be spent for interrupts, by kind of request [ns].
    interrupts: [u64; KINDS],
    /// User who ran last; none after a wait.
    last: Option<u32>,
    /// Whether the new FREE and FRET are in force today.
    pub(super) new_free_fret: bool,
    /// Current length of CP's paths, as a multiple of their mean.
    pub(super) paths: Paths,
    /// CP's counters, without the wait that is in progress.
    pub(super) counters: Counters,
    /// 1 while the processor waits, for CP's own counter.
    waiting: Level,
    /// That time when the system was started [ns].
    waited_at_start: u128,
    /// Time between two readings of DUSETIMR.
    pub(super) interval: Span,
    /// Readings of DUSETIMR.
    pub(super) readings: Readings,
    /// Whether DUSETIMR was started and has not yet read.
    pub(super) reading_due: bool,
    /// Those that follow.
    pub(super) stretches: Stretches,
    /// Stretch of time in which the machine is or will be up.
    pub(super) stretch: Option<Stretch>,
    /// Whether the machine is up.
    pub(super) is_up: bool,
    /// Whether the run has ended before its length.
    pub(super) over: bool,
    /// Factors of the current day.
    pub(super) day: Day,
    /// Files that wait for the printer.
    pub(super) printer: Printer,
    /// Large activities in progress: CP time that is left of each [ns].
    pub(super) pieces: VecDeque<u64>,
    /// Random numbers of CP's own work.
    pub(super) chance: Stream,
    /// Random numbers of log-ons, restarts and activities.
    pub(super) population: Stream,
    /// Source of the streams of days.
    pub(super) streams: Streams,
    /// Everything that is measured.
    pub(super) measures: Measures,
    /// Names of the users in the log.
    pub(super) labels: Vec<std::sync::Arc<str>>,
    /// Names of the classes in the log.
    pub(super) classes: Vec<std::sync::Arc<str>>,
    /// Receiver of events, interactions, samples and user rows.
    pub(super) monitor: &'a mut M,
}

impl<'a, M: Monitor> Simulated<'a, M> for Machine<'a, M> {
    fn calendar(config: &Config) -> Calendar {
        Calendar::new(DISKS.0 + config.disks.spindles, config.users)
    }

    fn new(config: &'a Config, replication: &Replication, monitor: &'a mut M) -> Self {
        let &Replication { streams, interval, .. } = replication;
        let stream = |name| streams.stream(Component(name), 0);
        let users: Vec<User> = (0..config.users).map(|user| User::new(&streams, user)).collect();
        Machine {
            config,
            storage: Storage::new(config.frames, users.len(), stream("cp67 steals")),
            users,
            queues: Queues::default(),
            drum: Drum::new(config.drum, DRUM, stream("cp67 drum")),
            disks: Disks::new(config.disks, DISKS, stream("cp67 disks")),
            chores: VecDeque::new(),
            segment: None,
            after: [0; KINDS],
            interrupts: [0; KINDS],
            last: None,
            new_free_fret: config.is_new(0),
            paths: Paths::default(),
            counters: Counters::default(),
            waiting: Level::default(),
            waited_at_start: 0,
            interval,
            readings: Readings::default(),
            reading_due: false,
            stretches: config.schedule.stretches(),
            stretch: None,
            is_up: false,
            over: false,
            day: Day::NONE,
            printer: Printer::default(),
            pieces: VecDeque::new(),
            chance: stream("cp67 CP"),
            population: stream("cp67 population"),
            streams,
            measures: Measures::default(),
            labels: users::labels(config.users),
            classes: users::class_labels(),
            monitor,
        }
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        let now = calendar.now();
        let measures = &self.measures;
        // The segment in progress is booked at its end, but its time has passed.
        let running = self.segment.map_or(0, |segment| now.since(segment.begun).0);
        let totals = &measures.totals;
        let busy = u128::from(totals.problem + totals.cp + measures.cut_short + running);
        let up = measures.up.area(now) + u128::from(measures.earlier);
        laws.equal("time adds up", "processor", busy + measures.waiting.area(now), up)?;
        let spent = &measures.spent;
        let cp: u128 = spent.iter().map(|spent| spent.cp + spent.dispatch).sum();
        laws.equal("time adds up by kind of request", "CP", cp, u128::from(totals.cp))?;
        let calls: u64 = spent.iter().map(|spent| spent.calls).sum();
        laws.equal("flow balance", "calls of FREE", calls, totals.calls)?;
        // Those whose owner thinks are not in the system.
        let inside =
            self.users.iter().filter(|user| user.is_signed_on() && !matches!(user.state, State::AtTerminal));
        measures.interactions.check("interactions", now, inside.map(|user| user.arrived), laws)?;
        self.storage.check(laws)?;
        self.drum.check(now, laws)?;
        self.disks.check(now, laws)
    }
}

impl<M: Monitor> Machine<'_, M> {
    /// Gives the processor to the next, if it is free.
    pub(super) fn dispatch(&mut self, calendar: &mut Calendar) {
        if self.segment.is_some() || !self.is_up {
            return;
        }
        let now = calendar.now();
        // CP's own work first: no virtual machine runs while it has some.
        let segment = if let Some(chore) = self.chores.pop_front() {
            let charged = chore.user.or(self.last).unwrap_or(OPERATOR);
            self.segment(now, [0; KINDS], None, Some(chore.work), charged)
        } else if let Some(user) = self.queues.next() {
            // The recording program runs in the operator's virtual machine: a reading is taken when that gets
            // the processor, not when it is due, so that readings are late under load.
            if user == OPERATOR && self.reading_due {
                self.take_reading(now);
            }
            self.run(user, now)
        } else {
            self.last = None;
            // Nobody runs: the next user will have to be found, whoever it is.
            let dispatch = self.passes(self.config.costs.find);
            if dispatch == [0; KINDS] {
                self.waits(now, 1);
                return;
            }
            self.segment(now, dispatch, None, None, OPERATOR)
        };
        self.waits(now, 0);
        calendar.set(PROCESSOR, now + segment.length, Priority::Completion);
        self.segment = Some(segment);
    }

    /// Sets whether the processor waits.
    fn waits(&mut self, now: Time, waiting: u64) {
        self.waiting.set(now, waiting);
        self.measures.waiting.set(now, waiting);
    }

    /// Makes the pending passes of the dispatcher, those after requests in time `each`; returns their times by kind
    /// [ns].
    fn passes(&mut self, each: Span) -> [u64; KINDS] {
        let mut dispatch = std::mem::take(&mut self.interrupts);
        for (time, passes) in dispatch.iter_mut().zip(std::mem::take(&mut self.after)) {
            *time += passes * each.0;
        }
        dispatch
    }

    /// A service ends: the dispatcher has to see who runs next.
    #[inline]
    fn ends(&mut self, kind: Kind) {
        self.after[kind as usize] += 1;
    }

    /// The interrupts of a request of this kind cost dispatcher time.
    #[inline]
    fn interrupt(&mut self, kind: Kind) {
        self.interrupts[kind as usize] += self.config.costs.interrupts(kind);
    }

    /// The segment of `user`: passes, a burst of problem state time, and the service that ends it.
    fn run(&mut self, user: u32, now: Time) -> Segment {
        let costs = &self.config.costs;
        let same = self.last == Some(user);
        // To run the same user again costs less than to search the queues.
        let dispatch = self.passes(if same { costs.redispatch } else { costs.find });
        self.last = Some(user);
        let held = self.storage.held(user);
        let running = &mut self.users[user as usize];
        running.first_service.get_or_insert(now);
        let (problem, end) = running.burst(held, self.config.line);
        let kind = match end {
            End::Vsio => Some(Kind::Vsio),
            End::PageException => Some(Kind::PageIo),
            End::Print | End::Output => Some(Kind::Vmio),
            End::Slice => None,
        };
        let work = kind.map(|kind| {
            // The end of the burst is CP's work for the same user, and is part of its segment: nobody comes
            // between.
            let complexity = self.paths.factor(kind) * running.task.complexity[kind as usize];
            costs.draw(kind, complexity, self.new_free_fret, running.work())
        });
        self.segment(now, dispatch, Some((user, problem, end)), work, user)
    }

    /// A segment of these parts, with its length.
    fn segment(
        &self,
        begun: Time,
        dispatch: [u64; KINDS],
        burst: Option<(u32, Span, End)>,
        work: Option<Work>,
        charged: u32,
    ) -> Segment {
        // Fixed when it begins: interrupts during a segment are served by the dispatcher's pass after it.
        let mut length = Span(dispatch.iter().sum());
        let mut privileged = Span::ZERO;
        if let Some((user, problem, _)) = burst {
            let complexity = self.users[user as usize].task.complexity[Kind::Problem as usize];
            let share = self.config.costs.privileged * self.paths.factor(Kind::Problem) * complexity;
            privileged = Span::from_nanoseconds(problem.0 as f64 * share);
            length = length + problem + privileged;
        }
        if let Some(work) = work {
            length += work.cp;
        }
        Segment { begun, dispatch, burst, privileged, work, charged, length }
    }

    /// Books the segment that has ended, and acts on its end.
    fn segment_ends(&mut self, calendar: &mut Calendar) {
        let Some(segment) = self.segment.take() else { return };
        let spent = &mut self.measures.spent;
        let dispatch: u64 = segment.dispatch.iter().sum();
        for (kind, passes) in segment.dispatch.iter().enumerate() {
            spent[kind].dispatch += u128::from(*passes);
        }
        let mut service = segment.privileged;
        spent[Kind::Problem as usize].cp += u128::from(segment.privileged.0);
        if let Some(work) = segment.work {
            service += work.cp;
            let spent = &mut spent[work.kind as usize];
            spent.requests += 1;
            spent.cp += u128::from(work.cp.0);
            spent.calls += work.calls;
            self.count(&work);
        }
        let problem = segment.burst.map_or(0, |(_, problem, _)| problem.0);
        for counters in [&mut self.counters, &mut self.measures.totals] {
            counters.problem += problem;
            counters.cp += service.0 + dispatch;
            counters.dispatch += dispatch;
        }
        match segment.burst {
            Some((user, problem, end)) => {
                // Charged before the burst is acted on: that decides by the time used.
                self.users[user as usize].burst_ends(problem, service);
                self.burst_ends(user, end, calendar);
            }
            None => {
                // Work for nobody in particular is charged to who ran last, whose time thus depends on the
                // others.
                self.users[segment.charged as usize].total += service.0;
                if let Some(work) =
                    segment.work.filter(|work| work.kind == Kind::SpoolIo || work.kind == Kind::Vmio)
                {
                    self.ends(work.kind);
                }
            }
        }
        self.dispatch(calendar);
    }

    /// Adds a service to CP's counters.
    fn count(&mut self, work: &Work) {
        let costs = self.config.costs.free_fret(self.new_free_fret);
        for counters in [&mut self.counters, &mut self.measures.totals] {
            match work.kind {
                Kind::Vsio => counters.vsio += 1,
                Kind::Vmio => counters.vmio += 1,
                Kind::SpoolIo => counters.spool_ios += 1,
                // Counted as they are asked for, in or out.
                Kind::PageIo | Kind::Problem | Kind::Base | Kind::Unmeasured => {}
            }
            counters.calls += work.calls;
            counters.free += work.calls * costs.free.0;
            counters.fret += work.calls * costs.fret.0;
        }
    }

    /// Acts on the end of a burst of problem state time.
    fn burst_ends(&mut self, user: u32, end: End, calendar: &mut Calendar) {
        match end {
            End::Vsio => {
                self.ends(Kind::Vsio);
                self.users[user as usize].state = State::WaitingForDisk;
                self.disks.ask(self.users[user as usize].spindle, user, calendar);
            }
            End::PageException => self.page_exception(user, calendar),
            End::Slice => {
                self.ends(Kind::Problem);
                self.continues(user);
            }
            End::Print => {
                self.line_ends();
                self.line_is_printed(user);
                self.continues(user);
            }
            End::Output => {
                self.line_ends();
                self.users[user as usize].output_lines -= 1;
                if self.users[user as usize].output_lines > 0 {
                    self.continues(user);
                } else {
                    self.interaction_ends(user, calendar);
                }
            }
        }
    }

    fn line_ends(&mut self) {
        self.ends(Kind::Vmio);
        self.interrupt(Kind::Vmio);
    }

    /// The user can run on: at once, after the others of its queue, or after it has been admitted again.
    fn continues(&mut self, user: u32) {
        let limits = &self.config.limits;
        let running = &mut self.users[user as usize];
        let queue = running.queue;
        if running.slice > Span::ZERO {
            // The slice is not used up: whoever was interrupted goes on first.
            self.queues.continues(user, queue);
        } else if running.queue_cpu < limits.cpu[queue as usize] {
            running.slice = limits.slice;
            self.queues.ready(user, queue);
        } else {
            self.leaves_queue(user);
            // Who used up the time of a queue is no longer interactive, whichever queue it was.
            self.becomes_eligible(user, Queue::Batch);
        }
    }

    /// `user` leaves its queue; its pages may be taken.
    pub(super) fn leaves_queue(&mut self, user: u32) {
        // Its pages stay: they are the first that are taken, but a user who comes back soon finds them.
        self.queues.drop(self.users[user as usize].queue);
        self.storage.leaves_queue(user);
    }

    /// `user` waits to be admitted to `queue`.
    pub(super) fn becomes_eligible(&mut self, user: u32, queue: Queue) {
        self.users[user as usize].state = State::Eligible;
        self.queues.wants(user, queue);
        self.admit();
    }

    /// Admits users to the queues while there is room.
    pub(super) fn admit(&mut self) {
        let limits = &self.config.limits;
        while let Some((user, queue)) = self.queues.admit(limits) {
            let admitted = &mut self.users[user as usize];
            (admitted.state, admitted.queue) = (State::Runnable, queue);
            (admitted.queue_cpu, admitted.slice) = (Span::ZERO, limits.slice);
            self.storage.enters_queue(user);
        }
    }

    /// A page of `user` is missing: takes a frame and asks the drum for the page.
    fn page_exception(&mut self, user: u32, calendar: &mut Calendar) {
        self.users[user as usize].state = State::WaitingForPage;
        self.ends(Kind::PageIo);
        let wanted = self.users[user as usize].task.working_set;
        // The frame is taken at the exception, not when the page comes: nobody else can be promised it.
        let frame = self.storage.take(user, wanted);
        let changed =
            frame != Frame::Free && self.users[user as usize].work().uniform() < self.config.changed_share;
        let steals = u64::from(frame == Frame::Stolen);
        for counters in [&mut self.counters, &mut self.measures.totals] {
            counters.page_ins += 1;
            counters.page_outs += u64::from(changed);
            counters.page_steals += steals;
        }
        if changed {
            let complexity = self.paths.factor(Kind::PageIo)
                * self.users[user as usize].task.complexity[Kind::PageIo as usize];
            let new = self.new_free_fret;
            let work =
                self.config.costs.draw(Kind::PageIo, complexity, new, self.users[user as usize].work());
            self.chores.push_back(Chore { work, user: Some(user) });
        }
        // A changed page goes out first: the page that is wanted is asked for when that is written.
        self.drum.ask(Page { user, out: changed }, calendar);
    }

    /// A page has come in, or has been written out.
    fn page_is_done(&mut self, page: Page, calendar: &mut Calendar) {
        self.interrupt(Kind::PageIo);
        let user = page.user;
        if page.out {
            self.drum.ask(Page { user, out: false }, calendar);
            self.dispatch(calendar);
            return;
        }
        // Held from now on, and not from the exception: a page on its way cannot be stolen.
        self.storage.filled(user);
        self.is_ready(user, calendar);
    }

    fn is_ready(&mut self, user: u32, calendar: &mut Calendar) {
        let waiting = &mut self.users[user as usize];
        waiting.state = State::Runnable;
        self.queues.ready(user, waiting.queue);
        self.dispatch(calendar);
    }

    /// CP has `kind` of work to do by itself; `user`'s task says how complex it is, and is charged.
    pub(super) fn chore(&mut self, kind: Kind, user: Option<u32>) {
        let complexity = user.map_or(1.0, |user| self.users[user as usize].task.complexity[kind as usize]);
        let work = self.config.costs.draw(
            kind,
            self.paths.factor(kind) * complexity,
            self.new_free_fret,
            &mut self.chance,
        );
        self.interrupt(kind);
        self.chores.push_back(Chore { work, user });
    }

    /// A piece of work that nobody counts.
    pub(super) fn unmeasured(&mut self, cp: Span) {
        let work = Work { kind: Kind::Unmeasured, cp, calls: 0 };
        self.chores.push_back(Chore { work, user: None });
    }

    /// CP's counters as a reading at `now` finds them.
    pub(super) fn counters_at(&self, now: Time) -> Counters {
        let waited = self.waiting.area(now) - self.waited_at_start;
        Counters { wait: waited as u64, ..self.counters }
    }

    /// The machine is up, with counters at zero.
    pub(super) fn processor_starts(&mut self, now: Time) {
        self.is_up = true;
        self.counters = Counters::default();
        self.measures.up.set(now, 1);
        self.waited_at_start = self.waiting.area(now);
    }

    /// The machine stops where it is.
    pub(super) fn processor_stops(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        if let Some(segment) = self.segment.take() {
            // A crash in the middle: the time was used and belongs to no request, but must be in the sum.
            self.measures.cut_short += now.since(segment.begun).0;
            calendar.clear(PROCESSOR);
        }
        self.is_up = false;
        self.measures.up.set(now, 0);
        self.waits(now, 0);
        self.chores.clear();
        (self.after, self.interrupts) = ([0; KINDS], [0; KINDS]);
        self.last = None;
        // Nothing in the queues survives a stop.
        self.queues.clear();
        self.storage.clear();
        self.drum.stop(calendar);
        self.disks.stop(calendar);
    }

    /// A user who has signed off is not the one who ran last.
    pub(super) fn forget(&mut self, user: u32) {
        self.last = self.last.filter(|last| *last != user);
    }
}

impl<M: Monitor> Model for Machine<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        self.next_stretch(calendar);
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        if let Some(user) = calendar.far_index(slot) {
            return self.at_terminal(user, calendar);
        }
        match slot {
            PROCESSOR => self.segment_ends(calendar),
            DRUM => {
                if let Some(page) = self.drum.due(calendar) {
                    self.page_is_done(page, calendar);
                }
            }
            START_STOP => self.starts_or_stops(calendar),
            RESTART => self.crashes(calendar),
            SECOND => self.second(calendar),
            READING => self.reading_is_due(calendar),
            LOG_ON => self.user_arrives(calendar),
            PRINTER => self.block_is_printed(calendar),
            ACTIVITY => self.large_activity(calendar),
            PIECE => self.next_piece(calendar),
            _ => {
                if let Some(user) = self.disks.due(slot.0 - DISKS.0, calendar) {
                    self.interrupt(Kind::Vsio);
                    self.is_ready(user, calendar);
                }
            }
        }
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        let now = calendar.now();
        self.drum.restart_statistics(now);
        self.disks.restart_statistics(now);
        self.measures.restart(now, self.segment.map_or(0, |segment| now.since(segment.begun).0));
    }

    fn is_over(&self) -> bool {
        self.over
    }
}
