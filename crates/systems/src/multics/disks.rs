//! Disk arms: each page is on one of them, and each serves in order of arrival.

use std::collections::VecDeque;

use thinktime_engine::{Balance, Busy, Calendar, LawViolation, Laws, Priority, Slot, Span, Stream, Time};

/// A page that a process waits for.
#[derive(Clone, Copy, Debug)]
struct Request {
    process: u32,
    /// When it was asked for.
    asked: Time,
}

/// One arm and its queue.
#[derive(Clone, Debug, Default)]
struct Arm {
    waiting: VecDeque<Request>,
    /// The request being served, and since when.
    serving: Option<(Request, Time)>,
}

/// All disk arms.
pub(super) struct Disks {
    /// Mean time of an access; each takes between half of it and half as much again.
    access: Span,
    /// Calendar slot of the first arm; the others follow.
    first: Slot,
    arms: Vec<Arm>,
    stream: Stream,
    /// Arms that serve.
    pub busy: Busy,
    /// Requests waiting or being served.
    present: Balance,
}

impl Disks {
    /// `arms` arms whose near slots begin at `first`.
    pub fn new(arms: u32, access: Span, first: Slot, stream: Stream) -> Disks {
        Disks {
            access,
            first,
            arms: vec![Arm::default(); arms as usize],
            stream,
            busy: Busy::default(),
            present: Balance::default(),
        }
    }

    /// A page of `process` is to be read.
    pub fn ask(&mut self, process: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        // Pages are spread over the arms at random: an arm may have a queue while another is idle.
        let arm = self.stream.below(self.arms.len() as u64) as usize;
        self.present.enter(now);
        self.arms[arm].waiting.push_back(Request { process, asked: now });
        if self.arms[arm].serving.is_none() {
            self.begin(arm, calendar);
        }
    }

    /// Begins the next access of arm `arm`, if there is one.
    fn begin(&mut self, arm: usize, calendar: &mut Calendar) {
        let now = calendar.now();
        let Some(request) = self.arms[arm].waiting.pop_front() else { return };
        self.arms[arm].serving = Some((request, now));
        self.busy.begin(now);
        let access = Span::from_nanoseconds(self.access.0 as f64 * (0.5 + self.stream.uniform()));
        calendar.set(Slot(self.first.0 + arm as u32), now + access, Priority::Completion);
    }

    /// Process whose page has come: an access of arm `arm` is done.
    pub fn due(&mut self, arm: u32, calendar: &mut Calendar) -> Option<u32> {
        let now = calendar.now();
        let (request, begun) = self.arms[arm as usize].serving.take()?;
        self.busy.end(now);
        self.busy.complete(now.since(begun));
        self.present.leave(now, request.asked);
        self.begin(arm as usize, calendar);
        Some(request.process)
    }

    /// Service so far of the requests that are being served [ns].
    fn received(&self, now: Time) -> u128 {
        let begun = self.arms.iter().filter_map(|arm| arm.serving);
        begun.map(|(_, begun)| u128::from(now.since(begun).0)).sum()
    }

    /// Little's law and the utilisation law hold for the arms together.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        let arrivals = self.arms.iter().flat_map(|arm| {
            let serving = arm.serving.iter().map(|(request, _)| request.asked);
            serving.chain(arm.waiting.iter().map(|request| request.asked))
        });
        self.present.check("disks", now, arrivals, laws)?;
        self.busy.check("disks", now, self.received(now), laws)
    }

    /// Statistics begin anew at `now`; requests stay.
    pub fn restart_statistics(&mut self, now: Time) {
        self.present.restart(now);
        self.busy.restart(now, self.received(now));
    }
}
