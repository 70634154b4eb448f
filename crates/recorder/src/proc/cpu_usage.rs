//! `cpuacct.usage` (cgroup version 1) and `cpu.stat` (version 2): exact CPU time of a group.
//!
//! Both are sums of run times that the scheduler measured, so that short runs between two ticks count.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// CPU time since the group was created, from `cpuacct.usage` [ns].
pub fn parse_cpuacct(text: &[u8], path: impl Display) -> Result<u64, ParseError> {
    let item = text.trim_ascii();
    let wrong = || ParseError::new(&path, 1, "usage", format!("{:?} is not a 64-bit number", shown(item)));
    number(item).ok_or_else(wrong)
}

/// CPU time since the group was created, from `cpu.stat` [ns].
pub fn parse_cpu_stat(text: &[u8], path: impl Display) -> Result<u64, ParseError> {
    for (row, line) in lines(text) {
        let mut words = items(line);
        // The file counts microseconds; `user_usec` and `system_usec` are split by the tick and not read.
        if words.next() == Some(b"usage_usec") {
            let item = words.next().unwrap_or_default();
            let value = number(item).and_then(|microseconds| microseconds.checked_mul(1000));
            let wrong =
                || ParseError::new(&path, row, "usage_usec", format!("{:?} is not a number", shown(item)));
            return value.ok_or_else(wrong);
        }
    }
    Err(ParseError::missing(&path, 1, "usage_usec"))
}
