//! The interface of a simulated system, and the loop that drives it.

use crate::calendar::{Calendar, Slot};
use crate::time::Time;

/// A simulated system: it owns its users, stations, streams and statistics.
pub trait Model {
    /// Sets the first events.
    fn start(&mut self, calendar: &mut Calendar);

    /// Performs the event that was due in `slot`, at `calendar.now()`.
    fn handle(&mut self, slot: Slot, calendar: &mut Calendar);

    /// Begins statistics again at `calendar.now()`: the warm-up is over.
    fn restart_statistics(&mut self, calendar: &Calendar);

    /// True if all work is done, so that the run ends early. Called after every event, so it must be cheap.
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs `model` from empty to `end`, or until it is over; statistics count from `warm_up` on. Events at `end`
/// itself are not served: they belong to the time after the run. A run that reaches a limit of the calendar ends there,
/// and `calendar.exhausted()` says so.
// Generic and not `dyn Model`: `handle` is inlined into the loop of each system.
pub fn run<M: Model>(model: &mut M, calendar: &mut Calendar, warm_up: Time, end: Time) {
    model.start(calendar);
    if warm_up > Time::ZERO {
        // A warm-up longer than the run leaves an empty observation, not a run beyond its end.
        advance(model, calendar, warm_up.min(end));
        if model.is_over() || calendar.exhausted().is_some() {
            return;
        }
        // The calendar stands at the end of the warm-up now, not at its last event: integrals begin there.
        model.restart_statistics(calendar);
    }
    advance(model, calendar, end);
}

/// Serves the events before `end`.
fn advance<M: Model>(model: &mut M, calendar: &mut Calendar, end: Time) {
    while let Some(slot) = calendar.next(end) {
        model.handle(slot, calendar);
        if model.is_over() {
            return;
        }
    }
    if calendar.exhausted().is_some() {
        return;
    }
    // Not after an early end: the model is over at its last event, and statistics end there.
    calendar.finish(end);
}
