//! The six kinds of supervisor path that are metered, and how long they take.

use thinktime_engine::{Span, Stream};

/// Use of the processors' capacity besides useful work and idling (Sekino 1971, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A process refers to a page that is not in core.
    PageFault,
    /// The traffic controller chooses who runs next.
    Getwork,
    /// The drum has transferred pages.
    DrumInterrupt,
    /// Any other: of disks, terminals and the timer.
    Interrupt,
    /// A process refers to a segment that is not active.
    SegmentFault,
    /// A process calls the supervisor through a gate.
    GateFault,
}

/// Number of kinds.
pub(super) const EVENTS: usize = 6;

impl Event {
    /// All kinds, in the order of the tables.
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

/// Lengths of the paths while nobody interferes.
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

    /// Mean length of a path.
    pub fn mean(&self, event: Event) -> Span {
        self.mean[event as usize]
    }

    /// Length of a path, log-normal with the mean of its kind.
    #[inline]
    pub fn draw(&self, event: Event, stream: &mut Stream) -> Span {
        // Log-normal with mean 1: the variation of a path does not change its mean.
        let varied = (self.sigma * (stream.normal() - 0.5 * self.sigma)).exp();
        Span::from_nanoseconds(self.mean[event as usize].0 as f64 * varied)
    }
}
