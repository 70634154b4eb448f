//! What becomes of an interaction: completed, reported by its process, accounted, or left at the end of the play.

use super::Driver;
use super::seat::Phase;
use crate::error::TerminalsError;
use crate::nursery::message::{Report, Service};

impl Driver<'_> {
    /// The reply ended at `end_ns`: completes the interaction and begins the think time.
    pub(super) fn completed(&mut self, seat_index: usize, end_ns: u64, now_ns: u64, has_prompt: bool) {
        let seat = &mut self.seats[seat_index];
        seat.has_prompt = has_prompt;
        let Some(mut interaction) = seat.current.take() else { return };
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
            _ => self.finished.push(interaction),
        }
        let from_ns = if self.play.open_loop { seat.due_ns } else { end_ns };
        self.think(seat_index, from_ns, now_ns);
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
        self.outcome.lateness_mean_s = self.lateness_ns as f64 * 1e-9 / self.started.max(1) as f64;
        let population = self.population(now_ns);
        for seat in &mut self.seats {
            self.finished.extend(std::mem::take(&mut seat.unreported).into_values());
            if let Some(current) = seat.current.take() {
                self.outcome.unfinished += 1;
                self.finished.push(current);
            }
            if self.play.open_loop && !matches!(seat.phase, Phase::Starting | Phase::Gone) {
                if matches!(seat.phase, Phase::Busy) {
                    seat.think(self.play, seat.due_ns);
                }
                // Inputs that were due and never sent are rows too: without them an overloaded system would look
                // better than it is.
                while seat.due_ns < now_ns {
                    self.outcome.dropped += 1;
                    self.finished.extend(seat.arrive(population).map(|arrived| arrived.0));
                    seat.think(self.play, seat.due_ns);
                }
            }
            // Closing the terminal hangs up: SIGHUP ends the process.
            seat.terminal = None;
        }
        Ok(())
    }
}
