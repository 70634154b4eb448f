//! The scheduler's queues: the program that runs next, and the length of its turn.

use serde::Deserialize;
use std::collections::VecDeque;

use thinktime_engine::Span;

/// Time at which a program that comes to a lower level takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Preempt {
    /// When it comes.
    AtOnce,
    /// When the running program has had at least as much time as the turn of the newcomer is long.
    NewcomersTurn,
    /// After the running program's turn.
    Never,
}

/// Level at which a program begins an interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// That at which it runs for more than half as long as it takes to swap it.
    SwapTime,
    /// [`SMALL_LEVEL`] up to [`SMALL_WORDS`], the next one above.
    TwoSizes,
}

/// Largest program that enters at [`SMALL_LEVEL`] [word].
const SMALL_WORDS: u32 = 4096;
/// Level of small programs; larger ones enter at the next.
const SMALL_LEVEL: u32 = 2;

/// Rules of the levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduler {
    /// Number of levels.
    pub levels: u32,
    /// Turn at level 0.
    pub quantum: Span,
    /// Words that are swapped out and in during a quantum [word].
    pub words_per_quantum: f64,
    /// Where a program enters.
    pub entry: Entry,
    /// When a lower level takes over.
    pub preempt: Preempt,
}

impl Scheduler {
    /// Level of a program of `words` words that comes; by swap time the integral part of
    /// log2(words / words_per_quantum + 1).
    pub fn entry(&self, words: u32) -> u32 {
        let level = match self.entry {
            Entry::SwapTime => (f64::from(words) / self.words_per_quantum + 1.0).log2().floor() as u32,
            Entry::TwoSizes => SMALL_LEVEL + u32::from(words > SMALL_WORDS),
        };
        level.min(self.levels - 1)
    }

    /// Level of one at `level` that changes from `old` to `new` words: higher by the integral part of log2(new / old).
    pub fn changed(&self, level: u32, old: u32, new: u32) -> u32 {
        // Below zero for a smaller size: the program then comes to a lower level, which runs earlier.
        let by = (f64::from(new) / f64::from(old)).log2().floor();
        (f64::from(level) + by).clamp(0.0, f64::from(self.levels - 1)) as u32
    }

    /// Level of one that has used its turn at `level`.
    pub fn next(&self, level: u32) -> u32 {
        (level + 1).min(self.levels - 1)
    }

    /// Longest run at `level`: twice as long at each level, so that a program that needs long turns is swapped less
    /// often.
    pub fn turn(&self, level: u32) -> Span {
        self.quantum.times(1 << level)
    }

    /// Time for which a program at `level` may run in this turn before the most urgent one that waits, at `waiting`,
    /// takes over; none: it is not pre-empted.
    pub fn until_preempted(&self, level: u32, waiting: Option<u32>) -> Option<Span> {
        // Only a lower level takes over; the same level waits for the turn to end.
        let waiting = waiting.filter(|waiting| *waiting < level)?;
        match self.preempt {
            Preempt::AtOnce => Some(Span::ZERO),
            Preempt::NewcomersTurn => Some(self.turn(waiting)),
            Preempt::Never => None,
        }
    }
}

/// Programs that wait for their turn, by level.
#[derive(Clone, Debug)]
pub(super) struct Levels(Vec<VecDeque<u32>>);

impl Levels {
    pub fn new(levels: u32) -> Levels {
        Levels(vec![VecDeque::new(); levels as usize])
    }

    /// The program of `user` waits behind all others of `level`.
    pub fn push_tail(&mut self, level: u32, user: u32) {
        self.0[level as usize].push_back(user);
    }

    /// The program of `user` waits before all others of `level`.
    pub fn push_head(&mut self, level: u32, user: u32) {
        self.0[level as usize].push_front(user);
    }

    /// Lowest level at which a program waits.
    pub fn lowest(&self) -> Option<u32> {
        self.0.iter().position(|queue| !queue.is_empty()).map(|level| level as u32)
    }

    /// User whose program runs next: the head of the lowest level.
    pub fn take(&mut self) -> Option<u32> {
        self.0.iter_mut().find_map(VecDeque::pop_front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Scheduler = Scheduler {
        levels: 9,
        quantum: Span(100),
        words_per_quantum: 1000.0,
        entry: Entry::SwapTime,
        preempt: Preempt::NewcomersTurn,
    };

    /// At its entry level a program runs for more than half the time of its swap: 2^l > (w / w_q + 1) / 2.
    #[test]
    fn levels_follow_size() {
        let entries: Vec<u32> =
            [1, 999, 1000, 2999, 3000, 7000, 32_000].map(|words| RULES.entry(words)).to_vec();
        assert_eq!(entries, [0, 0, 1, 1, 2, 3, 5]);
        assert_eq!(Scheduler { levels: 3, ..RULES }.entry(32_000), 2);
        for words in 1..32_768 {
            let swap = f64::from(words) / RULES.words_per_quantum;
            assert!(2.0 * f64::from(1u32 << RULES.entry(words)) > swap + 1.0, "{words}");
        }
        let changes = [(1000, 1999), (1000, 2000), (1000, 8000), (4000, 1000), (1000, 500), (1000, 999)];
        let changed: Vec<u32> = changes.map(|(old, new)| RULES.changed(2, old, new)).to_vec();
        assert_eq!(changed, [2, 3, 5, 0, 1, 1]);
        assert_eq!(RULES.changed(7, 1, 32_000), 8);
        assert_eq!((RULES.next(7), RULES.next(8), RULES.turn(3)), (8, 8, Span(800)));
    }

    /// Later all but small programs enter at one level, and wait for each other in the order in which they came.
    #[test]
    fn two_sizes_enter_at_two_levels() {
        let rules = Scheduler { entry: Entry::TwoSizes, ..RULES };
        assert_eq!([1, 4096, 4097, 10_000, 32_000].map(|words| rules.entry(words)), [2, 2, 3, 3, 3]);
        assert_eq!(Scheduler { levels: 1, ..rules }.entry(32_000), 0);
        // By swap time an editor would be served before a compiler, whenever either came.
        assert!(RULES.entry(2000) < RULES.entry(25_000) && rules.entry(5000) == rules.entry(25_000));
    }

    #[test]
    fn the_running_one_gets_the_newcomers_turn() {
        assert_eq!(RULES.until_preempted(3, Some(1)), Some(Span(200)));
        assert_eq!(RULES.until_preempted(3, Some(3)), None);
        assert_eq!(RULES.until_preempted(3, None), None);
        let with = |preempt| Scheduler { preempt, ..RULES };
        assert_eq!(with(Preempt::AtOnce).until_preempted(3, Some(1)), Some(Span::ZERO));
        assert_eq!(with(Preempt::Never).until_preempted(3, Some(1)), None);
    }

    #[test]
    fn the_lowest_level_goes_first_and_within_it_the_first() {
        let mut levels = Levels::new(3);
        for (level, user) in [(2, 0), (1, 1), (1, 2)] {
            levels.push_tail(level, user);
        }
        levels.push_head(2, 3);
        assert_eq!(levels.lowest(), Some(1));
        assert_eq!([(); 5].map(|()| levels.take()), [Some(1), Some(2), Some(3), Some(0), None]);
    }
}
