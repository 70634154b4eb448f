//! `/proc/loadavg`: load averages and the number of tasks.

use std::fmt::Display;

use super::{ParseError, items, number, shown};

/// Contents of `/proc/loadavg`.
///
/// The averages are exponentially weighted means of the tasks that run, wait for a CPU or sleep
/// uninterruptibly (mostly for disks), sampled by the kernel every 5 seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loadavg {
    /// Mean with a time constant of 1 minute [tasks].
    pub one_minute: f64,
    /// Mean with a time constant of 5 minutes [tasks].
    pub five_minutes: f64,
    /// Mean with a time constant of 15 minutes [tasks].
    pub fifteen_minutes: f64,
    /// Threads of all processes, kernel threads included.
    pub threads: Option<u64>,
}

/// Load averages and task count from the text of `/proc/loadavg`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Loadavg, ParseError> {
    let mut words = items(text);
    let mut average = |name: &str| -> Result<f64, ParseError> {
        let item = words.next().ok_or_else(|| ParseError::missing(&path, 1, name))?;
        let value = std::str::from_utf8(item).ok().and_then(|text| text.parse::<f64>().ok());
        value
            .filter(|value| value.is_finite())
            .ok_or_else(|| ParseError::new(&path, 1, name, format!("{:?} is not a number", shown(item))))
    };
    let (one_minute, five_minutes) = (average("load of 1 minute")?, average("load of 5 minutes")?);
    let fifteen_minutes = average("load of 15 minutes")?;
    let threads = match words.next() {
        None => None,
        // `running/all`: how many run is in `/proc/stat` too, as of the same sample.
        Some(item) => {
            let total = item.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let wrong =
                || ParseError::new(&path, 1, "threads", format!("{:?} is not running/all", shown(item)));
            Some(number(total).ok_or_else(wrong)?)
        }
    };
    Ok(Loadavg { one_minute, five_minutes, fifteen_minutes, threads })
}
