//! A paging drum: pages of one size, each anywhere on its track, served in the order of arrival or of rotation
//! (Denning, AFIPS SJCC 1967; Coffman, JACM 16, 1969: analysis of sector queueing).

use serde::Deserialize;
use std::collections::VecDeque;

use crate::balance::{Balance, Busy};
use crate::calendar::{Calendar, Priority, Slot};
use crate::laws::{LawViolation, Laws};
use crate::random::Stream;
use crate::time::{Span, Time};

/// Rule by which the next request is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Organisation {
    /// In order of arrival: half a revolution is lost before each page.
    #[serde(alias = "first_come")]
    Fcfs,
    /// Whichever page comes round first.
    SectorQueued,
}

/// Timing and organisation of a drum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrumPlan {
    /// Order of service.
    pub organisation: Organisation,
    /// Time of a revolution [ns].
    pub revolution: Span,
    /// Pages in a revolution; a track of a 2301 holds four and a half.
    pub pages: f64,
    /// From the end of a transfer until the next one can begin, and before the first.
    pub start: Span,
}

impl DrumPlan {
    /// Time in which a page passes the heads.
    pub fn transfer(&self) -> Span {
        Span::from_nanoseconds(self.revolution.0 as f64 / self.pages)
    }

    /// Pages per second when there are always requests; in the order of arrival a page begins anywhere in a
    /// revolution.
    // Sector queueing with a full queue loses no time between pages: one follows the other under the heads.
    pub fn most_per_s(&self) -> f64 {
        match self.organisation {
            Organisation::Fcfs => {
                1.0 / (self.start.seconds() + 0.5 * self.revolution.seconds() + self.transfer().seconds())
            }
            Organisation::SectorQueued => 1.0 / self.transfer().seconds(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Request<P> {
    page: P,
    /// Where its record begins [ns of a revolution].
    angle: u64,
    requested: Time,
}

/// A drum with its queue. `P` is the owner's identification of a page.
pub struct Drum<P> {
    plan: DrumPlan,
    slot: Slot,
    waiting: VecDeque<Request<P>>,
    /// The request in service, and when its service began.
    serving: Option<(Request<P>, Time)>,
    stream: Stream,
    /// Time in use, that of starts and latency included: the drum can do nothing else then.
    pub busy: Busy,
    /// Requests waiting or in service.
    pub present: Balance,
}

impl<P: Copy> Drum<P> {
    /// An idle drum; `slot` is the near slot of the end of its transfer.
    pub fn new(plan: DrumPlan, slot: Slot, stream: Stream) -> Drum<P> {
        Drum {
            plan,
            slot,
            waiting: VecDeque::new(),
            serving: None,
            stream,
            busy: Busy::default(),
            present: Balance::default(),
        }
    }

    /// Requests the transfer of `page`; an idle drum begins it.
    pub fn ask(&mut self, page: P, calendar: &mut Calendar) {
        // At least 1: a revolution of zero would leave nothing to draw from, and nothing to take a remainder of.
        // Pages were placed where there was room, which looks random when they are requested later.
        let angle = self.stream.below(self.plan.revolution.0.max(1));
        self.present.enter(calendar.now());
        self.waiting.push_back(Request { page, angle, requested: calendar.now() });
        if self.serving.is_none() {
            self.begin(calendar);
        }
    }

    /// Time after `from` at which the record at `angle` comes round.
    fn latency(&self, angle: u64, from: Time) -> u64 {
        let revolution = self.plan.revolution.0.max(1);
        (angle + revolution - from.0 % revolution) % revolution
    }

    /// Begins the next request, if one waits.
    fn begin(&mut self, calendar: &mut Calendar) {
        // Latency counts from here, not from now: a record that passes during the start is missed by a turn.
        let ready = calendar.now() + self.plan.start;
        let next = match self.plan.organisation {
            Organisation::Fcfs => 0,
            Organisation::SectorQueued => (0..self.waiting.len())
                // Of equal angles the first to come: `min_by_key` keeps the first.
                .min_by_key(|index| self.latency(self.waiting[*index].angle, ready))
                .unwrap_or(0),
        };
        let Some(request) = self.waiting.remove(next) else { return };
        let end = ready + Span(self.latency(request.angle, ready)) + self.plan.transfer();
        self.serving = Some((request, calendar.now()));
        self.busy.begin(calendar.now());
        calendar.set(self.slot, end, Priority::Completion);
    }

    /// Ends the transfer that was due, and begins the next: returns the page transferred.
    pub fn due(&mut self, calendar: &mut Calendar) -> Option<P> {
        let (request, begun) = self.serving.take()?;
        let now = calendar.now();
        self.busy.end(now);
        self.busy.complete(now.since(begun));
        self.present.leave(now, request.requested);
        self.begin(calendar);
        Some(request.page)
    }

    /// Stops the drum: no request is carried out any more.
    pub fn stop(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        if let Some((request, begun)) = self.serving.take() {
            self.busy.end(now);
            self.busy.complete(now.since(begun));
            self.present.leave(now, request.requested);
        }
        // They leave the books, or the laws would find them missing at the end of the run.
        for request in self.waiting.drain(..) {
            self.present.leave(now, request.requested);
        }
        calendar.clear(self.slot);
    }

    /// Checks Little's law and the utilisation law.
    ///
    /// # Errors
    /// Requests or busy time do not balance.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        let in_service = self.serving.iter().map(|(request, _)| request.requested);
        self.present.check(
            "drum",
            now,
            in_service.chain(self.waiting.iter().map(|request| request.requested)),
            laws,
        )?;
        self.busy.check("drum", now, self.received(now), laws)
    }

    /// Service so far of the request that is being served [ns].
    fn received(&self, now: Time) -> u128 {
        self.serving.map_or(0, |(_, begun)| u128::from(now.since(begun).0))
    }

    /// Statistics begin anew at `now`.
    pub fn restart_statistics(&mut self, now: Time) {
        self.present.restart(now);
        self.busy.restart(now, self.received(now));
    }
}
