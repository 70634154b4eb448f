//! Times and sizes as people write them: `5s`, `0.1s`, `2m`, `1h`; `500MB`, `2GiB`.

use std::time::Duration;

use crate::error::RecorderError;

const TIMES: [(&str, f64); 7] =
    [("ms", 1e-3), ("min", 60.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0), ("", 1.0)];
const SIZES: [(&str, f64); 12] = [
    ("kib", 1024.0),
    ("mib", 1048576.0),
    ("gib", 1073741824.0),
    ("tib", 1099511627776.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("k", 1e3),
    ("m", 1e6),
    ("g", 1e9),
    ("", 1.0),
];

/// The number and its unit's factor.
fn parse(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..end].trim(), text[end..].trim());
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let value = number.parse::<f64>().ok()? * factor;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Reads a time; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    parse(text, &TIMES)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("{text:?} is no time: write a number and ms, s, m, h or d, as in 5s"))
}

/// Reads a size; a bare number is bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    match parse(text, &SIZES) {
        Some(value) if value < u64::MAX as f64 => Ok(value as u64),
        _ => Err(format!("{text:?} is no size: write a number and kB, MB, GB, KiB, MiB or GiB, as in 2GB")),
    }
}

/// A number of days as a time.
pub fn days(days: f64) -> Result<Duration, RecorderError> {
    Duration::try_from_secs_f64(days * 86400.0).ok().filter(|age| !age.is_zero()).ok_or_else(|| {
        RecorderError::Option {
            option: "keep-days",
            given: days.to_string(),
            problem: "a number of days above zero is needed".into(),
        }
    })
}
