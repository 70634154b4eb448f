//! `/proc/pressure/*` and the `*.pressure` files of a cgroup: stall totals.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Stall time since boot, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Some task waited.
    pub some_us: Option<u64>,
    /// All tasks that were not idle waited.
    pub full_us: Option<u64>,
}

/// Reads a pressure file.
pub fn parse(text: &[u8], path: impl Display) -> Result<Pressure, ParseError> {
    let mut pressure = Pressure::default();
    for (at, line) in lines(text) {
        let mut words = items(line);
        let total = match words.next().unwrap_or_default() {
            b"some" => &mut pressure.some_us,
            b"full" => &mut pressure.full_us,
            _ => continue,
        };
        let item = words
            .find_map(|word| word.strip_prefix(b"total="))
            .ok_or_else(|| ParseError::missing(&path, at, "total="))?;
        let wrong =
            || ParseError::new(&path, at, "total=", format!("{:?} is no number of 64 bits", shown(item)));
        *total = Some(number(item).ok_or_else(wrong)?);
    }
    Ok(pressure)
}
