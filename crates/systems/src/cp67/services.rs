//! What CP does for its users, what it costs, and what was spent.

use thinktime_engine::{Span, Stream};

/// What processor time of the supervisor is spent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Kind {
    Vsio,
    Vmio,
    PageIo,
    SpoolIo,
    /// Privileged instructions and time slices, by problem state time.
    Problem,
    /// The base work of CP, by real time.
    Base,
    /// Log-on, directory maintenance, accounting: what nobody counts.
    Unmeasured,
}

pub(super) const KINDS: usize = 7;

/// One kind of service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Service {
    /// Mean of its own path, without FREE, FRET and dispatch.
    pub path: Span,
    /// Mean number of FREE calls; as many FRET calls.
    pub calls: f64,
    /// Mean number of passes through the dispatcher that its interrupts cause, beside the one after it.
    pub passes: f64,
}

/// Processor time of a call of each of the two storage routines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeFret {
    pub free: Span,
    pub fret: Span,
}

impl FreeFret {
    fn pair(&self) -> Span {
        Span(self.free.0 + self.fret.0)
    }
}

/// What services cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// By kind; that of [`Kind::Problem`] is not a path, see `privileged`.
    pub services: [Service; KINDS],
    /// Part of a path that varies from request to request, exponentially.
    pub variable: f64,
    /// CP time for a second of problem state time, dispatch apart.
    pub privileged: f64,
    pub old_free_fret: FreeFret,
    pub new_free_fret: FreeFret,
    /// A pass through the dispatcher that finds another user, or none.
    pub find: Span,
    /// A pass after which the same user goes on.
    pub redispatch: Span,
}

/// How long CP's paths are for now, as a multiple of their mean: its tables and chains are longer at times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths(f64);

impl Default for Paths {
    fn default() -> Paths {
        Paths(1.0)
    }
}

impl Paths {
    /// The state changes: paths are so much longer or shorter at most, evenly.
    pub fn change(&mut self, spread: f64, stream: &mut Stream) {
        self.0 = 1.0 + spread * (2.0 * stream.uniform() - 1.0);
    }

    /// For lines and spooling there is little to search.
    #[inline]
    pub fn factor(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Vsio | Kind::PageIo | Kind::Problem => self.0,
            Kind::Vmio | Kind::SpoolIo | Kind::Base | Kind::Unmeasured => 1.0,
        }
    }
}

/// Processor time of one service, FREE and FRET included and dispatch left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub kind: Kind,
    pub cp: Span,
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
        let whole = service.calls as u64;
        let more = service.calls - whole as f64;
        // Calls are whole: the fraction is the chance of one more.
        let calls = whole + u64::from(more > 0.0 && stream.uniform() < more);
        let pair = self.free_fret(new).pair();
        Work { kind, cp: Span(path.0 + calls * pair.0), calls }
    }

    /// The routines in force: the new ones if `new`.
    #[inline]
    pub fn free_fret(&self, new: bool) -> FreeFret {
        if new { self.new_free_fret } else { self.old_free_fret }
    }

    /// Dispatcher's time that the interrupts of a request take: they come while something else is done, and
    /// whoever runs next has to be found.
    #[inline]
    pub fn interrupts(&self, kind: Kind) -> u64 {
        (self.services[kind as usize].passes * self.find.0 as f64) as u64
    }
}

/// What was spent for one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub requests: u64,
    /// CP time without dispatch [ns].
    pub cp: u128,
    pub dispatch: u128,
    pub calls: u64,
}
