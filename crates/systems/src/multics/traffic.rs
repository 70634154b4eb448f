//! The traffic controller: who may run, and who runs next.
//!
//! Processes that want to run wait in queues by level; the first of the first queue that is not empty becomes eligible
//! when there is room for one more, and holds on to that until its quantum is used up, which puts it at the end of the
//! queue of the next level, or until it has answered its user. Eligible processes come by level, and within a level
//! either the one whose page came last, or the one that became eligible first.

use std::collections::{BTreeSet, VecDeque};

use thinktime_engine::{Level, Stream, Time};

/// How many processes may be eligible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Eligibility {
    /// So many; a fraction is the chance of one more, drawn anew whenever somebody ceases to be eligible.
    Number(f64),
    /// As many as have estimated working sets that fit into so many pages together, but two at least.
    WorkingSets(f64),
}

/// Who comes first of the eligible processes of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    FirstEligible,
    /// A process that returns from a wait for a page goes on at once.
    LastReady,
}

/// The place of an eligible process: its level, and its turn in it.
type Rank = (u32, u64);

#[derive(Debug)]
pub(super) struct Traffic {
    eligibility: Eligibility,
    order: Order,
    waiting: Vec<VecDeque<u32>>,
    ready: BTreeSet<(Rank, u32)>,
    ranks: Vec<Option<Rank>>,
    /// Working sets of the processes as estimated when they last ceased to be eligible [page].
    estimates: Vec<f64>,
    turns: u64,
    /// Whether one more than the whole part of a number may be eligible now.
    one_more: bool,
    working_sets: f64,
    pub eligible: Level,
    stream: Stream,
}

/// Of a process that was never eligible [page].
const FIRST_ESTIMATE: f64 = 32.0;
// Fewer than two would leave the processor idle during every wait for a page.
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

    fn draw(&mut self) {
        if let Eligibility::Number(number) = self.eligibility {
            self.one_more = self.stream.uniform() < number.fract();
        }
    }

    /// `process` wants to run, at the end of the queue of `level`.
    pub fn wants(&mut self, process: u32, level: usize) {
        let level = level.min(self.waiting.len() - 1);
        self.waiting[level].push_back(process);
    }

    fn has_room(&self, process: u32) -> bool {
        let eligible = self.eligible.value();
        match self.eligibility {
            Eligibility::Number(number) => eligible < number as u64 + u64::from(self.one_more),
            Eligibility::WorkingSets(pages) => {
                eligible < FEWEST || self.working_sets + self.estimates[process as usize] <= pages
            }
        }
    }

    /// The next process that becomes eligible, if there is room for it. It is ready.
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
        self.working_sets += self.estimates[process as usize];
        self.eligible.add(now, 1);
        self.ready(process);
        Some(process)
    }

    /// An eligible process ceases to be: it has used `pages` pages.
    pub fn loses(&mut self, process: u32, pages: f64, now: Time) {
        self.ranks[process as usize] = None;
        self.working_sets -= self.estimates[process as usize];
        // After the old estimate was taken off the sum: the sum holds what was added at the award.
        self.estimates[process as usize] = pages;
        self.eligible.subtract(now, 1);
        self.draw();
    }

    /// An eligible process can run, as it could not before.
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

    /// An eligible process that ran can go on.
    pub fn returns(&mut self, process: u32) {
        if let Some(rank) = self.ranks[process as usize] {
            self.ready.insert((rank, process));
        }
    }

    /// Who is to run now.
    pub fn next(&mut self) -> Option<u32> {
        self.ready.pop_first().map(|(_, process)| process)
    }

    pub fn somebody_is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn ready_processes(&self) -> usize {
        self.ready.len()
    }

    /// Whether `first` comes before `second`.
    pub fn precedes(&self, first: u32, second: u32) -> bool {
        match (self.ranks[first as usize], self.ranks[second as usize]) {
            (Some(first), Some(second)) => first < second,
            (first, _) => first.is_some(),
        }
    }
}
