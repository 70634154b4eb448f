//! The processor: who has it, for how long, and what it costs to give it to another (`swtch` and `setpri` in `slp.c`,
//! `trap.c`).

use thinktime_engine::{Calendar, Priority, Span, Time};

use super::calls::Call;
use super::machine::Machine;
use super::process::{SWAPPER, next_to_run};
use super::states::{Current, Flow, Mode, Search};
use super::units::PROCESSOR;
use super::workload::Step;
use crate::kernel::Monitor;

impl<M: Monitor> Machine<'_, M> {
    /// `setpri`: sets the priority of a process that returns to user mode.
    pub fn set_user_priority(&mut self, p: usize) {
        let priority = self.processes[p].user_priority();
        self.processes[p].priority = priority;
        // As in Sixth Edition, whose comparison is this way round: a worse priority makes the kernel look again.
        self.reconsider |= priority > self.current_priority;
    }

    /// `swtch`: gives the processor, which idles, to who deserves it, until one has something to compute or nobody has.
    pub fn dispatch(&mut self, calendar: &mut Calendar) {
        // A process may sleep again at once without having computed: then the next one is tried.
        while !self.over && self.current.is_none() && self.search.is_none() {
            if self.config.costs.search == Span::ZERO {
                self.reconsider = false;
                if !self.choose(calendar) {
                    return;
                }
            } else if next_to_run(&self.processes, self.last).is_some() {
                self.meters.processor_taken(calendar.now());
                self.begin_search(calendar);
            } else {
                // After an interrupt that made nobody ready the kernel searches too: in time that is idle anyway.
                return;
            }
        }
    }

    /// Begins a search for the next process, which takes time.
    fn begin_search(&mut self, calendar: &mut Calendar) {
        self.reconsider = false;
        let (now, left) = (calendar.now(), self.config.costs.search);
        self.search = Some(Search { left, since: now });
        calendar.set(PROCESSOR, now + self.interrupts + left, Priority::Completion);
    }

    /// A search for the next process has ended: it runs, or the processor idles.
    pub fn search_ends(&mut self, calendar: &mut Calendar) {
        // Those who became ready during the search are found too. If they set `runrun`, it stays set, as it is cleared
        // when a search begins.
        if self.search.take().is_some() && !self.choose(calendar) {
            self.meters.processor_idle(calendar.now());
        }
    }

    /// Gives the processor to the process that deserves it; false where nobody is ready.
    fn choose(&mut self, calendar: &mut Calendar) -> bool {
        let Some(p) = next_to_run(&self.processes, self.last) else { return false };
        let now = calendar.now();
        self.last = p;
        self.current_priority = self.processes[p].priority;
        self.current = Some(Current { process: p, since: now });
        self.meters.processor_taken(now);
        // The first time that the worker has the processor after its pause.
        if let Some(interaction) = &mut self.processes[p].interaction {
            interaction.first_service.get_or_insert(now);
        }
        self.event(now, "slice_start", p, None);
        self.run(p, calendar);
        true
    }

    /// The current process goes on until it has to compute, or gives the processor up.
    pub fn run(&mut self, p: usize, calendar: &mut Calendar) {
        loop {
            let now = calendar.now();
            let left = self.processes[p].left;
            // Steps that cost nothing could follow one another for ever, without an event.
            if !calendar.spend(u64::from(left == Span::ZERO)) {
                return;
            }
            if left > Span::ZERO {
                // Interrupts that were charged to this process come before its own time.
                calendar.set(PROCESSOR, now + self.interrupts + left, Priority::Completion);
                return;
            }
            // The swapper has no program: its state is in `swapper`.
            let flow = if p == SWAPPER { self.swap_processes(calendar) } else { self.proceed(p, calendar) };
            match flow {
                Flow::Compute(span) => self.processes[p].left = span,
                Flow::Sleep(channel, priority) => {
                    self.sleep(p, channel, priority, now);
                    self.give_up(calendar);
                    return;
                }
                Flow::Away => {
                    self.give_up(calendar);
                    return;
                }
                // Back to user mode: here alone the kernel looks whether somebody deserves the processor
                // more.
                Flow::Done => {
                    self.processes[p].call = None;
                    self.processes[p].mode = Mode::User;
                    self.set_user_priority(p);
                    if self.reconsider {
                        self.give_up(calendar);
                        return;
                    }
                }
            }
        }
    }

    /// Takes the processor from the current process; the search for the next one begins, if it takes time.
    fn give_up(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        if let Some(current) = self.current.take() {
            self.event(now, "slice_end", current.process, None);
            if self.config.costs.search > Span::ZERO {
                self.begin_search(calendar);
            } else {
                self.meters.processor_idle(now);
            }
        }
    }

    /// The current process goes on in its system call, or begins its next step.
    fn proceed(&mut self, p: usize, calendar: &mut Calendar) -> Flow {
        if self.processes[p].call.is_some() {
            return self.call(p, calendar);
        }
        match self.processes[p].program.next() {
            Step::Compute(span) => {
                self.processes[p].mode = Mode::User;
                Flow::Compute(self.config.scaled(span))
            }
            Step::Finish => {
                self.meters.elapsed = Some(calendar.now().since(Time::ZERO));
                // Nobody does anything more: the run ends with this event.
                self.over = true;
                Flow::Away
            }
            step => {
                if matches!(step, Step::Pause(_)) {
                    // The response ends where the pause is asked for, before the time of the system call.
                    self.interaction_ends(p, calendar.now());
                }
                self.processes[p].mode = Mode::System;
                self.processes[p].call = Call::of(step);
                Flow::Compute(self.config.costs.call)
            }
        }
    }

    /// Books the processor time that the current process, or the search for the next, has had since the last call.
    pub fn account(&mut self, now: Time) {
        let since = match (&mut self.search, &mut self.current) {
            (Some(search), _) => &mut search.since,
            (None, Some(current)) => &mut current.since,
            (None, None) => return,
        };
        let passed = now.since(std::mem::replace(since, now));
        // Interrupts come first: their time is the system's, and the process waits for it.
        let stolen = passed.min(self.interrupts);
        self.interrupts -= stolen;
        let had = passed - stolen;
        if let Some(search) = &mut self.search {
            search.left -= had;
            self.meters.charge_outside(passed);
            return;
        }
        let Some(current) = self.current else { return };
        let process = &mut self.processes[current.process];
        process.left -= had;
        if current.process == SWAPPER {
            self.meters.charge_outside(passed);
            return;
        }
        if let Some(interaction) = &mut process.interaction {
            interaction.service += had;
        }
        process.active |= process.mode == Mode::User && had > Span::ZERO;
        self.meters.charge_mode(Mode::System, stolen);
        self.meters.charge_mode(process.mode, had);
    }

    /// Charges a disk interrupt to the current process, or to the search for the next; an idle processor serves it in
    /// idle time.
    pub fn steal(&mut self, calendar: &mut Calendar) {
        let cost = self.config.costs.interrupt;
        if cost == Span::ZERO || (self.current.is_none() && self.search.is_none()) {
            return;
        }
        self.account(calendar.now());
        self.interrupts += cost;
        // What the process has left ends later by the time of the interrupt.
        let left = match (self.search, self.current) {
            (Some(search), _) => search.left,
            (None, Some(current)) => self.processes[current.process].left,
            (None, None) => Span::ZERO,
        };
        calendar.set(PROCESSOR, calendar.now() + self.interrupts + left, Priority::Completion);
    }

    /// End of an interrupt: another process may deserve the processor more than one in user mode.
    pub fn after_interrupt(&mut self, calendar: &mut Calendar) {
        if self.search.is_some() {
            return;
        }
        if let Some(current) = self.current {
            // In system mode the kernel goes on: `runrun` is looked at on its way back to the user.
            if !self.reconsider || self.processes[current.process].mode == Mode::System {
                return;
            }
            self.account(calendar.now());
            calendar.clear(PROCESSOR);
            self.give_up(calendar);
        }
        self.dispatch(calendar);
    }
}
