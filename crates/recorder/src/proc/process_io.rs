//! `/proc/PID/io`: bytes that a process read and wrote. Readable by its owner and by root only.

use std::fmt::Display;

use super::{ParseError, items, lines, number, shown};

/// Bytes moved between the process and block devices; children that it waited for are included.
///
/// `rchar` and `wchar` are not read: they count terminals, pipes and the page cache as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes that the process caused to be read from block devices.
    pub read_bytes: u64,
    /// Bytes that it caused to be written, counted when the page is dirtied and not when it is written.
    pub write_bytes: u64,
}

/// Byte counts from the text of `/proc/PID/io`.
pub fn parse(text: &[u8], path: impl Display) -> Result<ProcessIo, ParseError> {
    let mut io = ProcessIo::default();
    for (row, line) in lines(text) {
        let mut words = items(line);
        let amount = match words.next().unwrap_or_default() {
            b"read_bytes:" => &mut io.read_bytes,
            b"write_bytes:" => &mut io.write_bytes,
            _ => continue,
        };
        let value = words.next().unwrap_or_default();
        *amount = number(value).ok_or_else(|| {
            let key = line.split(|byte| *byte == b':').next().unwrap_or_default();
            ParseError::new(&path, row, shown(key), format!("{:?} is not a 64-bit number", shown(value)))
        })?;
    }
    Ok(io)
}
