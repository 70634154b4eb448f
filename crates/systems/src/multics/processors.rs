//! The processors together: how they book their time, slow each other down, and take locks from each other.
//!
//! Two processors that are both active collide in the boxes of core, and each does its work the slower for it
//! (memory-cycle interference); one that spins slows the other down the more, as it takes cycles of the very box that
//! holds the tables. Tables of the supervisor are under locks; a processor that finds one taken spins until it is free
//! (data-base lockout).

use thinktime_engine::{Calendar, Priority, Slot, Span, Time};

use super::events::Event;
use super::locks::Section;
use super::machine::Machine;
use super::processor::{Path, Processor, State, Then};
use crate::kernel::Monitor;

impl<M: Monitor> Machine<'_, M> {
    /// Books the work of processor `cpu` until now. Then it has to be given other work, or scheduled again.
    pub(super) fn settle(&mut self, cpu: usize, now: Time) {
        let processor = &mut self.processors[cpu];
        let elapsed = now.since(processor.since);
        if elapsed == Span::ZERO {
            return;
        }
        processor.since = now;
        // Without interference no floating point: spans stay exact, and the law of time adds up to the
        // nanosecond.
        let work = if self.slowness == 1.0 {
            elapsed
        } else {
            Span::from_nanoseconds(elapsed.0 as f64 / self.slowness)
        };
        // Rounding may give a nanosecond more than was left.
        let work = work.min(processor.left);
        let process = processor.process;
        match processor.state {
            State::Idle | State::Deciding => self.meters.idle += elapsed.0,
            State::Useful(_) => {
                processor.left = Span(processor.left.0 - work.0);
                self.meters.useful += elapsed.0;
                self.meters.interference += elapsed.0.saturating_sub(work.0);
                self.ran(process, work, elapsed);
            }
            State::Path(path) => {
                processor.left = Span(processor.left.0 - work.0);
                self.meters.time[path.event as usize] += elapsed.0;
                self.meters.interference += elapsed.0.saturating_sub(work.0);
                self.charge(process, path.event, elapsed);
            }
            State::Spinning(path) => {
                // Waiting for a lock is booked to the event that waits. `left` stays: none of its work is
                // done.
                self.meters.time[path.event as usize] += elapsed.0;
                self.meters.lock_wait += elapsed.0;
                self.charge(process, path.event, elapsed);
            }
        }
    }

    /// Books a run of a process in user programs.
    fn ran(&mut self, process: Option<u32>, work: Span, elapsed: Span) {
        let Some(process) = process else { return };
        self.core.ran(process, work);
        self.segments.ran(process, work);
        let user = &mut self.users[process as usize];
        user.quantum = Span(user.quantum.0.saturating_sub(elapsed.0));
        if let Some(running) = &mut user.work {
            // Work and not elapsed time: interference makes a process slower, not its command shorter.
            running.left = Span(running.left.0.saturating_sub(work.0));
            running.charged.run += elapsed.0;
        }
    }

    /// Charges the time of an event to the process on the processor, if it is the cause of it.
    fn charge(&mut self, process: Option<u32>, event: Event, elapsed: Span) {
        let Some(user) = process.map(|process| &mut self.users[process as usize]) else { return };
        let Some(running) = &mut user.work else { return };
        match event {
            Event::PageFault => running.charged.page_fault += elapsed.0,
            Event::SegmentFault | Event::GateFault => running.charged.other_fault += elapsed.0,
            // Work for others: not charged to the process that happens to be on the processor, nor to its
            // quantum.
            Event::Getwork | Event::DrumInterrupt | Event::Interrupt => return,
        }
        user.quantum = Span(user.quantum.0.saturating_sub(elapsed.0));
    }

    /// Gives processor `cpu` other work from now on, which takes `length` at full speed.
    pub(super) fn does(&mut self, cpu: usize, state: State, length: Span, calendar: &mut Calendar) {
        let now = calendar.now();
        self.settle(cpu, now);
        let processor = &mut self.processors[cpu];
        (processor.state, processor.left) = (state, length);
        let slowness = self.slowness_now();
        // One change of state changes the speed of all: what they did is booked at the old speed before it
        // changes.
        if slowness != self.slowness {
            for other in 0..self.processors.len() {
                self.settle(other, now);
            }
            self.slowness = slowness;
            for other in 0..self.processors.len() {
                self.schedule(other, calendar);
            }
        } else {
            self.schedule(cpu, calendar);
        }
    }

    /// Time of work with the processors as they are now, as a multiple of its time alone.
    fn slowness_now(&self) -> f64 {
        // An idle processor makes no references to core, so that the other one is not delayed.
        if self.processors.len() < 2 || self.processors.iter().any(Processor::is_idle) {
            return 1.0;
        }
        let spins = self.processors.iter().any(|processor| matches!(processor.state, State::Spinning(_)));
        if spins { self.config.slowness.spinning } else { self.config.slowness.active }
    }

    /// Sets when the work of processor `cpu` ends at the current speed.
    fn schedule(&self, cpu: usize, calendar: &mut Calendar) {
        let processor = &self.processors[cpu];
        let slot = Slot(cpu as u32);
        match processor.state {
            State::Useful(_) | State::Path(_) => {
                let takes = if self.slowness == 1.0 {
                    processor.left
                } else {
                    // Rounded up: all of the work is done when the event comes.
                    Span((processor.left.0 as f64 * self.slowness).ceil() as u64)
                };
                calendar.set(slot, calendar.now() + takes, Priority::Completion);
            }
            State::Idle | State::Deciding | State::Spinning(_) => calendar.clear(slot),
        }
    }

    /// Processor `cpu` enters the path of an event.
    pub(super) fn enters(
        &mut self,
        cpu: usize,
        event: Event,
        first: Section,
        rest: Option<Section>,
        then: Then,
        calendar: &mut Calendar,
    ) {
        let path = Path { event, then, lock: first.lock, rest };
        self.enters_section(cpu, path, first.length, calendar);
    }

    /// Processor `cpu` enters a section of a path, or spins until its lock is free.
    fn enters_section(&mut self, cpu: usize, path: Path, length: Span, calendar: &mut Calendar) {
        // A processor may take a lock that it holds: the global lock covers paths that follow each other.
        let free = path.lock.is_none_or(|lock| self.holders[lock as usize].is_none_or(|by| by == cpu));
        if free {
            if let Some(lock) = path.lock {
                self.holders[lock as usize] = Some(cpu);
            }
            self.does(cpu, State::Path(path), length, calendar);
        } else {
            self.does(cpu, State::Spinning(path), length, calendar);
        }
    }

    /// True if the path has ended with this section.
    pub(super) fn section_ends(&mut self, cpu: usize, path: Path, calendar: &mut Calendar) -> bool {
        // Page control gives the processor away before it lets others at its tables.
        let keeps = self.config.hold_through_getwork && matches!(path.then, Then::AskForPage { .. });
        if let Some(lock) = path.lock.filter(|_| !keeps) {
            self.holders[lock as usize] = None;
            let spins = |state: &State| matches!(state, State::Spinning(other) if other.lock == Some(lock));
            // With two processors at most one can spin, so that there is no queue to be fair to.
            if let Some(next) = (0..self.processors.len()).find(|next| spins(&self.processors[*next].state)) {
                let State::Spinning(waiting) = self.processors[next].state else { return true };
                self.holders[lock as usize] = Some(next);
                // Spinning used up none of its section.
                let length = self.processors[next].left;
                self.does(next, State::Path(waiting), length, calendar);
            }
        }
        let Some(section) = path.rest else { return true };
        self.enters_section(cpu, Path { lock: section.lock, rest: None, ..path }, section.length, calendar);
        false
    }
}
