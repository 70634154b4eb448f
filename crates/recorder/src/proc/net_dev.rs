//! `/proc/net/dev`: traffic of every network interface.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines, shown};

/// Counters of one interface since it appeared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// Bytes received, link-layer headers included.
    pub bytes_in: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Packets received damaged.
    pub errors_in: u64,
    /// Packets received and dropped for lack of buffers, or with no protocol to take them.
    pub drops_in: u64,
    /// Bytes sent, link-layer headers included.
    pub bytes_out: u64,
    /// Packets sent.
    pub packets_out: u64,
    /// Packets whose transmission failed.
    pub errors_out: u64,
    /// Packets dropped before transmission.
    pub drops_out: u64,
}

/// Counters of every interface listed in `/proc/net/dev`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Vec<Interface>, ParseError> {
    let mut interfaces = Vec::new();
    for (row, line) in lines(text) {
        // The two lines of heading have no colon. An alias such as `eth0:1` has a colon of its own, the
        // counters have none, so that the last one ends the name.
        let Some(colon) = line.iter().rposition(|byte| *byte == b':') else { continue };
        let name = shown(line[..colon].trim_ascii());
        let mut fields = Fields::new(items(&line[colon + 1..]), &path, row);
        let (bytes_in, packets_in) = (fields.need("bytes received")?, fields.need("packets received")?);
        let (errors_in, drops_in) = (fields.need("receive errors")?, fields.need("receive drops")?);
        // FIFO overruns, framing errors, compressed, multicast: details for which the log has no column.
        fields.skip(4);
        interfaces.push(Interface {
            name,
            bytes_in,
            packets_in,
            errors_in,
            drops_in,
            bytes_out: fields.need("bytes sent")?,
            packets_out: fields.need("packets sent")?,
            errors_out: fields.need("send errors")?,
            drops_out: fields.need("send drops")?,
        });
    }
    Ok(interfaces)
}
