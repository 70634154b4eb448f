//! The machine as it runs: the effect of each event.
//!
//! The processor does one thing at a time: it supervises, swaps, runs a program, waits for a transfer of that program,
//! runs the background, or idles. When one has ended it turns to the next.

use std::collections::VecDeque;

use thinktime_engine::{
    Batches, Calendar, Component, LawViolation, Laws, Model, Priority, Slot, Span, Stream, Time,
};

use super::config::Config;
use super::levels::Levels;
use super::measures::{Measures, State};
use super::responses::{RunTotals, sample_row};
use super::store::{BACKGROUND, Kind, Move, Store};
use super::users::{Input, Job, Program, Stop, User};
use crate::kernel::{Accounted, Amount, Interaction, Monitor, Replication, Simulated};

/// Near slots of the calendar; each user has a far one, for the end of thinking.
pub(super) const PROCESSOR: Slot = Slot(0);
const CLOCK: Slot = Slot(1);
/// Number of near slots.
pub(super) const NEAR_SLOTS: u32 = 2;

/// Users come within a minute from the start.
const COMING: Span = Span(60_000_000_000);

/// Work of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// None, and no background either.
    Idle,
    /// Lines typed and printed.
    Supervise,
    /// It waits while words are moved.
    Swap(Move),
    /// It runs the program of this user.
    Run(u32),
    /// The program of this user waits in core for the disk.
    Transfer(u32),
    /// It runs the background program.
    Background,
}

impl Activity {
    /// State in which its time is measured, unless it runs a user's program.
    fn state(self) -> Option<State> {
        match self {
            Activity::Idle => Some(State::Idle),
            Activity::Supervise => Some(State::Supervisor),
            Activity::Swap(moved) => Some(State::of(moved.kind)),
            Activity::Transfer(_) => Some(State::DiskWait),
            Activity::Background => Some(State::Background),
            Activity::Run(_) => None,
        }
    }

    /// Names of its first and last event in the log, and its user.
    fn events(self) -> Option<([&'static str; 2], Option<u32>)> {
        match self {
            Activity::Idle | Activity::Supervise => None,
            Activity::Swap(moved) => {
                let names = match moved.kind {
                    Kind::Dump => ["swap_out_start", "swap_out_end"],
                    Kind::Load => ["swap_in_start", "swap_in_end"],
                    Kind::Command => ["command_load_start", "command_load_end"],
                };
                Some((names, Some(moved.owner).filter(|owner| *owner != BACKGROUND)))
            }
            Activity::Run(user) => Some((["run_start", "run_end"], Some(user))),
            Activity::Transfer(user) => Some((["disk_transfer_start", "disk_transfer_end"], Some(user))),
            Activity::Background => Some((["background_start", "background_end"], None)),
        }
    }
}

/// The whole simulated system: one processor, core for one program at a time, drum, disk and the users.
pub(super) struct Machine<'a, M> {
    /// The configuration.
    config: &'a Config,
    /// Users and their programs.
    pub(super) users: Vec<User>,
    /// Programs that wait for their turn.
    levels: Levels,
    /// Words of programs in core.
    store: Store,
    /// User whose program has been chosen to run.
    chosen: Option<u32>,
    /// Swaps to be made before that program, or the background, can run.
    moves: VecDeque<Move>,
    /// Supervisor time that is to be spent.
    chores: Span,
    /// Current work.
    activity: Activity,
    /// Time up to which that work is charged.
    since: Time,
    /// Random numbers of swaps.
    swap_chance: Stream,
    /// Random numbers of transfers to and from files.
    disk_chance: Stream,
    /// Everything that is measured.
    pub(super) measures: Measures,
    /// Length of an interval of the log's samples.
    interval: Span,
    /// Receiver of events, interactions and samples.
    monitor: &'a mut M,
}

impl<'a, M: Monitor> Simulated<'a, M> for Machine<'a, M> {
    fn calendar(config: &Config) -> Calendar {
        Calendar::new(NEAR_SLOTS, config.users)
    }

    fn new(config: &'a Config, replication: &Replication, monitor: &'a mut M) -> Self {
        let &Replication { streams, interval, .. } = replication;
        Machine {
            config,
            users: (0..config.users)
                .map(|user| User::new(&streams, user, config.is_scripted(user)))
                .collect(),
            levels: Levels::new(config.scheduler.levels),
            store: Store::new(config.core, config.partial_swap),
            chosen: None,
            moves: VecDeque::new(),
            chores: Span::ZERO,
            activity: Activity::Idle,
            since: Time::ZERO,
            swap_chance: streams.stream(Component("swap"), 0),
            disk_chance: streams.stream(Component("disk"), 0),
            measures: Measures::new(config),
            interval,
            monitor,
        }
    }

    fn finish(&mut self, calendar: &mut Calendar, laws: &mut Laws) -> Result<(), LawViolation> {
        let now = calendar.now();
        if now > self.measures.sampled.at {
            self.sample(now);
        }
        for user in 0..self.config.users {
            self.report(user, None);
            self.report_waiting(user);
        }
        self.store.check(laws)?;
        self.measures.check(now, &self.users, laws)
    }
}

impl<M: Monitor> Accounted for Machine<'_, M> {
    type Configuration = Config;

    fn totals(&self, now: Time) -> RunTotals<'_> {
        RunTotals { measures: &self.measures, now }
    }

    fn batches(&self) -> &Batches {
        &self.measures.batches
    }
}

impl<M: Monitor> Machine<'_, M> {
    fn event(&mut self, now: Time, kind: &'static str, user: Option<u32>, amount: Option<Amount>) {
        if M::LISTENS {
            self.monitor.event(now, kind, user, amount);
        }
    }

    /// `user` thinks from `from` on, and then types a line.
    fn thinks(&mut self, user: u32, from: Time, calendar: &mut Calendar) {
        let typed = self.users[user as usize].thinks(&self.config.steps, &self.config.normal_think, from);
        calendar.set(calendar.far(user), typed, Priority::Arrival);
    }

    /// A line has been typed.
    fn input(&mut self, user: u32, calendar: &mut Calendar) {
        let (now, config) = (calendar.now(), self.config);
        let typing = &mut self.users[user as usize];
        let demand = if typing.scripted { 1.0 } else { config.normal_demand };
        let input = typing.types(&config.steps, demand, config.core, now);
        self.measures.interactions.enter(now);
        self.measures.counts.inputs += 1;
        self.lines(1);
        self.event(now, "input", Some(user), None);
        if self.users[user as usize].job.is_some() {
            self.users[user as usize].waiting.push_back(input);
        } else {
            self.takes_up(user, input, now);
        }
        if config.steps[input.step].waiting.is_none() {
            self.thinks(user, now, calendar);
        }
        self.disturb(calendar);
    }

    /// Lines typed or printed cost supervisor time.
    fn lines(&mut self, lines: u32) {
        self.measures.counts.lines += u64::from(lines);
        self.chores += self.config.line_overhead.times(u64::from(lines));
    }

    /// The scheduler gets an input: for the program that waits for it, or for one that comes from the disk.
    fn takes_up(&mut self, user: u32, input: Input, now: Time) {
        let step = &self.config.steps[input.step];
        let asking = &mut self.users[user as usize];
        // A program that waits for its next line goes on where it is; any other command replaces it.
        let there = asking.program.take().filter(|program| step.goes_on && program.command == step.command);
        let fresh = there.is_none();
        if fresh {
            self.store.forget(user);
        }
        // The old program is dropped without being written to the drum: nobody will ask for it again.
        let program = there.unwrap_or_else(|| Program { command: step.command.clone(), words: input.words });
        // By size: a large program waits longer and then runs longer, so that swapping it pays.
        let level = self.config.scheduler.entry(program.words);
        asking.program = Some(program);
        asking.job = Some(Job {
            input,
            first_service: None,
            attained: Span::ZERO,
            level,
            at_level: now,
            had: Span::ZERO,
            stint: Span::ZERO,
            transfers: 0,
            fresh,
        });
        self.measures.enters_level(level, now);
        self.levels.push_tail(level, user);
    }

    /// A program has come: the running one may have to give way.
    fn disturb(&mut self, calendar: &mut Calendar) {
        match self.activity {
            Activity::Idle | Activity::Background => {
                self.end(calendar.now());
                self.proceed(calendar);
            }
            Activity::Run(user) => {
                self.charge(calendar.now());
                // The program runs on, but the newcomer may have shortened its turn.
                let limit = self.limit(user);
                calendar.set(PROCESSOR, calendar.now() + limit, Priority::Completion);
            }
            // None of these is interrupted: the newcomer is looked at when they end.
            Activity::Supervise | Activity::Swap(_) | Activity::Transfer(_) => {}
        }
    }

    /// Longest time for which `user`'s program may continue now.
    fn limit(&self, user: u32) -> Span {
        let running = &self.users[user as usize];
        let (Some(job), Some(program)) = (&running.job, &running.program) else { return Span::ZERO };
        let scheduler = &self.config.scheduler;
        let left = |turn: Span, had: Span| Span(turn.0.saturating_sub(had.0));
        let turn = left(scheduler.turn(job.level), job.had);
        let stop = job.next_stop(program.words).0;
        match scheduler.until_preempted(job.level, self.levels.lowest()) {
            Some(stint) => turn.min(stop).min(left(stint, job.stint)),
            None => turn.min(stop),
        }
    }

    /// The processor begins an activity.
    fn begin(&mut self, activity: Activity, now: Time) {
        self.activity = activity;
        self.since = now;
        match activity.state() {
            Some(state) => self.measures.enters(state, now),
            None => self.measures.run.begin(now),
        }
        if let Some(([start, _], user)) = activity.events() {
            self.event(now, start, user, None);
        }
    }

    /// The processor ends its activity; another follows at once.
    fn end(&mut self, now: Time) {
        self.charge(now);
        match self.activity.state() {
            Some(state) => self.measures.leaves(state, now),
            None => self.measures.run.end(now),
        }
        if let Some(([_, end], user)) = self.activity.events() {
            self.event(now, end, user, None);
        }
    }

    /// Charges the time of the activity so far to its user.
    fn charge(&mut self, now: Time) {
        let time = now.since(self.since);
        self.since = now;
        match self.activity {
            Activity::Run(user) => {
                let charged = &mut self.users[user as usize];
                charged.run += u128::from(time.0);
                if charged.scripted {
                    self.measures.counts.script_run += u128::from(time.0);
                }
                if let Some(job) = &mut charged.job {
                    job.attained += time;
                    job.had += time;
                    job.stint += time;
                }
            }
            Activity::Swap(Move { owner: BACKGROUND, .. }) => {
                self.measures.counts.background_swap += u128::from(time.0);
            }
            Activity::Swap(moved) => {
                let charged = &mut self.users[moved.owner as usize];
                charged.swap += u128::from(time.0);
                if charged.scripted {
                    self.measures.counts.script_swap += u128::from(time.0);
                }
            }
            _ => {}
        }
    }

    /// The processor begins its next activity.
    fn proceed(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        let (activity, length) = self.next(now);
        self.begin(activity, now);
        if let Some(length) = length {
            calendar.set(PROCESSOR, now + length, Priority::Completion);
        }
    }

    /// Next activity, and its length; none: until something happens.
    fn next(&mut self, now: Time) -> (Activity, Option<Span>) {
        if self.chores > Span::ZERO {
            // Lines typed meanwhile cost supervisor time, which comes before any program.
            return (Activity::Supervise, Some(std::mem::take(&mut self.chores)));
        }
        loop {
            // Dumps before the load, in the order in which they were asked for: one transfer at a time.
            if let Some(moved) = self.moves.pop_front() {
                return (Activity::Swap(moved), Some(self.swap_time(moved)));
            }
            if let Some(user) = self.chosen {
                if let Some(job) = &mut self.users[user as usize].job {
                    // Swaps before it are waiting time: service begins when the program first runs.
                    job.first_service.get_or_insert(now);
                }
                return (Activity::Run(user), Some(self.limit(user)));
            }
            self.chosen = self.levels.take();
            match self.chosen {
                Some(user) => self.call_in(user),
                None if !self.config.background => return (Activity::Idle, None),
                None => {
                    // The background job is swapped like a program; it needs no moves if it is in core still.
                    self.make_ready(BACKGROUND, self.config.background_words, Kind::Load);
                    if self.moves.is_empty() {
                        return (Activity::Background, None);
                    }
                }
            }
        }
    }

    /// Length of a swap.
    fn swap_time(&mut self, moved: Move) -> Span {
        self.measures.moved(moved.kind, moved.words);
        match moved.kind {
            Kind::Dump | Kind::Load => self.config.swapper.transfer(moved.words, &mut self.swap_chance),
            Kind::Command => self.config.disk.transfer(moved.words, &mut self.swap_chance),
        }
    }

    /// The program of `user` is to run: gets it into core.
    fn call_in(&mut self, user: u32) {
        self.measures.counts.turns += 1;
        let called = &mut self.users[user as usize];
        let (Some(job), Some(program)) = (&mut called.job, &called.program) else { return };
        job.stint = Span::ZERO;
        // A new command comes from the disk; later turns find the program on the drum.
        let kind = if std::mem::take(&mut job.fresh) { Kind::Command } else { Kind::Load };
        let words = program.words;
        self.make_ready(user, words, kind);
    }

    /// Gets `words` words of a program into core.
    fn make_ready(&mut self, owner: u32, words: u32, kind: Kind) {
        self.moves.extend(self.store.make_room(owner, words));
        let missing = self.store.fill(owner, words);
        if missing > 0 {
            self.moves.push_back(Move { owner, words: missing, kind });
        }
    }

    /// The current activity has ended.
    fn activity_ends(&mut self, calendar: &mut Calendar) {
        let ended = self.activity;
        self.end(calendar.now());
        match ended {
            Activity::Run(user) => {
                if let Some(transfer) = self.stops(user, calendar) {
                    self.begin(Activity::Transfer(user), calendar.now());
                    return calendar.set(PROCESSOR, calendar.now() + transfer, Priority::Completion);
                }
            }
            Activity::Transfer(user) => {
                if let Some(job) = &mut self.users[user as usize].job {
                    job.transfers += 1;
                }
                self.measures.counts.disk_transfers += 1;
            }
            _ => {}
        }
        self.proceed(calendar);
    }

    /// Time for which a program that has stopped waits in core for a transfer, if that is why.
    fn stops(&mut self, user: u32, calendar: &mut Calendar) -> Option<Span> {
        let now = calendar.now();
        let stopped = &mut self.users[user as usize];
        let (Some(job), Some(program)) = (&mut stopped.job, &mut stopped.program) else { return None };
        let scheduler = &self.config.scheduler;
        let (left, stop) = job.next_stop(program.words);
        let (level, to_head) = if left == Span::ZERO {
            match stop {
                Stop::Done => {
                    self.completes(user, calendar);
                    return None;
                }
                Stop::Transfer => {
                    return Some(self.config.files.transfer(self.config.record_words, &mut self.disk_chance));
                }
                Stop::Resize => {
                    let old = std::mem::replace(&mut program.words, job.input.words);
                    (scheduler.changed(job.level, old, program.words), false)
                }
            }
        // The turn is used up: a level higher, with a turn twice as long.
        } else if job.had >= scheduler.turn(job.level) {
            (scheduler.next(job.level), false)
        } else {
            self.measures.counts.preemptions += 1;
            // Pre-empted: back to the head of its level, with what is left of its turn.
            (job.level, true)
        };
        self.chosen = None;
        if to_head {
            self.levels.push_head(level, user);
        } else {
            self.measures.leaves_level(job, now);
            (job.level, job.at_level, job.had) = (level, now, Span::ZERO);
            self.measures.enters_level(level, now);
            self.levels.push_tail(level, user);
        }
        None
    }

    /// The work of an input is done.
    fn completes(&mut self, user: u32, calendar: &mut Calendar) {
        let (now, config) = (calendar.now(), self.config);
        self.chosen = None;
        self.report(user, Some(now));
        let done = &mut self.users[user as usize];
        let Some(job) = done.job.take() else { return };
        let (input, scripted) = (job.input, done.scripted);
        let step = &config.steps[input.step];
        let response = self.by_the_clock(now) - self.by_the_clock(input.arrived);
        self.measures.leaves_level(&job, now);
        self.measures.completes(&input, step, scripted, response, now);
        if let Some(began) = input.began {
            // Only whole runs of the script since statistics began: a part would be too short.
            if input.step + 1 == config.steps.len() && began >= self.measures.since {
                self.measures.script.record(now.since(began));
            }
        }
        self.event(now, "completion", Some(user), None);
        self.lines(input.lines);
        if !step.stays {
            self.users[user as usize].program = None;
            self.store.forget(user);
        }
        // Lines typed ahead are taken up before the user thinks.
        if let Some(next) = self.users[user as usize].waiting.pop_front() {
            self.takes_up(user, next, now);
        }
        if step.waiting.is_some() {
            // The user waits until the answer has been typed; thinking begins then.
            let typing = config.line_time.times(u64::from(input.lines));
            self.thinks(user, now + typing, calendar);
        }
    }

    /// Time as the clock of a scripted user shows it.
    fn by_the_clock(&self, time: Time) -> Span {
        match self.config.clock_resolution.0 {
            // No resolution: an exact clock.
            0 => Span(time.0),
            // Cut, not rounded: a clock shows the last step that it has reached.
            step => Span(time.0 / step * step),
        }
    }

    /// Reports the interaction of `user`; without `completion`, one that the end of the run cuts short.
    fn report(&mut self, user: u32, completion: Option<Time>) {
        if !M::LISTENS {
            return;
        }
        let Some(job) = &self.users[user as usize].job else { return };
        let input = &job.input;
        self.monitor.interaction(&Interaction {
            user,
            class: self.config.steps[input.step].command.clone(),
            think: input.think,
            arrival: input.arrived,
            first_service: job.first_service,
            first_output: completion,
            completion,
            service: job.attained,
            waited: self.config.steps[input.step].waiting.is_some(),
        });
    }

    /// Ends an interval of the log's samples.
    fn sample(&mut self, now: Time) {
        self.charge(now);
        let start = self.measures.sampled.at;
        if M::LISTENS {
            let active =
                self.users.iter().filter(|user| user.active || user.inputs().next().is_some()).count();
            let row = sample_row(&mut self.measures, now, self.config.users, active as u64);
            self.monitor.sample(start, now.since(start), row);
        }
        self.users.iter_mut().for_each(|user| user.active = false);
        self.measures.sampled.at = now;
    }

    /// Reports inputs on which no work has begun.
    fn report_waiting(&mut self, user: u32) {
        for place in 0..self.users[user as usize].waiting.len() {
            if M::LISTENS {
                let input = &self.users[user as usize].waiting[place];
                self.monitor.interaction(&Interaction {
                    user,
                    class: self.config.steps[input.step].command.clone(),
                    think: input.think,
                    arrival: input.arrived,
                    first_service: None,
                    first_output: None,
                    completion: None,
                    service: Span::ZERO,
                    waited: self.config.steps[input.step].waiting.is_some(),
                });
            }
        }
    }
}

impl<M: Monitor> Model for Machine<'_, M> {
    fn start(&mut self, calendar: &mut Calendar) {
        for user in 0..self.config.users {
            // Spread over a minute, or all scripts would keep step with each other.
            let comes = self.users[user as usize].arrives(COMING);
            self.thinks(user, comes, calendar);
        }
        self.end(Time::ZERO);
        self.proceed(calendar);
        if M::LISTENS {
            calendar.set(CLOCK, Time::ZERO + self.interval, Priority::Observation);
        }
    }

    fn handle(&mut self, slot: Slot, calendar: &mut Calendar) {
        match calendar.far_index(slot) {
            Some(user) => self.input(user, calendar),
            None if slot == PROCESSOR => self.activity_ends(calendar),
            None => {
                self.sample(calendar.now());
                calendar.set(CLOCK, calendar.now() + self.interval, Priority::Observation);
            }
        }
    }

    fn restart_statistics(&mut self, calendar: &Calendar) {
        let now = calendar.now();
        self.charge(now);
        // What the activity had so far belongs to the time before, and must be charged there.
        for user in &mut self.users {
            (user.run, user.swap, user.active) = (0, 0, false);
        }
        self.measures.restart(now, self.config, &self.users);
    }
}
