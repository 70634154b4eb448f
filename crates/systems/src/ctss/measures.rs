//! Measures of a run, and the laws that must hold for it.

use thinktime_engine::{Balance, Batches, Busy, LawViolation, Laws, Level, Span, Tally, Time};

use super::config::Config;
use super::store::Kind;
use super::users::{Input, Job, Step, User};

/// Use of the processor other than running a user's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The background program runs.
    Background = 0,
    /// A program is read from the drum.
    SwapIn = 1,
    /// A program is written to the drum.
    SwapOut = 2,
    /// A command is read from the disk.
    CommandLoad = 3,
    /// Lines are typed or printed.
    Supervisor = 4,
    /// A program waits in core for its files.
    DiskWait = 5,
    /// No work.
    Idle = 6,
}

/// In the order of their numbers.
pub(super) const STATES: [State; 7] = [
    State::Background,
    State::SwapIn,
    State::SwapOut,
    State::CommandLoad,
    State::Supervisor,
    State::DiskWait,
    State::Idle,
];

impl State {
    /// State of the processor during a swap.
    pub fn of(kind: Kind) -> State {
        match kind {
            Kind::Dump => State::SwapOut,
            Kind::Load => State::SwapIn,
            Kind::Command => State::CommandLoad,
        }
    }
}

/// Events, and times that are not areas [ns].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Lines typed by users.
    pub inputs: u64,
    /// Inputs whose work is done.
    pub interactions: u64,
    /// Lines typed and printed.
    pub lines: u64,
    /// Reads from the drum.
    pub swap_ins: u64,
    /// Writes to the drum.
    pub swap_outs: u64,
    /// Commands read from the disk.
    pub command_loads: u64,
    /// Words of these transfers.
    pub swap_words: u64,
    /// Transfers between files and core.
    pub disk_transfers: u64,
    /// Programs chosen to run.
    pub turns: u64,
    /// Programs that gave way to one at a lower level.
    pub preemptions: u64,
    /// Completed interactions of scripted users.
    pub script_interactions: u64,
    /// Those of them that were waited for.
    pub script_waits: u64,
    /// Responses of these by the user's clock, added up [ns].
    pub script_response: u128,
    /// Run time of scripted users [ns].
    pub script_run: u128,
    /// Swap time of scripted users [ns].
    pub script_swap: u128,
    /// Swap time of the background [ns].
    pub background_swap: u128,
}

/// Everything that is measured as a run goes.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    /// When statistics began.
    pub since: Time,
    /// Sums since then.
    pub counts: Counts,
    /// Inputs in the system.
    pub interactions: Balance,
    /// Programs at each level, the running one included.
    levels: Vec<Balance>,
    /// Runs of users' programs.
    pub run: Busy,
    /// 1 while the processor is in each of [`STATES`].
    states: [Level; STATES.len()],
    /// Responses of all users who waited.
    pub response: Tally,
    /// Responses of scripted users by their clock.
    pub scripted: Tally,
    /// Those of heavy commands.
    pub heavy: Tally,
    /// Those of other commands.
    pub light: Tally,
    /// By interaction that is waited for.
    pub by_interaction: Vec<Tally>,
    /// Whole runs of the script.
    pub script: Tally,
    /// The series of all users' responses.
    pub batches: Batches,
    /// State at the last sample.
    pub sampled: Sampled,
}

/// Counts and areas when the last sample was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampled {
    /// Its time.
    pub at: Time,
    /// Counts.
    pub counts: Counts,
    /// Run time of users' programs [ns].
    pub run: u128,
    /// Time in each state [ns].
    pub states: [u128; STATES.len()],
    /// Area of inputs in the system [ns].
    pub present: u128,
}

impl Measures {
    pub fn new(config: &Config) -> Measures {
        let mut states = [Level::default(); STATES.len()];
        // Idle until the first activity: time adds up from the start.
        states[State::Idle as usize].set(Time::ZERO, 1);
        Measures {
            since: Time::ZERO,
            counts: Counts::default(),
            interactions: Balance::default(),
            levels: vec![Balance::default(); config.scheduler.levels as usize],
            run: Busy::default(),
            states,
            response: Tally::default(),
            scripted: Tally::default(),
            heavy: Tally::default(),
            light: Tally::default(),
            by_interaction: vec![Tally::default(); config.waiting],
            script: Tally::default(),
            batches: Batches::default(),
            sampled: Sampled::default(),
        }
    }

    /// The processor enters `state`.
    pub fn enters(&mut self, state: State, now: Time) {
        self.states[state as usize].add(now, 1);
    }

    /// The processor leaves `state`.
    pub fn leaves(&mut self, state: State, now: Time) {
        self.states[state as usize].subtract(now, 1);
    }

    /// Time spent in `state` [ns].
    pub fn area(&self, state: State, now: Time) -> u128 {
        self.states[state as usize].area(now)
    }

    /// Time spent swapping [ns].
    pub fn swap_area(&self, now: Time) -> u128 {
        [State::SwapIn, State::SwapOut, State::CommandLoad].map(|state| self.area(state, now)).iter().sum()
    }

    /// A program comes to `level`.
    pub fn enters_level(&mut self, level: u32, now: Time) {
        self.levels[level as usize].enter(now);
    }

    /// A program leaves its level.
    pub fn leaves_level(&mut self, job: &Job, now: Time) {
        self.levels[job.level as usize].leave(now, job.at_level);
    }

    /// Counts a swap.
    pub fn moved(&mut self, kind: Kind, words: u32) {
        self.counts.swap_words += u64::from(words);
        match kind {
            Kind::Dump => self.counts.swap_outs += 1,
            Kind::Load => self.counts.swap_ins += 1,
            Kind::Command => self.counts.command_loads += 1,
        }
    }

    /// The work of `input` is done; `by_clock` is its response by the clock of the user.
    pub fn completes(&mut self, input: &Input, step: &Step, scripted: bool, by_clock: Span, now: Time) {
        self.interactions.leave(now, input.arrived);
        self.run.complete(input.cpu);
        self.counts.interactions += 1;
        self.counts.script_interactions += u64::from(scripted);
        let Some(place) = step.waiting else { return };
        let response = now.since(input.arrived);
        self.response.record(response);
        self.batches.record(now, response);
        if scripted {
            self.counts.script_waits += 1;
            self.counts.script_response += u128::from(by_clock.0);
            self.scripted.record(by_clock);
            self.by_interaction[place].record(by_clock);
            if step.heavy { &mut self.heavy } else { &mut self.light }.record(by_clock);
        }
    }

    /// Checks that everything counted in two ways agrees; users are charged for all of their time so far.
    pub fn check(&self, now: Time, users: &[User], laws: &mut Laws) -> Result<(), LawViolation> {
        let inputs = users.iter().flat_map(User::inputs).map(|input| input.arrived);
        self.interactions.check("interactions", now, inputs, laws)?;
        for (level, balance) in self.levels.iter().enumerate() {
            let here = users.iter().filter_map(|user| user.job).filter(|job| job.level as usize == level);
            balance.check(&format!("level {level}"), now, here.map(|job| job.at_level), laws)?;
        }
        self.run.check("processor", now, received(users), laws)?;
        let run: u128 = users.iter().map(|user| user.run).sum();
        laws.equal("run time adds up by user", "processor", self.run.area(now), run)?;
        // Swaps of the background are charged to no user.
        let swap = users.iter().map(|user| user.swap).sum::<u128>() + self.counts.background_swap;
        let area = self.swap_area(now);
        laws.equal("swap time adds up by user", "processor", area, swap)?;
        let all = self.run.area(now) + self.states.iter().map(|state| state.area(now)).sum::<u128>();
        let length = u128::from(now.since(self.since).0);
        laws.equal("time adds up", "processor", all, length)
    }

    /// Statistics begin anew.
    pub fn restart(&mut self, now: Time, config: &Config, users: &[User]) {
        let mut fresh = Measures::new(config);
        fresh.since = now;
        fresh.interactions = self.interactions;
        fresh.interactions.restart(now);
        fresh.levels.clone_from(&self.levels);
        fresh.levels.iter_mut().for_each(|level| level.restart(now));
        fresh.run = self.run;
        fresh.run.restart(now, received(users));
        fresh.states = self.states;
        fresh.states.iter_mut().for_each(|state| state.restart(now));
        fresh.sampled.at = now;
        *self = fresh;
    }
}

/// Run time of the inputs that are not done [ns].
fn received(users: &[User]) -> u128 {
    users.iter().filter_map(|user| user.job).map(|job| u128::from(job.attained.0)).sum()
}
