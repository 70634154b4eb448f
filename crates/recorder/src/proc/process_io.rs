//! `/proc/PID/io`: what a process read and wrote. Readable by its owner and by root only.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Bytes that went to or came from block devices, of the process and of children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    pub read_bytes: u64,
    pub write_bytes: u64,
}

/// Reads `/proc/PID/io`.
pub fn parse(text: &[u8], path: impl Display) -> Result<ProcessIo, ParseError> {
    let mut io = ProcessIo::default();
    for (at, line) in lines(text) {
        let mut words = items(line);
        let amount = match words.next().unwrap_or_default() {
            b"read_bytes:" => &mut io.read_bytes,
            b"write_bytes:" => &mut io.write_bytes,
            _ => continue,
        };
        let value = words.next().unwrap_or_default();
        *amount = number(value).ok_or_else(|| {
            let key = line.split(|byte| *byte == b':').next().unwrap_or_default();
            ParseError::new(&path, at, shown(key), format!("{:?} is no number of 64 bits", shown(value)))
        })?;
    }
    Ok(io)
}
