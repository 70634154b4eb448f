//! Terminals: users think and type, replies are typed to them.

use std::sync::Arc;

use thinktime_engine::{Calendar, Priority, Slot, Span, Time};

use super::machine::{Interrupt, Machine, SLOTS_A_USER, near_slots};
use super::users::{Input, Line, Role, Work};
use crate::kernel::{Interaction, Monitor};

/// Far slot of a user: it has typed a line.
const TYPES: u32 = 0;
/// Far slot of a user: a line of its reply has been typed.
const REPLY: u32 = 1;

impl<M: Monitor> Machine<'_, M> {
    fn slot(&self, user: u32, which: u32) -> Slot {
        Slot(near_slots(self.config.disk_arms) + SLOTS_A_USER * user + which)
    }

    /// Users log in at times spread evenly over the first think time of each.
    pub(super) fn log_in_all(&mut self, calendar: &mut Calendar) {
        for user in 0..self.users.len() as u32 {
            // Spread over the think time, or all would type their first line at once.
            let part = self.users[user as usize].think.uniform();
            self.thinks(user, part, calendar);
        }
    }

    /// User `number` decides on its next line, and thinks for `part` of its think time.
    fn thinks(&mut self, number: u32, part: f64, calendar: &mut Calendar) {
        let config = self.config;
        let user = &mut self.users[number as usize];
        let line = match user.role {
            Role::Scripted if !config.shuffled => {
                // The position is kept with the user: a script goes on where it was, round and round.
                let line = user.position;
                user.position = (line + 1) % config.script_lines;
                line
            }
            Role::Scripted | Role::Normal => user.think.below(config.script_lines as u64) as usize,
            // The line after the script's is the housekeeping's.
            Role::Housekeeping => config.script_lines,
        };
        let think = match user.role {
            Role::Normal => &config.normal_think,
            Role::Scripted | Role::Housekeeping => &config.lines[line].think,
        };
        let think = Span::from_nanoseconds(think.sample(&mut user.think).0 as f64 * part);
        user.next = Input { line, typed: calendar.now() + think, think };
        calendar.set(self.slot(number, TYPES), calendar.now() + think, Priority::Arrival);
    }

    /// An event of a far slot.
    pub(super) fn terminal_is_due(&mut self, slot: u32, calendar: &mut Calendar) {
        let user = slot / SLOTS_A_USER;
        if slot % SLOTS_A_USER == TYPES {
            self.types(user, calendar);
        } else {
            self.line_is_typed(user, calendar);
        }
    }

    /// A line has been typed.
    fn types(&mut self, number: u32, calendar: &mut Calendar) {
        let user = &mut self.users[number as usize];
        let input = user.next;
        user.inputs.push_back(input);
        // Also where it is answered before the next sample.
        user.active = true;
        self.measures.interactions.enter(calendar.now());
        // A line that is not waited for: the next one is thought of at once, and may be typed ahead.
        if self.config.lines[input.line].waits.is_none() {
            self.thinks(number, 1.0, calendar);
        }
        // The process does not know of the line until a processor has taken the interrupt.
        self.interrupt(Interrupt::LineIn(number), calendar);
    }

    /// The process of the user reads a line, if it is not at work on an earlier one.
    pub(super) fn reads(&mut self, number: u32, calendar: &mut Calendar) {
        let config = self.config;
        let user = &mut self.users[number as usize];
        if user.work.is_some() {
            return;
        }
        let factor = match user.role {
            Role::Scripted => config.demand,
            Role::Normal => config.demand * config.normal_demand,
            Role::Housekeeping => 1.0,
        };
        let before = user.line;
        let Some(input) = user.begins(&config.lines, factor) else { return };
        user.level = 0;
        // Every interaction begins on top: a process is long-running only until it is answered.
        if before.is_some_and(|before| config.lines[before].command != config.lines[input.line].command) {
            self.core.turns_over(number, config.kept);
            self.segments.turns_over(number, config.kept);
        }
        self.wants_to_run(number, calendar);
    }

    /// The work that a line asked for is done.
    pub(super) fn answers(&mut self, number: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        self.ceases_to_be_eligible(number, now);
        // Before the next line is read: it has to become eligible again, behind the others.
        let config = self.config;
        let user = &mut self.users[number as usize];
        let Some(work) = user.work.take() else { return };
        let line = &config.lines[work.input.line];
        let lines = line.lines.sample(&mut user.demand).seconds().round() as u32;
        // If a reply is being typed, the new lines follow it.
        let begins_to_type = user.lines == 0 && lines > 0;
        // Added: with type-ahead the reply before may not have been typed yet.
        user.lines += lines;
        user.reads_reply = line.waits.is_some() && user.lines > 0;
        let thinks = line.waits.is_some() && user.lines == 0;
        if begins_to_type {
            calendar.set(self.slot(number, REPLY), now + config.line_time, Priority::Arrival);
        }
        self.measures.interactions.leave(now, work.input.typed);
        self.is_answered(number, &work, now);
        if thinks {
            self.thinks(number, 1.0, calendar);
        }
        self.reads(number, calendar);
    }

    /// Records an interaction that is complete.
    fn is_answered(&mut self, number: u32, work: &Work, now: Time) {
        let config = self.config;
        let line = &config.lines[work.input.line];
        let role = self.users[number as usize].role;
        let output = work.first_output.unwrap_or(now);
        let measures = &mut self.measures;
        measures.completed(&work.charged);
        if role != Role::Housekeeping {
            self.meters.interactions += 1;
            let response = output.since(work.input.typed);
            if line.waits.is_some() {
                measures.responses.record(response);
                measures.batches.record(now, response);
            }
        }
        if role == Role::Scripted {
            self.meters.script_interactions += 1;
            self.meters.script.add(&work.charged);
            if let Some(at) = line.waits {
                let response = config.by_the_users_clock(work.input.typed, output);
                measures.all.record(response);
                measures.by_line[at as usize].record(response);
                // Heavy commands apart: a few of them dominate the mean of all.
                if line.heavy { &mut measures.heavy } else { &mut measures.light }.record(response);
            }
        }
        if M::LISTENS && role != Role::Housekeeping {
            self.monitor.interaction(&reported(number, work, line, Some(now)));
        }
    }

    /// Reports interactions that the end of the run cuts short.
    pub(super) fn report_unfinished(&mut self) {
        if !M::LISTENS {
            return;
        }
        let config = self.config;
        let typing = self.users.iter().enumerate().filter(|(_, user)| user.role != Role::Housekeeping);
        for (number, user) in typing {
            if let Some(work) = &user.work {
                self.monitor.interaction(&reported(
                    number as u32,
                    work,
                    &config.lines[work.input.line],
                    None,
                ));
            }
            for input in &user.inputs {
                let work = Work::of(*input);
                self.monitor.interaction(&reported(number as u32, &work, &config.lines[input.line], None));
            }
        }
    }

    /// A line of the reply has been typed.
    fn line_is_typed(&mut self, number: u32, calendar: &mut Calendar) {
        let user = &mut self.users[number as usize];
        user.lines -= 1;
        if user.lines > 0 {
            let next = calendar.now() + self.config.line_time;
            calendar.set(self.slot(number, REPLY), next, Priority::Arrival);
        } else if std::mem::take(&mut user.reads_reply) {
            self.thinks(number, 1.0, calendar);
        }
        self.interrupt(Interrupt::LineOut, calendar);
    }
}

/// An interaction as the log has it.
fn reported(user: u32, work: &Work, line: &Line, completion: Option<Time>) -> Interaction {
    Interaction {
        user,
        class: Arc::clone(&line.command),
        think: work.input.think,
        arrival: work.input.typed,
        first_service: work.first_service,
        first_output: work.first_output.or(completion),
        completion,
        service: Span(work.charged.all()),
        waited: line.waits.is_some(),
    }
}
