//! The real printer: files that are held back, and blocks that it may take.

use thinktime_engine::Time;

#[derive(Clone, Debug, Default)]
pub(super) struct Printer {
    /// Blocks that it may print.
    released: u64,
    /// Until when files are held back, and how many blocks they have.
    held: Vec<(Time, u64)>,
}

impl Printer {
    /// A file of so many blocks is complete, and held back.
    pub fn hold(&mut self, until: Time, blocks: u64) {
        self.held.push((until, blocks));
    }

    /// Files that are held back no longer may be printed: whether any block may.
    pub fn release(&mut self, now: Time) -> bool {
        let released = &mut self.released;
        self.held.retain(|(until, blocks)| {
            let kept = *until > now;
            *released += if kept { 0 } else { *blocks };
            kept
        });
        self.released > 0
    }

    /// Takes a block, if one may be printed.
    pub fn take(&mut self) -> bool {
        let any = self.released > 0;
        self.released -= u64::from(any);
        any
    }
}
