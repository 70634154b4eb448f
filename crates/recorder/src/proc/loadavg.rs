//! `/proc/loadavg`: load averages, and how many tasks there are.

use std::fmt::Display;

use super::{ParseError, items, number, shown};

/// What `/proc/loadavg` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loadavg {
    pub one_minute: f64,
    pub five_minutes: f64,
    pub fifteen_minutes: f64,
    /// Threads of all processes.
    pub threads: Option<u64>,
}

/// Reads `/proc/loadavg`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Loadavg, ParseError> {
    let mut words = items(text);
    let mut average = |name: &str| -> Result<f64, ParseError> {
        let item = words.next().ok_or_else(|| ParseError::missing(&path, 1, name))?;
        let value = std::str::from_utf8(item).ok().and_then(|text| text.parse::<f64>().ok());
        value
            .filter(|value| value.is_finite())
            .ok_or_else(|| ParseError::new(&path, 1, name, format!("{:?} is no number", shown(item))))
    };
    let (one_minute, five_minutes) = (average("load of 1 minute")?, average("load of 5 minutes")?);
    let fifteen_minutes = average("load of 15 minutes")?;
    let threads = match words.next() {
        None => None,
        Some(item) => {
            let total = item.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let wrong =
                || ParseError::new(&path, 1, "threads", format!("{:?} is not running/all", shown(item)));
            Some(number(total).ok_or_else(wrong)?)
        }
    };
    Ok(Loadavg { one_minute, five_minutes, fifteen_minutes, threads })
}
