//! The real printer: files that are held back, and blocks that it may take.

use thinktime_engine::Time;

/// Blocks of printed files, held back or ready to print.
#[derive(Clone, Debug, Default)]
pub(super) struct Printer {
    /// Blocks that may be printed.
    released: u64,
    /// Files held back: until when, and their blocks.
    held: Vec<(Time, u64)>,
}

impl Printer {
    /// A file of `blocks` blocks is complete, and held back.
    pub fn hold(&mut self, until: Time, blocks: u64) {
        self.held.push((until, blocks));
    }

    /// True if any block may be printed now.
    pub fn release(&mut self, now: Time) -> bool {
        let released = &mut self.released;
        self.held.retain(|(until, blocks)| {
            // A file is released as a whole: its blocks follow one another on paper.
            let kept = *until > now;
            *released += if kept { 0 } else { *blocks };
            kept
        });
        self.released > 0
    }

    /// True if there was a block to print, which is taken.
    pub fn take(&mut self) -> bool {
        let any = self.released > 0;
        self.released -= u64::from(any);
        any
    }
}
