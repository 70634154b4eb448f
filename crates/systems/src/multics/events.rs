//! The six kinds of supervisor path that are metered, and how long they take.

use thinktime_engine::{Span, Stream};

/// What the capacity of the processors is spent on, beside useful work and idling (Sekino 1971, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    PageFault,
    /// The traffic controller chooses who runs next.
    Getwork,
    DrumInterrupt,
    /// Any other: of disks, terminals and the timer.
    Interrupt,
    SegmentFault,
    GateFault,
}

pub(super) const EVENTS: usize = 6;

impl Event {
    pub const ALL: [Event; EVENTS] = [
        Event::PageFault,
        Event::Getwork,
        Event::DrumInterrupt,
        Event::Interrupt,
        Event::SegmentFault,
        Event::GateFault,
    ];

    /// Its name in columns and parameters.
    pub fn name(self) -> &'static str {
        match self {
            Event::PageFault => "page_fault",
            Event::Getwork => "getwork",
            Event::DrumInterrupt => "drum_interrupt",
            Event::Interrupt => "interrupt",
            Event::SegmentFault => "segment_fault",
            Event::GateFault => "gate_fault",
        }
    }

    /// Its name in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Event::PageFault => "page fault",
            Event::Getwork => "getwork",
            Event::DrumInterrupt => "drum interrupt",
            Event::Interrupt => "interrupt",
            Event::SegmentFault => "segment fault",
            Event::GateFault => "gate fault",
        }
    }
}

/// How long the paths are while nobody interferes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths {
    mean: [Span; EVENTS],
    /// Standard deviation of the logarithm of a path's length.
    sigma: f64,
}

impl Paths {
    /// Log-normal paths of these means and of coefficient of variation `variation`.
    pub fn new(mean: [Span; EVENTS], variation: f64) -> Paths {
        Paths { mean, sigma: (variation * variation).ln_1p().sqrt() }
    }

    pub fn mean(&self, event: Event) -> Span {
        self.mean[event as usize]
    }

    #[inline]
    pub fn draw(&self, event: Event, stream: &mut Stream) -> Span {
        let varied = (self.sigma * (stream.normal() - 0.5 * self.sigma)).exp();
        Span::from_nanoseconds(self.mean[event as usize].0 as f64 * varied)
    }
}
