//! Simulated time in whole nanoseconds.
//!
//! Integers and not doubles: after a day of simulated time a double resolves 15 ps and a sum depends on its order; then
//! neither conservation laws nor results on other machines could be compared for equality.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Deserializer};

/// Nanoseconds in a second.
const NANOSECONDS: f64 = 1e9;

/// An instant [ns], counted from the start of the run. The largest is 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

/// A length of time [ns].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub u64);

// From 2^52 on a double has no fraction, and below it, added to 2^52, none is left: its last bits are then the whole
// number. That is a third of the instructions of a conversion.
const WHOLE: f64 = (1u64 << 52) as f64;

/// A number of nanoseconds from 2^52 on, or none.
#[cold]
fn too_long(nanoseconds: f64) -> Span {
    // The conversion saturates, and makes 0 of NaN, as the documentation promises.
    Span(nanoseconds as u64).min(Span::LONGEST)
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything: what never happens is due then.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOSECONDS
    }

    /// Time since `earlier`, which must not be later.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        debug_assert!(earlier <= self, "{earlier:?} is after {self:?}");
        Span(self.0 - earlier.0)
    }
}

impl Span {
    /// No time.
    pub const ZERO: Span = Span(0);

    /// Longer than any run, 36 years: sums of a few such lengths are still numbers.
    pub const LONGEST: Span = Span(1 << 60);

    /// `seconds` to the nearest nanosecond. What is negative or not a number counts as nothing; what is
    /// longer than [`Span::LONGEST`] is cut there.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Span {
        Span::from_nanoseconds(seconds * NANOSECONDS)
    }

    /// `nanoseconds` rounded to a whole number; outside of the range as [`Span::from_seconds`].
    #[inline]
    pub fn from_nanoseconds(nanoseconds: f64) -> Span {
        if nanoseconds >= 0.0 { Span::from_some_nanoseconds(nanoseconds) } else { Span::ZERO }
    }

    /// As [`Span::from_nanoseconds`], of a number that is not negative.
    #[inline(always)]
    pub(crate) fn from_some_nanoseconds(nanoseconds: f64) -> Span {
        if nanoseconds < WHOLE {
            Span((nanoseconds + WHOLE).to_bits() - WHOLE.to_bits())
        } else {
            too_long(nanoseconds)
        }
    }

    /// This length `count` times, cut at [`Span::LONGEST`].
    #[inline]
    pub fn times(self, count: u64) -> Span {
        Span(self.0.saturating_mul(count)).min(Span::LONGEST)
    }

    /// The length in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOSECONDS
    }
}

/// A number of seconds, as descriptions give lengths of time.
impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        f64::deserialize(deserializer).map(Span::from_seconds)
    }
}

impl Add<Span> for Time {
    type Output = Time;

    /// Stops at [`Time::NEVER`]: a heavy tail may reach beyond all time.
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;

    #[inline]
    fn add(self, other: Span) -> Span {
        // Not saturating, unlike times: spans are finite lengths, and an overflow is a defect that debug
        // builds show.
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;

    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}

/// A sum of times [ns], in 128 bits: a year into a run, the times of 600 events would overflow 64.
// Not a u128: its upper half would be loaded and stored for every event, and changes once in thousands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    low: u64,
    high: u64,
}

impl Sum {
    /// Adds `nanoseconds`.
    #[inline(always)]
    pub fn add(&mut self, nanoseconds: u64) {
        let (low, carried) = self.low.overflowing_add(nanoseconds);
        self.low = low;
        if carried {
            self.carry();
        }
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self) {
        self.high += 1;
    }

    /// The sum.
    #[inline]
    pub fn total(self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }

    /// This sum and `other`.
    pub fn and(self, other: Sum) -> Sum {
        let total = self.total() + other.total();
        Sum { low: total as u64, high: (total >> 64) as u64 }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_to_the_nearest_nanosecond() {
        assert_eq!(Span::from_seconds(0.1), Span(100_000_000));
        assert_eq!(Span::from_seconds(1.4e-9), Span(1));
        assert_eq!(Span::from_seconds(-1.0), Span::ZERO);
        assert_eq!(Span::from_seconds(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_seconds(1e300), Span::LONGEST);
        assert_eq!(Span::from_seconds(1e9).times(1 << 40), Span::LONGEST);
    }

    #[test]
    fn a_sum_carries() {
        let (mut sum, mut reference) = (Sum::default(), 0u128);
        for term in [5, u64::MAX, u64::MAX - 7, 0, 1 << 63, 1 << 63] {
            sum.add(term);
            reference += u128::from(term);
            assert_eq!(sum.total(), reference);
        }
        assert_eq!(sum.and(sum).total(), 2 * reference);
    }

    #[test]
    fn what_never_happens_stays_there() {
        assert_eq!(Time(5) + Span(u64::MAX), Time::NEVER);
    }
}
