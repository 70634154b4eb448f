//! Main storage in page frames, by whose they are. Frames are counted, not named.

use std::collections::VecDeque;

use thinktime_engine::{LawViolation, Laws, Stream};

/// A page on its way, in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// User who waits for it, or whose exception it is.
    pub user: u32,
    /// True if a changed page is written out.
    pub out: bool,
}

/// Source of the frame for an incoming page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Nobody held it.
    Free,
    /// Of a user who was not in a queue.
    Idle,
    /// Of a user in a queue: a steal.
    Stolen,
}

/// Frames by their holders.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    /// All of them.
    frames: u32,
    free: u32,
    /// Frames that wait for their page.
    expecting: u32,
    /// By user.
    held: Vec<u32>,
    /// By user: whether it is in a queue.
    queued: Vec<bool>,
    /// Users in a queue, in no order that matters.
    in_queue: Vec<u32>,
    /// Users who hold frames and are in no queue, the one longest out first.
    out: VecDeque<u32>,
    stream: Stream,
}

impl Storage {
    pub fn new(frames: u32, users: usize, stream: Stream) -> Storage {
        Storage {
            frames,
            free: frames,
            expecting: 0,
            held: vec![0; users],
            queued: vec![false; users],
            in_queue: Vec::new(),
            out: VecDeque::new(),
            stream,
        }
    }

    /// Frames of `user`.
    #[inline]
    pub fn held(&self, user: u32) -> u32 {
        self.held[user as usize]
    }

    /// The user is admitted: its frames are stolen only when there are none of those who are out.
    pub fn enters_queue(&mut self, user: u32) {
        self.queued[user as usize] = true;
        self.in_queue.push(user);
        if self.held(user) > 0 {
            self.out.retain(|other| *other != user);
        }
    }

    /// The user leaves its queue; its pages stay until somebody needs the frames.
    pub fn leaves_queue(&mut self, user: u32) {
        self.queued[user as usize] = false;
        self.in_queue.retain(|other| *other != user);
        if self.held(user) > 0 {
            self.out.push_back(user);
        }
    }

    /// Source of a frame for a page of `user`, who is in a queue and needs at most `wanted` frames: one of its own,
    /// once it holds that many.
    pub fn take(&mut self, user: u32, wanted: u32) -> Frame {
        self.expecting += 1;
        if self.held(user) >= wanted {
            self.held[user as usize] -= 1;
            // Beyond its working set a program replaces its own pages: more frames would not spare it a
            // fault.
            return Frame::Stolen;
        }
        if self.free > 0 {
            self.free -= 1;
            return Frame::Free;
        }
        // Before any steal: frames of those who are not in a queue are not needed soon.
        if let Some(victim) = self.out.front().copied() {
            self.held[victim as usize] -= 1;
            if self.held(victim) == 0 {
                self.out.pop_front();
            }
            return Frame::Idle;
        }
        // Frames are counted and not named: each of them is as likely.
        let victim = self.victim(user);
        self.held[victim as usize] -= 1;
        Frame::Stolen
    }

    /// User whose frame is stolen: one in a queue, drawn in proportion to the frames held; `user` only if nobody
    /// else holds one.
    fn victim(&mut self, user: u32) -> u32 {
        let others: u32 = self.in_queue.iter().filter(|other| **other != user).map(|u| self.held(*u)).sum();
        if others == 0 {
            return user;
        }
        // One of their frames at random, found by counting through its holders.
        let mut pick = self.stream.below(u64::from(others)) as u32;
        for other in self.in_queue.iter().filter(|other| **other != user) {
            if pick < self.held(*other) {
                return *other;
            }
            pick -= self.held(*other);
        }
        user
    }

    /// The page has come.
    pub fn filled(&mut self, user: u32) {
        self.expecting -= 1;
        self.held[user as usize] += 1;
    }

    /// The user, who is in no queue, logs off.
    pub fn gives_up(&mut self, user: u32) {
        self.free += std::mem::take(&mut self.held[user as usize]);
        self.out.retain(|other| *other != user);
    }

    /// All of it is free again.
    pub fn clear(&mut self) {
        self.free = self.frames;
        self.expecting = 0;
        self.held.fill(0);
        self.queued.fill(false);
        self.in_queue.clear();
        self.out.clear();
    }

    /// Frames free, held and waiting for their page are all there are.
    pub fn check(&self, laws: &mut Laws) -> Result<(), LawViolation> {
        let held: u32 = self.held.iter().sum();
        let sum = self.free + self.expecting + held;
        laws.equal("conservation of page frames", "main storage", sum, self.frames)
    }
}
