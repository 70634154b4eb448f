//! Main memory: fixed regions, each for one workspace of the largest size or for a library directory.

use thinktime_engine::{Imbalance, Level, Span, Time};

/// The regions. The system's own programs lie elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    regions: u64,
    /// Workspaces that hold a region, the longest resident first.
    holders: Vec<u32>,
    directory: bool,
    held: Level,
    free: Level,
}

impl Memory {
    pub fn new(regions: u32) -> Memory {
        let mut free = Level::default();
        free.set(Time::ZERO, u64::from(regions));
        Memory {
            regions: u64::from(regions),
            holders: Vec::with_capacity(regions as usize),
            directory: false,
            held: Level::default(),
            free,
        }
    }

    pub fn has_room(&self) -> bool {
        self.free.value() > 0
    }

    /// Workspaces that hold a region, in the order in which they were loaded.
    pub fn holders(&self) -> &[u32] {
        &self.holders
    }

    fn take(&mut self, now: Time) {
        self.free.subtract(now, 1);
        self.held.add(now, 1);
    }

    fn give_back(&mut self, now: Time) {
        self.held.subtract(now, 1);
        self.free.add(now, 1);
    }

    pub fn load(&mut self, now: Time, workspace: u32) {
        self.take(now);
        self.holders.push(workspace);
    }

    pub fn unload(&mut self, now: Time, workspace: u32) {
        self.give_back(now);
        self.holders.retain(|holder| *holder != workspace);
    }

    pub fn load_directory(&mut self, now: Time) {
        self.take(now);
        self.directory = true;
    }

    pub fn drop_directory(&mut self, now: Time) {
        self.give_back(now);
        self.directory = false;
    }

    /// Memory is conserved: at the end, and over all of the run.
    pub fn check(&self, now: Time) -> Result<(), Imbalance> {
        let law = "memory is conserved (regions)";
        let holders = self.holders.len() as u64 + u64::from(self.directory);
        Imbalance::compare(law, "main memory", self.held.value(), holders)?;
        Imbalance::compare(law, "main memory", self.held.value() + self.free.value(), self.regions)?;
        let Span(length) = now.since(self.held.since());
        let all = u128::from(self.regions) * u128::from(length);
        let law = "memory is conserved (region-nanoseconds)";
        Imbalance::compare(law, "main memory", self.held.area(now) + self.free.area(now), all)
    }

    pub fn restart_statistics(&mut self, now: Time) {
        self.held.restart(now);
        self.free.restart(now);
    }
}
