//! Disk arms: each page is on one of them, and each serves in order of arrival.

use std::collections::VecDeque;

use thinktime_engine::{Balance, Busy, Calendar, LawViolation, Laws, Priority, Slot, Span, Stream, Time};

#[derive(Clone, Copy, Debug)]
struct Request {
    process: u32,
    asked: Time,
}

#[derive(Clone, Debug, Default)]
struct Arm {
    waiting: VecDeque<Request>,
    serving: Option<(Request, Time)>,
}

pub(super) struct Disks {
    /// Mean time of an access; each takes between half of it and half as much again.
    access: Span,
    first: Slot,
    arms: Vec<Arm>,
    stream: Stream,
    pub busy: Busy,
    pub present: Balance,
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
        let at = self.stream.below(self.arms.len() as u64) as usize;
        self.present.enter(now);
        self.arms[at].waiting.push_back(Request { process, asked: now });
        if self.arms[at].serving.is_none() {
            self.begin(at, calendar);
        }
    }

    fn begin(&mut self, at: usize, calendar: &mut Calendar) {
        let now = calendar.now();
        let Some(request) = self.arms[at].waiting.pop_front() else { return };
        self.arms[at].serving = Some((request, now));
        self.busy.begin(now);
        let access = Span::from_nanoseconds(self.access.0 as f64 * (0.5 + self.stream.uniform()));
        calendar.set(Slot(self.first.0 + at as u32), now + access, Priority::Completion);
    }

    /// An access of arm `at` is done: whose page has come.
    pub fn due(&mut self, at: u32, calendar: &mut Calendar) -> Option<u32> {
        let now = calendar.now();
        let (request, begun) = self.arms[at as usize].serving.take()?;
        self.busy.end(now);
        self.busy.complete(now.since(begun));
        self.present.leave(now, request.asked);
        self.begin(at as usize, calendar);
        Some(request.process)
    }

    /// Service so far of the requests that are being served [ns].
    fn received(&self, now: Time) -> u128 {
        let begun = self.arms.iter().filter_map(|arm| arm.serving);
        begun.map(|(_, begun)| u128::from(now.since(begun).0)).sum()
    }

    /// Little's law and the utilisation law hold for the arms together.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        let there = self.arms.iter().flat_map(|arm| {
            let serving = arm.serving.iter().map(|(request, _)| request.asked);
            serving.chain(arm.waiting.iter().map(|request| request.asked))
        });
        self.present.check("disks", now, there, laws)?;
        self.busy.check("disks", now, self.received(now), laws)
    }

    /// Statistics begin anew at `now`; requests stay.
    pub fn restart_statistics(&mut self, now: Time) {
        self.present.restart(now);
        self.busy.restart(now, self.received(now));
    }
}
