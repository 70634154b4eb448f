//! Interactions of the workers: each begins when a pause ends, and ends when the next pause is asked for.

use thinktime_engine::{Span, Time};

use super::machine::Machine;
use super::process::Running;
use super::states::Role;
use crate::kernel::{Interaction, Monitor};

impl<M: Monitor> Machine<'_, M> {
    /// The pause of a worker ends, whether or not it is in memory: the next interaction begins.
    pub fn pause_ends(&mut self, p: usize, now: Time) {
        if self.processes[p].program.continues() {
            self.interaction_begins(p, now.since(self.processes[p].paused), now);
        }
    }

    /// A worker begins an interaction, after it thought for `think`.
    pub fn interaction_begins(&mut self, p: usize, think: Span, now: Time) {
        if let Role::Worker(_) = self.processes[p].role {
            // After no pause at all it has the processor already.
            let first_service = self.current.filter(|current| current.process == p).map(|_| now);
            let begun =
                Running { arrived: now, first_service, first_output: None, service: Span::ZERO, think };
            self.processes[p].interaction = Some(begun);
            self.meters.interactions.enter(now);
            self.event(now, "input", p, None);
        }
    }

    /// The interaction of a worker ends, if it is in one.
    pub fn interaction_ends(&mut self, p: usize, now: Time) {
        if let Some(ended) = self.processes[p].interaction.take() {
            self.meters.interaction_ends(&ended, now);
            self.event(now, "completion", p, None);
            self.report(p, &ended, Some(now));
        }
    }

    /// Reports an interaction to the monitor; without `completion`, one that the end of the run cut short.
    pub fn report(&mut self, p: usize, reported: &Running, completion: Option<Time>) {
        if let (true, Role::Worker(user)) = (M::LISTENS, self.processes[p].role) {
            self.monitor.interaction(&Interaction {
                user,
                class: self.labels.clone(),
                think: reported.think,
                arrival: reported.arrived,
                first_service: reported.first_service,
                first_output: reported.first_output,
                completion,
                service: reported.service,
                waited: true,
            });
        }
    }

    /// A worker has written to the terminal, or exited. When all have, statistics begin (section 4.3).
    pub fn has_written(&mut self, p: usize, now: Time) {
        if !std::mem::replace(&mut self.processes[p].seen, true) {
            self.unseen -= 1;
            if self.unseen == 0 && self.config.warm_up_on_output {
                self.restart_meters(now);
            }
        }
    }
}
