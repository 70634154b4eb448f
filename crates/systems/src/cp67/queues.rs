//! Who may run: two queues of limited size, and those who wait to be admitted.

use std::collections::VecDeque;

use thinktime_engine::Span;

/// The queue of interactive users, and that of long runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Queue {
    /// Short runs, which go first.
    Interactive,
    /// Users who used up the time of a queue.
    Batch,
}

/// Both queues, in the order in which they are served.
pub(super) const QUEUES: [Queue; 2] = [Queue::Interactive, Queue::Batch];

/// Limits of the dispatcher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// Largest number of users in each queue.
    pub users: [u32; 2],
    /// CPU time in each queue after which a user is dropped.
    pub cpu: [Span; 2],
    /// Problem state time after which the next user of the queue runs.
    pub slice: Span,
}

/// Queues and eligible lists; a user is in one queue or list at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// Users in each queue, those who wait for I/O included.
    members: [u32; 2],
    /// Those who could run, the next first.
    ready: [VecDeque<u32>; 2],
    /// Those who wait to be admitted, the longest waiting first.
    eligible: [VecDeque<u32>; 2],
}

impl Queues {
    /// The user waits to be admitted to `queue`.
    pub fn wants(&mut self, user: u32, queue: Queue) {
        self.eligible[queue as usize].push_back(user);
    }

    /// User who has waited longest, where a queue has room; it is then ready in that queue.
    pub fn admit(&mut self, limits: &Limits) -> Option<(u32, Queue)> {
        QUEUES.into_iter().find_map(|queue| {
            let index = queue as usize;
            // Limits count those who wait for I/O too: admission is what keeps pages from being stolen from
            // each other.
            if self.members[index] >= limits.users[index] {
                return None;
            }
            let user = self.eligible[index].pop_front()?;
            self.members[index] += 1;
            self.ready[index].push_back(user);
            Some((user, queue))
        })
    }

    /// The user is ready, behind all others of its queue.
    #[inline]
    pub fn ready(&mut self, user: u32, queue: Queue) {
        self.ready[queue as usize].push_back(user);
    }

    /// The user goes on before all others of its queue.
    #[inline]
    pub fn continues(&mut self, user: u32, queue: Queue) {
        self.ready[queue as usize].push_front(user);
    }

    /// User who runs next.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        // Interactive users first, always: long runs get what these leave.
        self.ready[0].pop_front().or_else(|| self.ready[1].pop_front())
    }

    /// The user, who is not ready, leaves its queue.
    pub fn drop(&mut self, queue: Queue) {
        self.members[queue as usize] -= 1;
    }

    /// Nobody is in any queue.
    pub fn clear(&mut self) {
        *self = Queues::default();
    }
}
