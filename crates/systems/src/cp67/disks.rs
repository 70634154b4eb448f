//! Disks behind selector channels: a spindle seeks by itself and then holds its channel until the transfer is
//! done.

use std::collections::VecDeque;

use thinktime_engine::{Balance, Busy, Calendar, LawViolation, Laws, Priority, Slot, Span, Stream, Time};

/// Spindles, channels, and times of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DisksPlan {
    /// Spindles with the users' virtual disks.
    pub spindles: u32,
    /// Selector channels; spindles are dealt out to them in turn.
    pub channels: u32,
    /// Share of the requests before which the arm moves.
    pub seek_share: f64,
    /// Upper limit of the seek time, which is uniform from zero.
    pub longest_seek: Span,
    /// Upper limit of the latency, which is uniform from zero.
    pub revolution: Span,
    /// Transfer time of a request.
    pub transfer: Span,
}

/// A VSIO that a user waits for.
#[derive(Clone, Copy, Debug)]
struct Request {
    user: u32,
    asked: Time,
}

/// State of a spindle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has no request.
    Nothing,
    /// The arm moves; no channel is needed.
    Seeking,
    /// The arm is there, but another spindle holds the channel.
    WaitingForChannel,
    /// It holds its channel, from the latency to the end of the transfer.
    Transferring,
}

/// A spindle, which serves its requests in order of arrival.
#[derive(Clone, Debug)]
struct Spindle {
    waiting: VecDeque<Request>,
    /// The request being served, and since when.
    serving: Option<(Request, Time)>,
    state: State,
}

/// A selector channel.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// True while a spindle has it.
    held: bool,
    /// Spindles that wait for it, the first come first.
    waiting: VecDeque<u32>,
}

/// All spindles and channels.
pub(super) struct Disks {
    plan: DisksPlan,
    /// The slot of the first spindle; the others follow.
    first: Slot,
    spindles: Vec<Spindle>,
    channels: Vec<Channel>,
    stream: Stream,
    /// Spindles that serve.
    pub busy: Busy,
    /// Requests waiting or being served.
    present: Balance,
}

impl Disks {
    pub fn new(plan: DisksPlan, first: Slot, stream: Stream) -> Disks {
        let spindle = Spindle { waiting: VecDeque::new(), serving: None, state: State::Nothing };
        Disks {
            plan,
            first,
            spindles: vec![spindle; plan.spindles as usize],
            channels: vec![Channel::default(); plan.channels as usize],
            stream,
            busy: Busy::default(),
            present: Balance::default(),
        }
    }

    /// Number of spindles.
    pub fn spindles(&self) -> u32 {
        self.plan.spindles
    }

    /// Calendar slot of `spindle`.
    fn slot(&self, spindle: u32) -> Slot {
        Slot(self.first.0 + spindle)
    }

    /// A request of `user` comes to `spindle`.
    pub fn ask(&mut self, spindle: u32, user: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        self.present.enter(now);
        self.spindles[spindle as usize].waiting.push_back(Request { user, asked: now });
        if self.spindles[spindle as usize].state == State::Nothing {
            self.begin(spindle, calendar);
        }
    }

    /// Begins the next request of `spindle`, if there is one.
    fn begin(&mut self, spindle: u32, calendar: &mut Calendar) {
        let now = calendar.now();
        let arm = &mut self.spindles[spindle as usize];
        let Some(request) = arm.waiting.pop_front() else {
            arm.state = State::Nothing;
            return;
        };
        arm.serving = Some((request, now));
        self.busy.begin(now);
        // Without a seek the request goes to its channel at once.
        if self.stream.uniform() < self.plan.seek_share {
            self.spindles[spindle as usize].state = State::Seeking;
            let seek = Span::from_nanoseconds(self.plan.longest_seek.0 as f64 * self.stream.uniform());
            calendar.set(self.slot(spindle), now + seek, Priority::Completion);
        } else {
            self.wants_channel(spindle, calendar);
        }
    }

    /// The arm is in place: the transfer needs the channel.
    fn wants_channel(&mut self, spindle: u32, calendar: &mut Calendar) {
        let channel = &mut self.channels[(spindle % self.plan.channels) as usize];
        if channel.held {
            self.spindles[spindle as usize].state = State::WaitingForChannel;
            channel.waiting.push_back(spindle);
        } else {
            channel.held = true;
            self.transfer(spindle, calendar);
        }
    }

    fn transfer(&mut self, spindle: u32, calendar: &mut Calendar) {
        self.spindles[spindle as usize].state = State::Transferring;
        // The channel is held during the latency, too: a selector channel cannot serve another spindle
        // meanwhile.
        let latency = Span::from_nanoseconds(self.plan.revolution.0 as f64 * self.stream.uniform());
        let end = calendar.now() + latency + self.plan.transfer;
        calendar.set(self.slot(spindle), end, Priority::Completion);
    }

    /// The user whose request is done, if one is: an event of `spindle` was due.
    pub fn due(&mut self, spindle: u32, calendar: &mut Calendar) -> Option<u32> {
        if self.spindles[spindle as usize].state == State::Seeking {
            self.wants_channel(spindle, calendar);
            return None;
        }
        let (request, begun) = self.spindles[spindle as usize].serving.take()?;
        let now = calendar.now();
        self.busy.end(now);
        self.busy.complete(now.since(begun));
        self.present.leave(now, request.asked);
        let channel = (spindle % self.plan.channels) as usize;
        match self.channels[channel].waiting.pop_front() {
            // The channel goes to the one that waits longest, before this spindle's next request can want it.
            Some(next) => self.transfer(next, calendar),
            None => self.channels[channel].held = false,
        }
        self.begin(spindle, calendar);
        Some(request.user)
    }

    /// The machine stops: all requests are lost.
    pub fn stop(&mut self, calendar: &mut Calendar) {
        let now = calendar.now();
        for number in 0..self.plan.spindles {
            calendar.clear(self.slot(number));
            let spindle = &mut self.spindles[number as usize];
            spindle.state = State::Nothing;
            if let Some((request, begun)) = spindle.serving.take() {
                self.busy.end(now);
                self.busy.complete(now.since(begun));
                self.present.leave(now, request.asked);
            }
            for request in spindle.waiting.drain(..) {
                self.present.leave(now, request.asked);
            }
        }
        // No transfer survives a stop, so that no channel is held after it.
        self.channels.fill(Channel::default());
    }

    /// Service so far of the requests that are being served [ns].
    fn received(&self, now: Time) -> u128 {
        let begun = self.spindles.iter().filter_map(|spindle| spindle.serving);
        begun.map(|(_, begun)| u128::from(now.since(begun).0)).sum()
    }

    /// Little's law and the utilisation law hold for the spindles together.
    pub fn check(&self, now: Time, laws: &mut Laws) -> Result<(), LawViolation> {
        let arrivals = self.spindles.iter().flat_map(|spindle| {
            let serving = spindle.serving.iter().map(|(request, _)| request.asked);
            serving.chain(spindle.waiting.iter().map(|request| request.asked))
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
