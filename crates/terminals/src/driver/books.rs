//! What becomes of an interaction: completed, reported by its process, accounted, or left at the end of the play.

use std::cmp::Reverse;

use super::Driver;
use super::interaction::Interaction;
use super::seat::{Before, Phase, Reply};
use crate::accounts::{Accounts, Clock, Sources, is_asleep};
use crate::error::TerminalsError;
use crate::nursery::message::{Report, Service};

/// Time after which a shell that is still at work behind its prompt is looked at again [ns].
const SETTLE_NS: u64 = 1_000_000;
/// Longest time for which it is [ns]: one that is still at work then does something else.
const SETTLE_MAX_NS: u64 = 50_000_000;

impl Driver<'_> {
    /// The reply ended at `end_ns`: completes the interaction and begins the think time.
    pub(super) fn completed(&mut self, seat_index: usize, end_ns: u64, now_ns: u64, has_prompt: bool) {
        let seat = &mut self.seats[seat_index];
        seat.has_prompt = has_prompt;
        let Some(Reply { mut interaction, .. }) = seat.reply.take() else { return };
        interaction.completion_ns = Some(end_ns);
        self.outcome.completed += 1;
        self.recent.0 += interaction.response_s().unwrap_or(0.0);
        self.recent.1 += 1;
        match seat.early.take() {
            Some(service) if service.index == interaction.index => {
                interaction.service = Some(service);
                self.finished.push(interaction);
            }
            _ if self.play.work.reports() => {
                seat.unreported.insert(interaction.index, interaction);
            }
            _ => self.book(seat_index, interaction, now_ns, has_prompt),
        }
        let from_ns = if self.play.open_loop { self.seats[seat_index].due_ns } else { end_ns };
        self.think(seat_index, from_ns, now_ns);
    }

    /// Books a completed interaction of a shell: at once, or where the reply ended with the prompt, once the shell sleeps.
    /// Until then the kernel may have counted its last milliseconds not yet.
    fn book(&mut self, seat_index: usize, interaction: Interaction, now_ns: u64, has_prompt: bool) {
        let seat = &mut self.seats[seat_index];
        let Before::Known(before) = std::mem::replace(&mut seat.before, Before::Unread) else {
            return self.finished.push(interaction);
        };
        let shell = seat.accounts.as_ref().map(Accounts::shell);
        seat.settling = Some((interaction, before));
        match shell.filter(|&shell| has_prompt && !is_asleep(shell)) {
            Some(_) => self.settles.push(Reverse((now_ns + SETTLE_NS, seat_index))),
            None => self.settle(seat_index),
        }
    }

    /// Books what has settled.
    pub(super) fn settle_due(&mut self, now_ns: u64) {
        while let Some(&Reverse((at_ns, seat_index))) = self.settles.peek() {
            if at_ns > now_ns {
                break;
            }
            self.settles.pop();
            let seat = &self.seats[seat_index];
            let (Some((interaction, _)), Some(accounts)) = (&seat.settling, &seat.accounts) else { continue };
            let end_ns = interaction.completion_ns.unwrap_or(0).saturating_add(SETTLE_MAX_NS);
            match now_ns < end_ns && !is_asleep(accounts.shell()) {
                true => self.settles.push(Reverse((now_ns + SETTLE_NS, seat_index))),
                false => self.settle(seat_index),
            }
        }
    }

    /// Completes the accounts of the last interaction of a user, if they are open.
    pub(super) fn settle(&mut self, seat_index: usize) {
        let seat = &mut self.seats[seat_index];
        let Some((mut interaction, before)) = seat.settling.take() else { return };
        let after = seat.accounts.as_mut().and_then(|accounts| accounts.totals(self.ends.as_mut()));
        let response = interaction.sent_ns.zip(interaction.completion_ns);
        if let (Some(after), Some((sent_ns, end_ns))) = (after, response) {
            interaction.used = Some(after.since(&before, end_ns.saturating_sub(sent_ns)));
        }
        self.finished.push(interaction);
    }

    /// Opens the accounts of the next interaction of a user.
    pub(super) fn open_accounts(&mut self, seat_index: usize) {
        self.settle(seat_index);
        let seat = &mut self.seats[seat_index];
        let totals = seat.accounts.as_mut().and_then(|accounts| accounts.totals(self.ends.as_mut()));
        seat.before = totals.map_or(Before::Unknown, Before::Known);
    }

    /// Reads all reports that have arrived: the socket is shared by all users' processes.
    pub(super) fn read_reports(&mut self) -> Result<(), TerminalsError> {
        while let Some(report) = self.nursery.report()? {
            match report {
                Report::Ready { user, session } => {
                    self.outcome.sessions.insert(user, session);
                }
                Report::Done(service) => self.account(service),
                Report::Failed { user, problem } => return Err(TerminalsError::User { user, problem }),
                Report::Measured { .. } => {}
            }
        }
        Ok(())
    }

    /// Adds a report to its interaction. Report and prompt arrive in either order: they use two sockets.
    fn account(&mut self, service: Service) {
        // Users are numbered from 1, seats from 0.
        let Some(seat) = (service.user as usize).checked_sub(1).and_then(|index| self.seats.get_mut(index))
        else {
            return;
        };
        match seat.unreported.remove(&service.index) {
            Some(mut interaction) => {
                interaction.service = Some(service);
                self.finished.push(interaction);
            }
            None => seat.early = Some(service),
        }
    }

    /// Ends the play: hands over the unfinished interactions and closes the terminals.
    pub(super) fn end(&mut self, now_ns: u64) -> Result<(), TerminalsError> {
        self.read_reports()?;
        self.outcome.elapsed_s = (now_ns - self.start_ns) as f64 * 1e-9;
        self.outcome.accounts = self.play.work.is_measured().then(|| Sources {
            cpu_time: match self.play.work.group(1, 0) {
                Some(_) => Clock::Group,
                None => Clock::Processes,
            },
            waits: self.ends.is_some(),
        });
        self.outcome.lateness_mean_s = self.lateness_ns as f64 * 1e-9 / self.started.max(1) as f64;
        let population = self.population(now_ns);
        for seat_index in 0..self.seats.len() {
            self.settle(seat_index);
        }
        for seat in &mut self.seats {
            self.finished.extend(std::mem::take(&mut seat.unreported).into_values());
            if let Some(Reply { interaction, .. }) = seat.reply.take() {
                self.outcome.unfinished += 1;
                self.finished.push(interaction);
            }
            if self.play.open_loop && !matches!(seat.phase, Phase::Starting | Phase::Gone) {
                if matches!(seat.phase, Phase::Busy) {
                    seat.think(self.play, seat.due_ns);
                }
                // Inputs that were due and never sent are rows too: without them an overloaded system would look
                // better than it is.
                while seat.due_ns < now_ns {
                    self.outcome.dropped += 1;
                    self.finished.extend(seat.arrive(population).map(|reply| reply.interaction));
                    seat.think(self.play, seat.due_ns);
                }
            }
            // Closing the terminal hangs up: SIGHUP ends the process.
            seat.terminal = None;
        }
        Ok(())
    }
}
