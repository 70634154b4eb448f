//! A user's terminal and state.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use super::Play;
use super::interaction::{Interaction, wall_offset_us};
use super::listener::{Ending, Listener};
use super::work::Input;
use crate::accounts::{Accounts, Totals};
use crate::nursery::message::Service;

/// State of a user.
pub(super) enum Phase {
    /// The process has not shown its first prompt yet.
    Starting,
    /// The next input is in the queue of due inputs.
    Thinking,
    /// An input is sent and its prompt has not arrived.
    Busy,
    /// The terminal is closed.
    Gone,
}

/// A reply that has not ended.
pub(super) struct Reply {
    /// The interaction that waits for it.
    pub interaction: Interaction,
    /// What ends the wait.
    pub ending: Ending,
    /// Longest wait [ns].
    pub time_out_ns: Option<u64>,
}

/// Totals of what runs at a terminal before the last key of an input.
pub(super) enum Before {
    /// Of the current input, they have not been read.
    Unread,
    /// Read.
    Known(Totals),
    /// They could not be read.
    Unknown,
}

/// A user's terminal and state.
pub(super) struct Seat {
    pub user: u32,
    /// Times that the user has logged in.
    pub logins: u32,
    pub terminal: Option<OwnedFd>,
    /// Separates the echo from output.
    pub listener: Listener,
    pub phase: Phase,
    /// Number of the next interaction.
    pub next_index: u64,
    /// The next input, and how many of its bytes have been typed.
    pub input: Option<Input>,
    pub typed: usize,
    /// Instant at which its last key is due, CLOCK_MONOTONIC [ns].
    pub due_ns: u64,
    /// Instant from which the driver could act for this user.
    pub ready_ns: u64,
    /// The reply that is waited for, or was when the process ended.
    pub reply: Option<Reply>,
    /// Instant of the last output.
    pub output_ns: u64,
    /// True if the last reply ended with the prompt: another prompt then belongs to nothing.
    pub has_prompt: bool,
    /// Interactions whose prompt has arrived, but not the process's report, by number.
    pub unreported: BTreeMap<u64, Interaction>,
    /// Accounts of what runs at the terminal, where it is measured from outside.
    pub accounts: Option<Accounts>,
    /// Their totals before the last key of the current input.
    pub before: Before,
    /// Completed interaction whose shell may still be at work behind its prompt, with the totals before it.
    pub settling: Option<(Interaction, Totals)>,
    /// Report that arrived before the driver read its prompt.
    pub early: Option<Service>,
}

/// Nanoseconds of a time in seconds; the cast saturates.
pub(super) fn to_ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Instant `think_s` after `from_ns`. Saturating: a draw from a heavy tail may reach beyond all time, and must not come
/// round to the past.
fn due_after(from_ns: u64, think_s: f64) -> u64 {
    from_ns.saturating_add(to_ns(think_s))
}

impl Seat {
    /// Draws the next input and the instant at which its last key is due, counted from `from_ns`.
    pub fn think(&mut self, play: &Play<'_>, from_ns: u64) {
        let input = play.work.input(self.user, self.next_index);
        self.due_ns = due_after(from_ns, input.think_s);
        self.input = Some(input);
        self.typed = 0;
        self.before = Before::Unread;
        self.phase = Phase::Thinking;
    }

    /// True if the accounts are to be opened before a key at `at_ns`: it begins an interaction.
    pub fn opens(&self, at_ns: u64) -> bool {
        let begins = |input: &Input| {
            !matches!(input.ending, Ending::Nothing) && input.typed_at(self.due_ns, at_ns) == input.line.len()
        };
        matches!(self.before, Before::Unread)
            && self.accounts.is_some()
            && self.input.as_ref().is_some_and(begins)
    }

    /// Instant at which the next key of the input is due.
    pub fn key_ns(&self) -> u64 {
        self.input.as_ref().map_or(self.due_ns, |input| input.key_ns(self.due_ns, self.typed))
    }

    /// The interaction whose input is due, with what ends its wait.
    pub fn arrive(&mut self, population: u32) -> Option<Reply> {
        let input = self.input.take()?;
        let index = self.next_index;
        self.next_index += 1;
        let interaction = Interaction {
            user: self.user,
            index,
            class: input.class,
            population,
            think_s: input.think_s,
            waited: !matches!(input.ending, Ending::Nothing),
            arrival_ns: self.due_ns,
            sent_ns: None,
            first_output_ns: None,
            completion_ns: None,
            output_bytes: 0,
            service: None,
            used: None,
            wall_offset_us: wall_offset_us(),
        };
        Some(Reply { interaction, ending: input.ending, time_out_ns: input.time_out_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::due_after;

    #[test]
    fn a_think_time_beyond_all_time_is_never_over() {
        assert_eq!(due_after(5, 1.5), 1_500_000_005);
        // 1e11 s are 3000 years; 2^64 ns are 584.
        assert_eq!(due_after(5, 1e11), u64::MAX);
        assert_eq!(due_after(u64::MAX, 0.0), u64::MAX);
    }
}
