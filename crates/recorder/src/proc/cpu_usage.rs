//! `cpuacct.usage` (cgroup version 1) and `cpu.stat` (version 2): exact CPU time of a group.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Reads `cpuacct.usage`: nanoseconds.
pub fn parse_cpuacct(text: &[u8], path: impl Display) -> Result<u64, ParseError> {
    let item = text.trim_ascii();
    let wrong = || ParseError::new(&path, 1, "usage", format!("{:?} is no number of 64 bits", shown(item)));
    number(item).ok_or_else(wrong)
}

/// Reads `cpu.stat`: nanoseconds (the file counts microseconds).
pub fn parse_cpu_stat(text: &[u8], path: impl Display) -> Result<u64, ParseError> {
    for (at, line) in lines(text) {
        let mut words = items(line);
        if words.next() == Some(b"usage_usec") {
            let item = words.next().unwrap_or_default();
            let value = number(item).and_then(|microseconds| microseconds.checked_mul(1000));
            let wrong =
                || ParseError::new(&path, at, "usage_usec", format!("{:?} is no number", shown(item)));
            return value.ok_or_else(wrong);
        }
    }
    Err(ParseError::missing(&path, 1, "usage_usec"))
}
