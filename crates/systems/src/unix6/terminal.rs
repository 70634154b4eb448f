//! The terminal line: characters wait in an output queue, and leave it one by one.

use thinktime_engine::{Calendar, Priority, Span, Time};

use super::units::TERMINAL;

/// Speed of the line, and the marks of its output queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Time of one character.
    pub character: Span,
    /// A writer sleeps while more characters than this wait (`TTHIWAT`).
    pub high_water: u64,
    /// Writers are woken when this many characters are left (`TTLOWAT`).
    pub low_water: u64,
}

/// One terminal, to which all workers write.
#[derive(Debug)]
pub(super) struct Terminal {
    line: Line,
    /// When the last character that waits will have gone.
    // The queue is a time and no list: each character takes the same time, so that the length follows from
    // it.
    empty_at: Time,
}

impl Terminal {
    pub fn new(line: Line) -> Terminal {
        Terminal { line, empty_at: Time::ZERO }
    }

    /// Characters that wait, the one that is going out included.
    fn waiting(&self, now: Time) -> u64 {
        self.empty_at.0.saturating_sub(now.0).div_ceil(self.line.character.0)
    }

    /// Number of `characters` that the queue takes; the rest would be above the high water mark.
    pub fn put(&mut self, characters: u64, now: Time) -> u64 {
        // One above the mark: the writer looks before it puts a character, and the one that passes the mark
        // goes in.
        let room = (self.line.high_water + 1).saturating_sub(self.waiting(now));
        let taken = characters.min(room);
        self.empty_at = self.empty_at.max(now) + Span(taken * self.line.character.0);
        taken
    }

    /// Sets when the queue has run down to the low water mark, which wakes the writers.
    pub fn wake_writers(&self, calendar: &mut Calendar) {
        let left = Span(self.line.low_water * self.line.character.0);
        let low = Time(self.empty_at.0.saturating_sub(left.0));
        calendar.set(TERMINAL, low.max(calendar.now()), Priority::Completion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line { character: Span(1000), high_water: 50, low_water: 30 };

    #[test]
    fn a_writer_is_stopped_above_the_high_water_mark_and_goes_on_at_the_low_one() {
        let mut terminal = Terminal::new(LINE);
        let mut calendar = Calendar::new(8, 1);
        assert_eq!(
            (terminal.put(25, Time(0)), terminal.put(25, Time(0)), terminal.put(25, Time(0))),
            (25, 25, 1)
        );
        terminal.wake_writers(&mut calendar);
        assert_eq!(calendar.next(Time::NEVER), Some(TERMINAL));
        assert_eq!(calendar.now(), Time(21_000));
        assert_eq!(terminal.waiting(calendar.now()), 30);
        assert_eq!(terminal.put(24, calendar.now()), 21);
    }

    #[test]
    fn an_idle_line_owes_nothing() {
        let mut terminal = Terminal::new(LINE);
        terminal.put(10, Time(0));
        assert_eq!((terminal.waiting(Time(9_500)), terminal.waiting(Time(20_000))), (1, 0));
        assert_eq!(terminal.put(60, Time(50_000)), 51);
    }
}
