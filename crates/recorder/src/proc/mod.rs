//! One pure parse function for each file of `/proc` (and of its neighbours under `/sys` and `/run`).
//!
//! Each takes the bytes and the name of the file (for errors), knows nothing of the machine, and never
//! panics. A field that older kernels lack is `None`; a field that is present but not a number is an
//! error, because a counter read wrongly is worse than none.

pub mod cgroup;
pub mod cpu_usage;
pub mod diskstats;
pub mod drm;
pub mod group_files;
pub mod loadavg;
pub mod meminfo;
pub mod memory;
pub mod net_dev;
pub mod pressure;
pub mod process_io;
pub mod process_stat;
pub mod schedstat;
pub mod stat;
pub mod utmp;
pub mod vmstat;

use std::fmt::Display;

/// A kernel file whose contents are not as documented.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path}, line {line}: {item}: {problem}; please report this kernel's file, and leave the source out until then"
)]
pub struct ParseError {
    /// File as the user knows it, such as `/proc/stat`.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Field or key, in the words of the kernel's documentation.
    pub item: String,
    /// Defect: the text found, or that the field is missing.
    pub problem: String,
}

impl ParseError {
    fn new(path: impl Display, line: usize, item: impl Display, problem: impl Display) -> Self {
        ParseError { path: path.to_string(), line, item: item.to_string(), problem: problem.to_string() }
    }

    fn missing(path: impl Display, line: usize, item: impl Display) -> Self {
        ParseError::new(path, line, item, "is missing")
    }
}

/// Lines of `text` that are not empty, with their numbers counted from 1, without the newline.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    text.split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| (index + 1, line))
}

/// The items of a line, separated by blanks.
fn items(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|item| !item.is_empty())
}

/// Value of a decimal number without a sign; `None` for anything else and for more than 64 bits.
///
/// Not `str::parse`: that accepts a leading `+`, and would need a check for UTF-8 first.
fn number(item: &[u8]) -> Option<u64> {
    if item.is_empty() {
        return None;
    }
    item.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Value of a decimal number that may have a minus sign.
fn signed(item: &[u8]) -> Option<i64> {
    match item.strip_prefix(b"-") {
        Some(rest) => number(rest).and_then(|value| 0i64.checked_sub_unsigned(value)),
        None => number(item).and_then(|value| i64::try_from(value).ok()),
    }
}

/// `item` for an error message: up to 40 bytes, since a damaged file may have no blanks at all.
fn shown(item: &[u8]) -> String {
    String::from_utf8_lossy(&item[..item.len().min(40)]).into_owned()
}

/// Reads one file's fields in their order, and names the field in an error.
struct Fields<I, P> {
    items: I,
    path: P,
    line: usize,
}

impl<'a, I: Iterator<Item = &'a [u8]>, P: Display> Fields<I, P> {
    fn new(items: I, path: P, line: usize) -> Self {
        Fields { items, path, line }
    }

    fn wrong(&self, name: &str, item: &[u8]) -> ParseError {
        let problem = format!("{:?} is not a 64-bit number", shown(item));
        ParseError::new(&self.path, self.line, name, problem)
    }

    /// The next field, which every kernel has.
    fn need(&mut self, name: &str) -> Result<u64, ParseError> {
        self.optional(name)?.ok_or_else(|| ParseError::missing(&self.path, self.line, name))
    }

    fn need_signed(&mut self, name: &str) -> Result<i64, ParseError> {
        let item = self.items.next().ok_or_else(|| ParseError::missing(&self.path, self.line, name))?;
        signed(item).ok_or_else(|| self.wrong(name, item))
    }

    /// The next field, which older kernels do not have.
    fn optional(&mut self, name: &str) -> Result<Option<u64>, ParseError> {
        match self.items.next() {
            None => Ok(None),
            Some(item) => number(item).map(Some).ok_or_else(|| self.wrong(name, item)),
        }
    }

    fn skip(&mut self, fields: usize) {
        for _ in 0..fields {
            self.items.next();
        }
    }
}
