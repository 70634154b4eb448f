//! `/proc/PID/smaps_rollup` and `/proc/PID/status`: memory of one process (proc(5)).

use super::{items, lines, number};

/// Memory of a process [byte].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// Resident memory, a page divided by the number of those who share it.
    pub proportional: Option<u64>,
    /// The part of it that no file backs.
    pub anonymous: Option<u64>,
    /// Memory that is swapped out.
    pub swap: Option<u64>,
}

/// Value of a line `Name: 1 kB` [byte].
fn bytes<'a>(text: &'a [u8], name: &'a [u8]) -> Option<u64> {
    let mut values = lines(text).filter_map(|(_, line)| line.strip_prefix(name)?.strip_prefix(b":"));
    number(items(values.next()?).next()?).map(|kib| kib.saturating_mul(1024))
}

/// Sums over the mappings of a process, shared pages divided; before Linux 5.4 anonymous pages are counted in each.
pub fn rollup(text: &[u8]) -> Rollup {
    Rollup {
        proportional: bytes(text, b"Pss"),
        anonymous: bytes(text, b"Pss_Anon").or_else(|| bytes(text, b"Anonymous")),
        swap: bytes(text, b"SwapPss").or_else(|| bytes(text, b"Swap")),
    }
}

/// What everybody may read of a process: shared pages are counted in each.
pub fn status(text: &[u8]) -> Rollup {
    Rollup { proportional: None, anonymous: bytes(text, b"RssAnon"), swap: bytes(text, b"VmSwap") }
}
