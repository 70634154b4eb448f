//! Rules for the workspace that is swapped in, and for the resident one that runs.

use std::collections::BTreeSet;

use thinktime_engine::Span;

use super::parameters::Search;
use super::workload::User;

/// Swap-in rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduler {
    /// In order of disk address from the arm on, by the first criterion (waiting for the first slice) or the
    /// second (any); the other one when nothing is found.
    Original,
    /// Foreground in order of arrival, then the others in order of disk address, from the arm on or from the
    /// beginning.
    Modified { search: Search },
    /// By level, and within a level in turn: who has had a whole turn goes to the end. Level 0 is the foreground.
    Feedback { levels: u64 },
    /// The least service received; of equals the first come.
    FeedbackInfinity,
    /// The least service still to come.
    ShortestRemaining,
}

/// Rule for the resident workspace that gets the next slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dispatcher {
    /// In turn.
    RoundRobin,
    /// In the scheduler's order.
    Scheduler,
}

/// Criterion of the original scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    /// Workspaces that wait for their first slice.
    FirstSlice,
    /// Any active workspace.
    Any,
}

impl Criterion {
    /// Criterion to try when no workspace is found.
    pub fn other(self) -> Criterion {
        match self {
            Criterion::FirstSlice => Criterion::Any,
            Criterion::Any => Criterion::FirstSlice,
        }
    }
}

impl Scheduler {
    /// True if the disk address decides, and not a rank.
    pub fn by_address(self) -> bool {
        matches!(self, Scheduler::Original | Scheduler::Modified { .. })
    }

    /// True if I/O ends slices early and the supervisor acts on it at once (page 127); otherwise it acts between
    /// slices (page 135).
    pub fn cuts_slices(self) -> bool {
        self == Scheduler::Original
    }

    /// Queue in which `user` waits in turn; 0 is the foreground.
    pub fn queue(self, user: &User, slice: Span) -> u64 {
        match self {
            Scheduler::Feedback { levels } => level(user, slice).min(levels - 1),
            _ => u64::from(!user.is_foreground()),
        }
    }

    /// Place of `user` in the order; the lower goes first. Not for schedulers by address.
    pub fn rank(self, user: &User, slice: Span) -> (u64, u64) {
        match self {
            Scheduler::Original | Scheduler::Modified { .. } => (0, user.turn),
            Scheduler::Feedback { .. } => (self.queue(user, slice), user.turn),
            Scheduler::FeedbackInfinity => (user.attained.0, user.arrived.0),
            Scheduler::ShortestRemaining => (user.remaining().0, user.arrived.0),
        }
    }

    /// The workspace to be swapped in, of those `waiting` on disk; `criterion` is that of the original
    /// scheduler, `arm` the address at which the disk's arm stands.
    pub fn choose(
        self,
        users: &[User],
        waiting: &BTreeSet<u32>,
        arm: u32,
        slice: Span,
        criterion: &mut Criterion,
    ) -> Option<u32> {
        let first = |user: &u32| users[*user as usize].is_foreground();
        match self {
            Scheduler::Original => {
                let search = |criterion| match criterion {
                    Criterion::FirstSlice => from(waiting, arm).find(first),
                    Criterion::Any => from(waiting, arm).next(),
                };
                search(*criterion).or_else(|| {
                    // It stays changed even when nothing is found then: the criterion alternates on failure
                    // only.
                    *criterion = criterion.other();
                    search(*criterion)
                })
            }
            Scheduler::Modified { search } => {
                let foreground = waiting.iter().copied().filter(first);
                // In order of arrival and not of address: first slices do not wait for the scan, and seeks
                // are longer.
                foreground.min_by_key(|user| users[*user as usize].turn).or_else(|| match search {
                    Search::Arm => from(waiting, arm).next(),
                    Search::List => waiting.first().copied(),
                })
            }
            _ => waiting.iter().copied().min_by_key(|user| self.rank(&users[*user as usize], slice)),
        }
    }
}

/// Level k is that of service from 2^k - 1 time slices to 2^(k+1) - 1; no workspace is below level 1 after the first
/// slice, however short that was.
fn level(user: &User, slice: Span) -> u64 {
    if user.is_foreground() {
        return 0;
    }
    // Whole slices: I/O may have cut some of them short.
    let slices = user.attained.0 / slice.0;
    u64::from((slices + 1).ilog2()).max(1)
}

/// Addresses after that of the arm, and then from the beginning.
fn from(waiting: &BTreeSet<u32>, arm: u32) -> impl Iterator<Item = u32> + '_ {
    // The arm's own address comes last: the scan goes once round.
    waiting.range(arm + 1..).chain(waiting.range(..=arm)).copied()
}

#[cfg(test)]
mod tests {
    use thinktime_engine::Streams;

    use super::super::workload::Activity;
    use super::*;

    const SLICE: Span = Span(100);

    /// Users 0..5 with service received 0, 50, 250, 700, 150; user 0 is in foreground, the turns go down.
    fn users() -> Vec<User> {
        let streams = Streams { seed: 1, replication: 0 };
        [0, 50, 250, 700, 150]
            .iter()
            .enumerate()
            .map(|(number, attained)| {
                let mut user = User::new(&streams, number as u32);
                user.activity = if number == 0 { Activity::Foreground } else { Activity::Background };
                user.attained = Span(*attained);
                user.transaction.demand = Span(800);
                user.turn = 10 - number as u64;
                user
            })
            .collect()
    }

    fn choose(scheduler: Scheduler, waiting: &[u32], arm: u32) -> Option<u32> {
        let waiting = waiting.iter().copied().collect();
        scheduler.choose(&users(), &waiting, arm, SLICE, &mut Criterion::FirstSlice)
    }

    #[test]
    fn levels_double() {
        let levels: Vec<u64> = users().iter().map(|user| level(user, SLICE)).collect();
        assert_eq!(levels, [0, 1, 1, 3, 1]);
    }

    #[test]
    fn addresses_are_searched_after_foreground() {
        let [arm, list] = [Search::Arm, Search::List].map(|search| Scheduler::Modified { search });
        assert_eq!(choose(arm, &[1, 2, 4], 2), Some(4));
        assert_eq!(choose(arm, &[1, 2], 2), Some(1));
        assert_eq!(choose(list, &[1, 2, 4], 2), Some(1));
        for modified in [arm, list] {
            assert_eq!(choose(modified, &[0, 1, 2], 0), Some(0));
            assert_eq!(choose(modified, &[], 0), None);
        }
    }

    #[test]
    fn feedback_goes_by_level_and_then_in_turn() {
        let two = Scheduler::Feedback { levels: 2 };
        let many = Scheduler::Feedback { levels: 8 };
        assert_eq!(choose(two, &[1, 2, 3, 4], 0), Some(4));
        assert_eq!(choose(two, &[1, 2, 3], 0), Some(3));
        assert_eq!(choose(many, &[1, 2, 3], 0), Some(2));
        assert_eq!(choose(Scheduler::FeedbackInfinity, &[1, 2, 3, 4], 0), Some(1));
        assert_eq!(choose(Scheduler::ShortestRemaining, &[1, 2, 3, 4], 0), Some(3));
    }

    #[test]
    fn the_original_criterion_stays_until_a_search_fails() {
        let users = users();
        let mut criterion = Criterion::FirstSlice;
        let search = |waiting: &[u32], criterion: &mut Criterion| {
            let waiting = waiting.iter().copied().collect();
            Scheduler::Original.choose(&users, &waiting, 3, SLICE, criterion)
        };
        assert_eq!(search(&[0, 1, 4], &mut criterion), Some(0));
        assert_eq!(search(&[1, 4], &mut criterion), Some(4));
        // Foreground is overlooked now.
        assert_eq!((search(&[0, 1, 4], &mut criterion), criterion), (Some(4), Criterion::Any));
        assert_eq!((search(&[], &mut criterion), criterion), (None, Criterion::FirstSlice));
    }
}
