//! Durations and sizes as text: a number and a unit. Units are read in lower and upper case alike.

/// Units of time: name, units per second, seconds per unit; one of the two numbers is 1. Dividing by a whole number
/// rounds a decimal fraction correctly, multiplying by its inverse does not: 700ms are exactly 0.7 s.
const SECONDS: [(&str, f64, f64); 7] = [
    ("us", 1e6, 1.0),
    ("ms", 1e3, 1.0),
    ("s", 1.0, 1.0),
    // A minute, as in `sleep 5m`; no duration here is long enough for months.
    ("m", 1.0, 60.0),
    ("min", 1.0, 60.0),
    ("h", 1.0, 3600.0),
    ("d", 1.0, 86400.0),
];

/// Powers of 1000 without an i, of 1024 with one (IEC 80000-13). A final B is optional and removed first.
const BYTES: [(&str, f64); 9] = [
    ("", 1.0),
    ("k", 1e3),
    ("m", 1e6),
    ("g", 1e9),
    ("t", 1e12),
    ("ki", 1024.0),
    ("mi", 1_048_576.0),
    ("gi", 1_073_741_824.0),
    ("ti", 1_099_511_627_776.0),
];

/// The duration `text` in seconds: `90s`, `1.5min`, `500ms`, `20us`, `1h`, `2d`.
///
/// # Errors
/// The text is not a number of at least 0 with a unit. A number without a unit is refused, because the reader of a
/// command line cannot see whether seconds or milliseconds are meant; only 0 needs none.
pub fn parse_duration(text: &str) -> Result<f64, String> {
    let refused = |problem: &str| {
        let text = shortened(text);
        format!("{text:?} {problem}; give a number with one of the units us, ms, s, min, h, d, such as 90s")
    };
    let (number, unit) = split(text).ok_or_else(|| refused("is not a duration"))?;
    if unit.is_empty() && number != 0.0 {
        return Err(refused("has no unit"));
    }
    // Without a unit only 0 comes here, which is the same in all of them.
    let Some((_, per_second, seconds_per_unit)) =
        SECONDS.iter().find(|(name, ..)| *name == unit || unit.is_empty())
    else {
        return Err(refused("has an unknown unit"));
    };
    let seconds = number / per_second * seconds_per_unit;
    if seconds.is_finite() { Ok(seconds) } else { Err(refused("is too long")) }
}

/// The size `text` in bytes: `512`, `64kB`, `2TB`, `64MiB`, `1.5G`.
///
/// # Errors
/// The text is not a number of bytes from 0 to 2^64 - 1.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let refused = |problem: &str| {
        let text = shortened(text);
        format!(
            "{text:?} {problem}; give bytes, or a number with kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 64MiB"
        )
    };
    let (number, unit) = split(text).ok_or_else(|| refused("is not a size"))?;
    let prefix = unit.strip_suffix('b').unwrap_or(&unit);
    let Some((_, factor)) = BYTES.iter().find(|(name, _)| *name == prefix) else {
        return Err(refused("has an unknown unit"));
    };
    let bytes = (number * factor).round();
    // The largest u64 as a double is 2^64 itself: a number equal to it does not fit.
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(refused("is too large")) }
}

/// Beginning of a description for an error message: lists and numbers can be long. Cut between
/// characters, never inside one.
pub(crate) fn shortened(description: impl ToString) -> String {
    const MOST: usize = 60;
    let text = description.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The number at the beginning of `text` and the unit after it, in lower case.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim().to_ascii_lowercase();
    // The e of 1e-3 does not begin a unit, and no unit begins with e.
    let is_exponent = |index: usize| {
        let rest = text[index..].strip_prefix('e').map(|rest| rest.trim_start_matches(['+', '-']));
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let begins_unit = |(index, c): &(usize, char)| c.is_alphabetic() && !is_exponent(*index);
    let end = text.char_indices().find(begins_unit).map_or(text.len(), |(index, _)| index);
    let number = text[..end].trim().parse::<f64>().ok()?;
    // By the sign and not by comparison: -0 is refused with all other negative numbers.
    (number.is_finite() && number.is_sign_positive()).then(|| (number, text[end..].trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_in_seconds() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("5min", 300.0),
            ("1.5m", 90.0),
            ("700ms", 0.7),
            ("500000us", 0.5),
            (" 1 h ", 3600.0),
            ("2D", 172_800.0),
            (".5s", 0.5),
            ("1e-3s", 1e-3),
            ("1e3ms", 1.0),
            ("0", 0.0),
        ] {
            assert_eq!(parse_duration(text), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn sizes_are_in_bytes() {
        for (text, bytes) in [
            ("512", 512),
            ("64kB", 64_000),
            ("64MiB", 64 << 20),
            ("2TB", 2_000_000_000_000),
            ("1TiB", 1 << 40),
            ("1.5g", 1_500_000_000),
            ("3 Ki", 3072),
            ("0B", 0),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refusals_say_what_is_wrong_and_what_would_be_right() {
        for (text, problem) in [
            ("20", "\"20\" has no unit; "),
            ("-1s", "is not a duration"),
            ("nans", "is not a duration"),
            ("infs", "is not a duration"),
            ("", "is not a duration"),
            ("s", "is not a duration"),
            ("3 parsecs", "has an unknown unit"),
            ("1e308d", "is too long"),
        ] {
            let message = parse_duration(text).unwrap_err();
            assert!(message.contains(problem) && message.ends_with("such as 90s"), "{message}");
        }
        for (text, problem) in [
            ("many", "is not a size"),
            ("-1", "is not a size"),
            ("3 stone", "has an unknown unit"),
            ("1e30", "is too large"),
        ] {
            let message = parse_size(text).unwrap_err();
            assert!(message.contains(problem) && message.ends_with("such as 64MiB"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = (parse_duration(&text), parse_size(&text));
        }

        #[test]
        fn what_was_written_is_read(number in 0u32..1_000_000) {
            prop_assert_eq!(parse_duration(&format!("{number}s")), Ok(f64::from(number)));
            prop_assert_eq!(parse_size(&format!("{number}KiB")), Ok(u64::from(number) << 10));
        }
    }
}
