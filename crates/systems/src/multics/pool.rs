//! Places that processes share, and a clock that takes them back: frames of core, and entries of the table of active
//! segments.
//!
//! Places are counted and not named: a process holds m of them, of which u were used since the hand last passed. Its
//! lifetime function L(m) is the mean useful time until it refers to something that it does not hold (Belady and
//! Kuehner 1969: L grows as a power of m, the exponent being about 2). What it uses while it runs follows from the same
//! function: under least recently used, a process that held only the u places that it used last would miss every L(u),
//! so that du/dt = 1/L(u) (Denning and Schwartz 1972).

use thinktime_engine::{LawViolation, Laws, Span, Stream};

/// Lifetime function L(m) = `mean` (m / `places`)^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lifetime {
    /// Mean useful time between misses with `places` places.
    pub mean: Span,
    /// Places for which the mean holds.
    pub places: f64,
    /// Growth with the places held.
    pub exponent: f64,
}

impl Lifetime {
    /// Mean useful time between misses of a process that holds `held` places [ns].
    pub fn at(&self, held: f64) -> f64 {
        self.mean.0 as f64 * (held.max(1.0) / self.places).powf(self.exponent)
    }

    /// Places used after a run of `span`, of which `used` were used before: the solution of du/dt = 1/L(u).
    fn used_after(&self, used: f64, span: Span) -> f64 {
        // Separated and integrated: u^(e+1) = used^(e+1) + (e+1) span places^e / mean.
        let power = self.exponent + 1.0;
        let grown = power * span.0 as f64 / self.mean.0 as f64 * self.places.powf(self.exponent);
        (used.powf(power) + grown).powf(1.0 / power)
    }
}

/// Places of one process.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    /// Those it refers to.
    held: u32,
    /// Those of them used since the hand last passed.
    used: f64,
    /// Further places, of what the process no longer refers to.
    left_over: u32,
}

/// Origin of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whether a process held it until now.
    pub from_somebody: bool,
    /// Places that the hand looked at.
    pub examined: u32,
}

/// The places, each with its owner.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    lifetime: Lifetime,
    /// L(m) for every possible m [ns].
    lifetimes: Vec<f64>,
    /// By place; only the first `filled` were ever given away.
    owners: Vec<u32>,
    /// Places given away so far.
    filled: usize,
    /// Place at which the hand of the clock stands.
    hand: usize,
    /// By process.
    holdings: Vec<Holding>,
    stream: Stream,
}

impl Pool {
    pub fn new(lifetime: Lifetime, places: u32, processes: usize, stream: Stream) -> Pool {
        Pool {
            lifetime,
            // A power for every miss would cost more than the rest of the fault.
            lifetimes: (0..=places).map(|held| lifetime.at(f64::from(held))).collect(),
            owners: vec![0; places as usize],
            filled: 0,
            hand: 0,
            holdings: vec![Holding::default(); processes],
            stream,
        }
    }

    /// Places that `process` refers to and holds.
    pub fn held(&self, process: u32) -> u32 {
        self.holdings[process as usize].held
    }

    /// Places that `process` used since the hand passed them.
    pub fn used(&self, process: u32) -> f64 {
        self.holdings[process as usize].used
    }

    /// Mean useful time until `process`, which refers to `wanted` places in all, misses one [ns]; none when it holds
    /// them all.
    #[inline]
    pub fn lifetime(&self, process: u32, wanted: u32) -> Option<f64> {
        let held = self.held(process);
        (held < wanted).then(|| self.lifetimes[held as usize])
    }

    /// `process` has run for `span`, and used what it holds.
    #[inline]
    pub fn ran(&mut self, process: u32, span: Span) {
        let holding = &mut self.holdings[process as usize];
        let all = f64::from(holding.held);
        // Nothing to grow when all places are used: a power would be computed for nothing.
        if holding.used < all {
            holding.used = self.lifetime.used_after(holding.used, span).min(all);
        }
    }

    /// A place for `process`: a free one, or the next under the hand that was not used since it last passed.
    pub fn take(&mut self, process: u32) -> Taken {
        let mut taken = Taken { from_somebody: self.filled == self.owners.len(), examined: 0 };
        let place = if taken.from_somebody {
            // It ends: each look at a used place reduces what its owner has used, down to zero.
            loop {
                self.hand = (self.hand + 1) % self.owners.len();
                taken.examined += 1;
                if self.gives_up(self.owners[self.hand]) {
                    break self.hand;
                }
            }
        } else {
            self.filled += 1;
            self.filled - 1
        };
        self.owners[place] = process;
        self.holdings[process as usize].held += 1;
        taken
    }

    /// True if the place of `owner` under the hand is taken; one that was used is spared this time. The number of
    /// used places is known, but not which: each is as likely.
    fn gives_up(&mut self, owner: u32) -> bool {
        let holding = &mut self.holdings[owner as usize];
        let (held, left_over) = (f64::from(holding.held), f64::from(holding.left_over));
        let pick = self.stream.uniform() * (held + left_over);
        if pick < holding.used {
            // The hand clears the used bit of the place that it spares.
            holding.used = (holding.used - 1.0).max(0.0);
            return false;
        }
        if pick < held {
            holding.held -= 1;
            holding.used = holding.used.min(f64::from(holding.held));
        } else {
            // A page that nobody refers to any more: to lose it makes no later fault.
            holding.left_over -= 1;
        }
        true
    }

    /// `process` begins something else: it goes on referring to the part `kept` of what it holds.
    pub fn turns_over(&mut self, process: u32, kept: f64) {
        let holding = &mut self.holdings[process as usize];
        let held = (f64::from(holding.held) * kept).round() as u32;
        // They keep their places until the hand takes them: the next command starts with less useful core.
        holding.left_over += holding.held - held;
        holding.held = held;
        holding.used = (holding.used * kept).min(f64::from(held));
    }

    /// Every place that was given away is held by its owner, or left over from it.
    pub fn check(&self, place: &str, laws: &mut Laws) -> Result<(), LawViolation> {
        let mut counted = vec![0; self.holdings.len()];
        for owner in &self.owners[..self.filled] {
            counted[*owner as usize] += 1;
        }
        let held: Vec<u32> = self.holdings.iter().map(|holding| holding.held + holding.left_over).collect();
        let text = |of: &[u32]| format!("{of:?}");
        laws.equal("conservation of places", place, text(&counted), text(&held))
    }
}
