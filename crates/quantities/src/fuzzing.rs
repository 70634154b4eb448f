//! What the fuzz target of `fuzz/` calls, on text that anybody may have written.
//!
//! Compiled for `cargo fuzz`, which sets `--cfg fuzzing`, and for the tests of this crate, which replay the
//! committed inputs.

use serde_json::Value;

use crate::{Distribution, parse_duration, parse_size};

/// A duration, a size, and a distribution in short form and as JSON.
pub fn quantities(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse_duration(text) {
        Ok(seconds) => assert!(seconds.is_finite() && seconds >= 0.0, "{seconds}"),
        Err(message) => is_short(&message),
    }
    if let Err(message) = parse_size(text) {
        is_short(&message);
    }
    let described = [Some(Value::from(text)), serde_json::from_str(text).ok()];
    for description in described.into_iter().flatten() {
        match Distribution::parse(&description) {
            Ok(distribution) => is_sound(&distribution),
            Err(error) => is_short(&error.to_string()),
        }
    }
}

/// A message is read by a person: it does not repeat the input whole.
fn is_short(message: &str) {
    assert!(message.chars().count() < 1000, "{message}");
}

/// A distribution that was accepted has a mean, and comes back from its own description.
fn is_sound(distribution: &Distribution) {
    assert!(distribution.mean() >= 0.0 && !distribution.mean().is_nan(), "{distribution:?}");
    assert!(distribution.variance().is_none_or(|variance| variance.is_finite()), "{distribution:?}");
    assert!(distribution.skewness().is_none_or(f64::is_finite), "{distribution:?}");
    for time in [0.0, 1e-9, 1.0, 1e9, f64::MAX] {
        let share = distribution.cumulative(time);
        assert!((-1e-9..=1.0 + 1e-9).contains(&share), "{share} at {time} of {distribution:?}");
    }
    let json = distribution.to_json();
    let again = Distribution::parse(&json).expect("a description that was written is read");
    // Weights are divided by their sum, which may round: the description settles after once.
    assert_eq!(Distribution::parse(&again.to_json()).as_ref(), Ok(&again));
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    #[test]
    fn quantities() {
        super::replay::replay("quantities", super::quantities);
    }
}
