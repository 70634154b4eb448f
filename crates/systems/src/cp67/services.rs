//! Services of CP for its users: their kinds, their costs, and the time spent on them.

use thinktime_engine::{Span, Stream};

/// Purpose of processor time of the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Kind {
    /// A request of a virtual machine to a disk.
    Vsio,
    /// A line of a terminal or of the virtual printer.
    Vmio,
    /// A page read in or written out.
    PageIo,
    /// A block of printed lines written or read.
    SpoolIo,
    /// Privileged instructions and time slices, by problem state time.
    Problem,
    /// The base work of CP, by real time.
    Base,
    /// Log-on, directory maintenance, accounting: work that no counter includes.
    Unmeasured,
}

/// Number of kinds.
pub(super) const KINDS: usize = 7;

/// One kind of service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Service {
    /// Mean of its own path, without FREE, FRET and dispatch.
    pub path: Span,
    /// Mean number of FREE calls, and of FRET calls.
    pub calls: f64,
    /// Mean number of passes through the dispatcher caused by its interrupts, in addition to the one after it.
    pub passes: f64,
}

/// Processor time of a call of each of the two storage routines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeFret {
    /// A call of FREE.
    pub free: Span,
    /// A call of FRET.
    pub fret: Span,
}

impl FreeFret {
    /// One call of each.
    fn pair(&self) -> Span {
        Span(self.free.0 + self.fret.0)
    }
}

/// CP time of services.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// By kind; for [`Kind::Problem`] see `privileged`, which is no path.
    pub services: [Service; KINDS],
    /// Share of a path that varies from request to request, exponentially.
    pub variable: f64,
    /// CP time per second of problem state time, without dispatch.
    pub privileged: f64,
    /// Those of version II.
    pub old_free_fret: FreeFret,
    /// Those of version III.
    pub new_free_fret: FreeFret,
    /// A pass through the dispatcher that finds another user, or none.
    pub find: Span,
    /// A pass after which the same user continues.
    pub redispatch: Span,
}

/// Current length of CP's paths as a multiple of their mean: its tables and chains are longer at times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths(f64);

impl Default for Paths {
    fn default() -> Paths {
        Paths(1.0)
    }
}

impl Paths {
    /// The state changes: to a length uniform within `spread` of the mean.
    pub fn change(&mut self, spread: f64, stream: &mut Stream) {
        self.0 = 1.0 + spread * (2.0 * stream.uniform() - 1.0);
    }

    /// Factor on the path of a request; lines and spooling search little, and do not vary.
    #[inline]
    pub fn factor(&self, kind: Kind) -> f64 {
        match kind {
            // These search tables and chains, which are longer at times.
            Kind::Vsio | Kind::PageIo | Kind::Problem => self.0,
            Kind::Vmio | Kind::SpoolIo | Kind::Base | Kind::Unmeasured => 1.0,
        }
    }
}

/// Processor time of one service, FREE and FRET included and dispatch left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Its purpose.
    pub kind: Kind,
    /// Its processor time.
    pub cp: Span,
    /// Calls of FREE, and as many of FRET.
    pub calls: u64,
}

impl Costs {
    /// Draws the cost of a request; `complexity` is that of the task which makes it.
    #[inline]
    pub fn draw(&self, kind: Kind, complexity: f64, new: bool, stream: &mut Stream) -> Work {
        let service = &self.services[kind as usize];
        // A constant part and an exponential one, with mean 1 together.
        let varied = 1.0 - self.variable + self.variable * stream.exponential();
        let path = Span::from_nanoseconds(service.path.0 as f64 * complexity * varied);
        let least = service.calls as u64;
        let more = service.calls - least as f64;
        // Calls are whole: the fraction is the chance of one more.
        let calls = least + u64::from(more > 0.0 && stream.uniform() < more);
        let pair = self.free_fret(new).pair();
        Work { kind, cp: Span(path.0 + calls * pair.0), calls }
    }

    /// The routines in force: the new ones if `new`.
    #[inline]
    pub fn free_fret(&self, new: bool) -> FreeFret {
        if new { self.new_free_fret } else { self.old_free_fret }
    }

    /// Dispatcher time for the interrupts of a request [ns]: they come while something else is done, and the next
    /// user has to be found.
    #[inline]
    pub fn interrupts(&self, kind: Kind) -> u64 {
        (self.services[kind as usize].passes * self.find.0 as f64) as u64
    }
}

/// Time and calls spent on one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Requests served.
    pub requests: u64,
    /// CP time without dispatch [ns].
    pub cp: u128,
    /// Dispatcher's time for them [ns].
    pub dispatch: u128,
    /// Calls of FREE.
    pub calls: u64,
}
