//! The swap disk: one arm, one access at a time, first come, first served.

use std::collections::VecDeque;

use thinktime_engine::{Busy, Calendar, Component, Imbalance, Priority, Slot, Span, Stream, Streams, Time};

use super::config::DiskTimes;

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    SwapOut(u32),
    SwapIn(u32),
    /// For the command of this user.
    Library(u32),
}

impl Access {
    /// Names of its first and last event in the log.
    pub fn events(self) -> [&'static str; 2] {
        match self {
            Access::SwapOut(_) => ["swap_out_start", "swap_out_end"],
            Access::SwapIn(_) => ["swap_in_start", "swap_in_end"],
            Access::Library(_) => ["library_load_start", "library_load_end"],
        }
    }

    pub fn user(self) -> u32 {
        let (Access::SwapOut(user) | Access::SwapIn(user) | Access::Library(user)) = self;
        user
    }
}

#[derive(Clone, Debug)]
pub(super) struct Disk {
    times: DiskTimes,
    slot: Slot,
    /// Workspaces lie at addresses 0 to this.
    addresses: u32,
    arm: u32,
    stream: Stream,
    queue: VecDeque<Access>,
    current: Option<(Access, Time, Span)>,
    busy: Busy,
    /// Accesses begun, by kind, since statistics began.
    begun: [u64; 3],
}

impl Disk {
    pub fn new(times: DiskTimes, slot: Slot, addresses: u32, streams: &Streams) -> Disk {
        Disk {
            times,
            slot,
            addresses,
            arm: 0,
            stream: streams.stream(Component("disk"), 0),
            queue: VecDeque::new(),
            current: None,
            busy: Busy::default(),
            begun: [0; 3],
        }
    }

    /// The address at which the arm stands.
    pub fn arm(&self) -> u32 {
        self.arm
    }

    /// Swap-outs, swap-ins and library accesses begun since statistics began.
    pub fn begun(&self) -> [u64; 3] {
        self.begun
    }

    /// Busy time since statistics began [ns].
    pub fn busy(&self, now: Time) -> u128 {
        self.busy.area(now)
    }

    pub fn request(&mut self, access: Access) {
        self.queue.push_back(access);
    }

    /// Begins the next access, if the disk is idle and one is asked for; says which.
    pub fn begin(&mut self, calendar: &mut Calendar) -> Option<Access> {
        if self.current.is_some() {
            return None;
        }
        let access = self.queue.pop_front()?;
        let now = calendar.now();
        let (kind, to) = match access {
            Access::SwapOut(user) => (0, user),
            Access::SwapIn(user) => (1, user),
            Access::Library(_) => (2, self.stream.below(u64::from(self.addresses)) as u32),
        };
        let length = self.length(to);
        self.begun[kind] += 1;
        self.arm = to;
        self.current = Some((access, now, length));
        self.busy.begin(now);
        calendar.set(self.slot, now + length, Priority::Completion);
        Some(access)
    }

    fn length(&mut self, to: u32) -> Span {
        let distance = f64::from(to.abs_diff(self.arm)) / f64::from(self.addresses);
        let DiskTimes { seek, seek_across, rotation, transfer } = self.times;
        let latency = rotation * self.stream.uniform();
        Span::from_seconds(seek + seek_across * distance + latency + transfer)
    }

    /// The access in progress has ended.
    pub fn end(&mut self, now: Time) -> Option<Access> {
        let (access, _, length) = self.current.take()?;
        self.busy.end(now);
        self.busy.complete(length);
        Some(access)
    }

    fn received(&self, now: Time) -> u128 {
        self.current.map_or(0, |(_, began, _)| u128::from(now.since(began).0))
    }

    pub fn check(&self, now: Time) -> Result<(), Imbalance> {
        self.busy.check("disk", now, self.received(now))
    }

    pub fn restart_statistics(&mut self, now: Time) {
        self.busy.restart(now, self.received(now));
        self.begun = [0; 3];
    }
}
