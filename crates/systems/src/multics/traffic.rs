//! The traffic controller: who may run, and who runs next.
//!
//! Processes that want to run wait in queues by level; the first of the first queue that is not empty becomes eligible
//! when there is room for one more, and holds on to that until its quantum is used up, which puts it at the end of the
//! queue of the next level, or until it has answered its user. Eligible processes come by level, and within a level
//! either the one whose page came last, or the one that became eligible first.

use std::collections::{BTreeSet, VecDeque};

use thinktime_engine::{Level, Stream, Time};

/// Limit on eligible processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Eligibility {
    /// This number; a fraction is the probability of one more, drawn anew whenever a process ceases to be eligible.
    Number(f64),
    /// As many as have estimated working sets that fit into this many pages together, but at least two.
    WorkingSets(f64),
}

/// Order of the eligible processes of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The one that has been eligible for longest first.
    FirstEligible,
    /// A process that returns from a wait for a page goes on at once.
    LastReady,
}

/// Place of an eligible process in the order: its level, and its turn in it.
type Rank = (u32, u64);

/// Processes that wait to become eligible, and those that are.
#[derive(Debug)]
pub(super) struct Traffic {
    eligibility: Eligibility,
    order: Order,
    /// By level, the first come first.
    waiting: Vec<VecDeque<u32>>,
    /// Eligible processes that can run, in their order.
    ready: BTreeSet<(Rank, u32)>,
    /// By process; none while it is not eligible.
    ranks: Vec<Option<Rank>>,
    /// Working sets of the processes as estimated when they last ceased to be eligible [page].
    estimates: Vec<f64>,
    /// Turns given so far.
    turns: u64,
    /// Whether one more than the whole part of the number may be eligible now.
    one_more: bool,
    /// Sum of the estimates of the eligible processes [page].
    working_sets: f64,
    /// Eligible processes.
    pub eligible: Level,
    stream: Stream,
}

/// Estimate for a process that was never eligible [page].
const FIRST_ESTIMATE: f64 = 32.0;
// Fewer than two would leave the processor idle during every wait for a page.
/// Processes that are eligible however large their working sets are.
const FEWEST: u64 = 2;

impl Traffic {
    pub fn new(
        eligibility: Eligibility,
        order: Order,
        levels: usize,
        processes: usize,
        stream: Stream,
    ) -> Traffic {
        let mut traffic = Traffic {
            eligibility,
            order,
            waiting: vec![VecDeque::new(); levels],
            ready: BTreeSet::new(),
            ranks: vec![None; processes],
            estimates: vec![FIRST_ESTIMATE; processes],
            turns: 0,
            one_more: false,
            working_sets: 0.0,
            eligible: Level::default(),
            stream,
        };
        traffic.draw();
        traffic
    }

    /// Draws whether one more process may be eligible.
    fn draw(&mut self) {
        if let Eligibility::Number(number) = self.eligibility {
            // On average the limit is the number itself: 4.5 is 4 or 5, as likely.
            self.one_more = self.stream.uniform() < number.fract();
        }
    }

    /// `process` wants to run, at the end of the queue of `level`.
    pub fn wants(&mut self, process: u32, level: usize) {
        let level = level.min(self.waiting.len() - 1);
        self.waiting[level].push_back(process);
    }

    /// True if `process` can become eligible now.
    fn has_room(&self, process: u32) -> bool {
        let eligible = self.eligible.value();
        match self.eligibility {
            Eligibility::Number(number) => eligible < number as u64 + u64::from(self.one_more),
            Eligibility::WorkingSets(pages) => {
                eligible < FEWEST || self.working_sets + self.estimates[process as usize] <= pages
            }
        }
    }

    /// Process that becomes eligible, if there is room for the next one. It is ready.
    pub fn award(&mut self, now: Time) -> Option<u32> {
        let level = self.waiting.iter().position(|queue| !queue.is_empty())?;
        // Only the first of the lowest level is looked at: one with a small working set does not pass it.
        let process = *self.waiting[level].front()?;
        if !self.has_room(process) {
            return None;
        }
        self.waiting[level].pop_front();
        self.turns += 1;
        self.ranks[process as usize] = Some((level as u32, self.turns));
        // The estimate at the award counts until the process loses eligibility, whatever it uses meanwhile.
        self.working_sets += self.estimates[process as usize];
        self.eligible.add(now, 1);
        self.ready(process);
        Some(process)
    }

    /// An eligible process ceases to be eligible, having used `pages` pages.
    pub fn loses(&mut self, process: u32, pages: f64, now: Time) {
        self.ranks[process as usize] = None;
        self.working_sets -= self.estimates[process as usize];
        // After the old estimate was taken off the sum: the sum holds what was added at the award.
        self.estimates[process as usize] = pages;
        self.eligible.subtract(now, 1);
        self.draw();
    }

    /// An eligible process can run again.
    pub fn ready(&mut self, process: u32) {
        if self.order == Order::LastReady {
            self.turns += 1;
            if let Some((_, turn)) = &mut self.ranks[process as usize] {
                // The later, the smaller: last come is first served within the level.
                *turn = u64::MAX - self.turns;
            }
        }
        self.returns(process);
    }

    /// An eligible process that ran can continue.
    pub fn returns(&mut self, process: u32) {
        if let Some(rank) = self.ranks[process as usize] {
            self.ready.insert((rank, process));
        }
    }

    /// Process that runs next.
    pub fn next(&mut self) -> Option<u32> {
        self.ready.pop_first().map(|(_, process)| process)
    }

    /// True if an eligible process can run.
    pub fn somebody_is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Number of eligible processes that can run.
    pub fn ready_processes(&self) -> usize {
        self.ready.len()
    }

    /// True if `first` comes before `second`.
    pub fn precedes(&self, first: u32, second: u32) -> bool {
        match (self.ranks[first as usize], self.ranks[second as usize]) {
            (Some(first), Some(second)) => first < second,
            (first, _) => first.is_some(),
        }
    }
}
