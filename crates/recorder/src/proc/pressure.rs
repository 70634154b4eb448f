//! `/proc/pressure/*` and the `*.pressure` files of a cgroup: stall totals (since Linux 4.20).
//!
//! The averages over 10, 60 and 300 seconds are not read: differences of the totals give any interval.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Stall time since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Time in which at least one task waited for the resource [µs].
    pub some_us: Option<u64>,
    /// Time in which all tasks that were not idle waited [µs]; `None` for CPUs before Linux 5.13.
    pub full_us: Option<u64>,
}

/// Stall totals from the text of a pressure file.
pub fn parse(text: &[u8], path: impl Display) -> Result<Pressure, ParseError> {
    let mut pressure = Pressure::default();
    for (row, line) in lines(text) {
        let mut words = items(line);
        let total = match words.next().unwrap_or_default() {
            b"some" => &mut pressure.some_us,
            b"full" => &mut pressure.full_us,
            _ => continue,
        };
        let item = words
            .find_map(|word| word.strip_prefix(b"total="))
            .ok_or_else(|| ParseError::missing(&path, row, "total="))?;
        let wrong =
            || ParseError::new(&path, row, "total=", format!("{:?} is not a 64-bit number", shown(item)));
        *total = Some(number(item).ok_or_else(wrong)?);
    }
    Ok(pressure)
}
