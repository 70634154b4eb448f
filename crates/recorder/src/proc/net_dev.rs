//! `/proc/net/dev`: what every network interface carried.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines, shown};

/// Counters of one interface since it appeared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub bytes_in: u64,
    pub packets_in: u64,
    pub errors_in: u64,
    pub drops_in: u64,
    pub bytes_out: u64,
    pub packets_out: u64,
    pub errors_out: u64,
    pub drops_out: u64,
}

/// Reads `/proc/net/dev`: two lines of heading, then a line an interface.
pub fn parse(text: &[u8], path: impl Display) -> Result<Vec<Interface>, ParseError> {
    let mut interfaces = Vec::new();
    for (at, line) in lines(text) {
        // An alias such as `eth0:1` has a colon of its own, the figures have none.
        let Some(colon) = line.iter().rposition(|byte| *byte == b':') else { continue };
        let name = shown(line[..colon].trim_ascii());
        let mut fields = Fields::new(items(&line[colon + 1..]), &path, at);
        let (bytes_in, packets_in) = (fields.need("bytes received")?, fields.need("packets received")?);
        let (errors_in, drops_in) = (fields.need("receive errors")?, fields.need("receive drops")?);
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
