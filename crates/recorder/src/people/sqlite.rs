//! Rows of a table in an SQLite file, read by the format alone (sqlite.org, fileformat2.html and walformat.html).
//!
//! Reads what is committed: the file, with the pages of its write-ahead log where it has one. Takes no lock and writes
//! nothing, so that nobody who logs in waits for the recorder; whoever calls looks afterwards whether the file is still
//! [the same](Database::is_same). Rows are read from the newest back, and by number, so that a file of years costs no more
//! than its last day.
//!
//! # Limitations
//! Tables with row numbers and text in UTF-8 only; no index is used. What is longer than any login is passed over.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes that one opening may read, and what a row counts: a hostile file can name the same page for ever [byte].
const ALLOWANCE: u64 = 32 << 20;
const ROW_ALLOWANCE: u64 = 64;
/// Longest payload of a row that is put together [byte].
const PAYLOAD_MAX: u64 = 64 << 10;
/// Longest write-ahead log: SQLite empties it at a quarter of this unless it is told otherwise [byte].
const LOG_MAX: u64 = 16 << 20;
/// Depth of a tree of pages: with the smallest pages and 2^31 of them, less.
const DEPTH_MAX: usize = 24;
/// Columns of a table that are looked at.
const COLUMNS_MAX: usize = 64;

const HEAD_BYTES: usize = 100;
const LOG_HEAD_BYTES: usize = 32;
const FRAME_HEAD_BYTES: usize = 24;

/// Why nothing was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it is not an SQLite database")]
    NotSqlite,
    #[error("it is an SQLite database with {0}")]
    Unsupported(&'static str),
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    #[error("its write-ahead log is longer than 16 MiB")]
    LongLog,
    /// As far as the allowance goes, everything was read.
    #[error("it is longer than 32 MiB")]
    Spent,
}

/// Where the bytes of a file come from.
pub trait Bytes {
    /// Fills `buffer` from `offset`; false if the file is shorter, or cannot be read.
    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool;
    /// Length of the file [byte].
    fn length(&self) -> u64;
}

impl Bytes for File {
    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.read_exact_at(buffer, offset).is_ok()
    }

    fn length(&self) -> u64 {
        self.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl Bytes for &[u8] {
    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = from.checked_add(buffer.len()).and_then(|until| self.get(from..until));
        found.map(|bytes| buffer.copy_from_slice(bytes)).is_some()
    }

    fn length(&self) -> u64 {
        self.len() as u64
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL, and what a row does not have.
    Null,
    Integer(i64),
    Text(&'a [u8]),
    /// A number that is not whole, or bytes.
    Other,
}

/// The root page of a table, and the names of its columns in small letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    root: u32,
    pub columns: Vec<String>,
}

/// What a walk does after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    On,
    Stop,
}

/// An open database.
#[derive(Debug)]
pub struct Database<B> {
    file: B,
    log: Option<B>,
    /// Place of each page that the log has, as of its last commit [byte].
    in_log: BTreeMap<u32, u64>,
    page_bytes: usize,
    /// Without what extensions keep at the end of each page.
    usable: usize,
    pages: u32,
    /// Heads of the file and of the log when it was opened.
    heads: ([u8; HEAD_BYTES], [u8; LOG_HEAD_BYTES]),
    allowance: Cell<u64>,
}

impl<B: Bytes> Database<B> {
    /// The database of `file` and of its write-ahead log.
    pub fn open(file: B, log: Option<B>) -> Result<Database<B>, Problem> {
        let mut head = [0; HEAD_BYTES];
        if !file.fill(0, &mut head) || !head.starts_with(b"SQLite format 3\0") {
            return Err(Problem::NotSqlite);
        }
        let page_bytes = match u16_at(&head, 16) {
            1 => 1 << 16,
            bytes => usize::from(bytes),
        };
        let usable = page_bytes.saturating_sub(usize::from(head[20]));
        if !(512..=1 << 16).contains(&page_bytes) || !page_bytes.is_power_of_two() || usable < 480 {
            return Err(Problem::Damaged("its pages have no possible size"));
        }
        if head[19] > 2 {
            return Err(Problem::Unsupported("a format of a later version"));
        }
        // Zero before the first table is made.
        if u32_at(&head, 56) > 1 {
            return Err(Problem::Unsupported("text in UTF-16"));
        }
        let mut database = Database {
            file,
            log,
            in_log: BTreeMap::new(),
            page_bytes,
            usable,
            pages: 0,
            heads: (head, [0; LOG_HEAD_BYTES]),
            allowance: Cell::new(ALLOWANCE),
        };
        let there = database.file.length() / page_bytes as u64;
        database.pages = u32::try_from(there).unwrap_or(u32::MAX);
        if head[19] == 2 {
            database.index_log()?;
        } else {
            database.log = None;
        }
        Ok(database)
    }

    /// True if nobody has committed since it was opened: what was read is of one state.
    pub fn is_same(&self) -> bool {
        let mut head = [0; HEAD_BYTES];
        let mut log_head = [0; LOG_HEAD_BYTES];
        if let Some(log) = &self.log {
            // Empty before the first commit, and after the last one that closed it.
            let _ = log.fill(0, &mut log_head);
        }
        // What is appended to the log is no part of what was read; a log that begins anew overwrites that.
        self.file.fill(0, &mut head) && head == self.heads.0 && log_head == self.heads.1
    }

    /// Finds the pages in the write-ahead log, up to its last commit.
    fn index_log(&mut self) -> Result<(), Problem> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut head = [0; LOG_HEAD_BYTES];
        if log.length() > LOG_MAX {
            return Err(Problem::LongLog);
        }
        if !log.fill(0, &mut head) {
            return Ok(());
        }
        self.heads.1 = head;
        let (magic, big) = (u32_at(&head, 0) & !1, u32_at(&head, 0) & 1 == 1);
        let mut sums = checksum(big, (0, 0), &head[..24]);
        // A head that is not whole was never followed by a commit.
        if magic != 0x377f_0682 || sums != (u32_at(&head, 24), u32_at(&head, 28)) {
            return Ok(());
        }
        if u32_at(&head, 8) as usize != self.page_bytes {
            return Err(Problem::Damaged("its write-ahead log has pages of another size"));
        }
        let mut frame = vec![0; FRAME_HEAD_BYTES + self.page_bytes];
        let mut waiting = Vec::new();
        let mut at = LOG_HEAD_BYTES as u64;
        while log.fill(at, &mut frame) {
            sums = checksum(big, checksum(big, sums, &frame[..8]), &frame[FRAME_HEAD_BYTES..]);
            // Of a log before this one, or cut off by a crash: from here on nothing is committed.
            if frame[8..16] != head[16..24] || sums != (u32_at(&frame, 16), u32_at(&frame, 20)) {
                break;
            }
            waiting.push((u32_at(&frame, 0), at + FRAME_HEAD_BYTES as u64));
            let pages = u32_at(&frame, 4);
            if pages != 0 {
                self.in_log.extend(waiting.drain(..));
                self.pages = pages;
            }
            at += frame.len() as u64;
        }
        Ok(())
    }

    fn spend(&self, bytes: u64) -> Result<(), Problem> {
        let left = self.allowance.get().checked_sub(bytes).ok_or(Problem::Spent)?;
        self.allowance.set(left);
        Ok(())
    }

    fn page(&self, number: u32) -> Result<Vec<u8>, Problem> {
        self.spend(self.page_bytes as u64)?;
        if number == 0 || number > self.pages {
            return Err(Problem::Damaged("it names a page that it does not have"));
        }
        let mut page = vec![0; self.page_bytes];
        let is_there = match (self.in_log.get(&number), &self.log) {
            (Some(at), Some(log)) => log.fill(*at, &mut page),
            _ => self.file.fill(u64::from(number - 1) * self.page_bytes as u64, &mut page),
        };
        is_there.then_some(page).ok_or(Problem::Damaged("it is shorter than it says"))
    }

    /// The table `name`; `None` if there is none.
    pub fn table(&self, name: &str) -> Result<Option<Table>, Problem> {
        let mut found = None;
        // The schema is the table of the first page: type, name, name of the table, root page and statement.
        let schema = Table { root: 1, columns: Vec::new() };
        self.newest_first(&schema, |_, values| {
            let is_it = |value: &Value, word: &str| match value {
                Value::Text(text) => text.eq_ignore_ascii_case(word.as_bytes()),
                _ => false,
            };
            let [kind, called, _, root, statement] = [0, 1, 2, 3, 4].map(|place| value_at(values, place));
            match (root, statement) {
                (Value::Integer(root), Value::Text(statement))
                    if is_it(&kind, "table") && is_it(&called, name) =>
                {
                    found = Some(u32::try_from(root).map(|root| Table { root, columns: columns(statement) }));
                    Walk::Stop
                }
                _ => Walk::On,
            }
        })?;
        found.transpose().map_err(|_| Problem::Damaged("a table has no possible root"))
    }

    /// Calls `visit` with number and values of each row, the highest number first.
    pub fn newest_first(
        &self,
        table: &Table,
        mut visit: impl FnMut(i64, &[Value<'_>]) -> Walk,
    ) -> Result<(), Problem> {
        self.walk(table.root, DEPTH_MAX, &mut visit).map(drop)
    }

    fn walk(
        &self,
        number: u32,
        depth: usize,
        visit: &mut dyn FnMut(i64, &[Value<'_>]) -> Walk,
    ) -> Result<Walk, Problem> {
        let bytes = self.page(number)?;
        let page = Page::of(&bytes[..self.usable], number)?;
        let depth = depth.checked_sub(1).ok_or(Problem::Damaged("its tree of pages is too deep"))?;
        if let Some(last) = page.last_child {
            if self.walk(last, depth, visit)? == Walk::Stop {
                return Ok(Walk::Stop);
            }
        }
        for cell in (0..page.cells).rev() {
            if page.last_child.is_some() {
                let (child, _) = page.child(cell)?;
                if self.walk(child, depth, visit)? == Walk::Stop {
                    return Ok(Walk::Stop);
                }
                continue;
            }
            let (row, payload) = page.row(cell)?;
            self.spend(ROW_ALLOWANCE)?;
            if let Some(payload) = self.whole(&payload)? {
                if visit(row, &values(&payload)?) == Walk::Stop {
                    return Ok(Walk::Stop);
                }
            }
        }
        Ok(Walk::On)
    }

    /// Calls `visit` with the values of the row of this number; false if there is none.
    pub fn row(&self, table: &Table, wanted: i64, visit: impl FnOnce(&[Value<'_>])) -> Result<bool, Problem> {
        let mut number = table.root;
        for _ in 0..DEPTH_MAX {
            let bytes = self.page(number)?;
            let page = Page::of(&bytes[..self.usable], number)?;
            if let Some(last) = page.last_child {
                number = last;
                for cell in 0..page.cells {
                    let (child, key) = page.child(cell)?;
                    if wanted <= key {
                        number = child;
                        break;
                    }
                }
                continue;
            }
            for cell in 0..page.cells {
                let (row, payload) = page.row(cell)?;
                if row == wanted {
                    let payload = self.whole(&payload)?;
                    if let Some(payload) = &payload {
                        visit(&values(payload)?);
                    }
                    return Ok(payload.is_some());
                }
            }
            return Ok(false);
        }
        Err(Problem::Damaged("its tree of pages is too deep"))
    }

    /// The payload with what is on pages of its own; `None` if it is too long to be of use.
    fn whole(&self, payload: &Payload<'_>) -> Result<Option<Vec<u8>>, Problem> {
        if payload.bytes > PAYLOAD_MAX {
            return Ok(None);
        }
        let bytes = payload.bytes as usize;
        let mut whole = payload.start.to_vec();
        let mut next = payload.rest;
        while whole.len() < bytes {
            let page = self.page(next)?;
            next = u32_at(&page, 0);
            let length = (bytes - whole.len()).min(self.usable - 4);
            whole.extend_from_slice(&page[4..4 + length]);
        }
        Ok(Some(whole))
    }
}

/// A page of a table's tree.
struct Page<'a> {
    bytes: &'a [u8],
    /// Place of the list of cells.
    list: usize,
    cells: usize,
    /// The child with the highest numbers; `None` for a page with rows.
    last_child: Option<u32>,
}

/// Payload of a row as its page has it.
struct Payload<'a> {
    /// Length of the whole [byte].
    bytes: u64,
    start: &'a [u8],
    /// First page of the rest.
    rest: u32,
}

impl Page<'_> {
    fn of(bytes: &[u8], number: u32) -> Result<Page<'_>, Problem> {
        // The first page begins with the head of the file.
        let at = if number == 1 { HEAD_BYTES } else { 0 };
        let cells = usize::from(u16_at(bytes, at + 3));
        let (list, last_child) = match bytes[at] {
            13 => (at + 8, None),
            5 => (at + 12, Some(u32_at(bytes, at + 8))),
            2 | 10 => return Err(Problem::Unsupported("a table without row numbers")),
            _ => return Err(Problem::Damaged("a page of a table is none")),
        };
        if list + 2 * cells > bytes.len() {
            return Err(Problem::Damaged("a page has more rows than room"));
        }
        Ok(Page { bytes, list, cells, last_child })
    }

    fn cell(&self, cell: usize) -> Result<&[u8], Problem> {
        let at = usize::from(u16_at(self.bytes, self.list + 2 * cell));
        self.bytes.get(at..).ok_or(Problem::Damaged("a row is outside its page"))
    }

    /// A page below this one, and the highest row number in it.
    fn child(&self, cell: usize) -> Result<(u32, i64), Problem> {
        let mut cell = self.cell(cell)?;
        let (page, rest) = cell.split_first_chunk().ok_or(CUT)?;
        cell = rest;
        Ok((u32::from_be_bytes(*page), varint(&mut cell).ok_or(CUT)?))
    }

    /// Number and payload of a row.
    fn row(&self, cell: usize) -> Result<(i64, Payload<'_>), Problem> {
        let mut cell = self.cell(cell)?;
        let bytes = u64::try_from(varint(&mut cell).ok_or(CUT)?).map_err(|_| CUT)?;
        let row = varint(&mut cell).ok_or(CUT)?;
        let usable = self.bytes.len() as u64;
        // How much of a long payload stays on the page: fileformat2.html, section 1.6.
        let most = usable - 35;
        let least = (usable - 12) * 32 / 255 - 23;
        let kept = match bytes {
            _ if bytes <= most => bytes,
            _ => match least + (bytes - least) % (usable - 4) {
                kept if kept <= most => kept,
                _ => least,
            },
        };
        // At most a page.
        let (start, rest) = cell.split_at_checked(kept as usize).ok_or(CUT)?;
        let rest = match rest.first_chunk() {
            _ if kept == bytes => 0,
            Some(page) => u32::from_be_bytes(*page),
            None => return Err(CUT),
        };
        Ok((row, Payload { bytes, start, rest }))
    }
}

const CUT: Problem = Problem::Damaged("a row is cut off");

/// Values of a row: fileformat2.html, section 2.1.
fn values(payload: &[u8]) -> Result<Vec<Value<'_>>, Problem> {
    let mut types = payload;
    let length = varint(&mut types).and_then(|length| usize::try_from(length).ok()).ok_or(CUT)?;
    let mut rest = payload.get(length..).ok_or(CUT)?;
    let end = rest.len();
    let mut values = Vec::new();
    while types.len() > end && values.len() < COLUMNS_MAX {
        let kind = varint(&mut types).and_then(|kind| u64::try_from(kind).ok()).ok_or(CUT)?;
        let bytes = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return Err(Problem::Damaged("a value has no type")),
            _ => (kind - 12) / 2,
        };
        let bytes = usize::try_from(bytes).map_err(|_| CUT)?;
        let (value, after) = rest.split_at_checked(bytes).ok_or(CUT)?;
        rest = after;
        values.push(match kind {
            0 => Value::Null,
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            1..=6 => Value::Integer(integer(value)),
            _ if kind % 2 == 1 && kind > 12 => Value::Text(value),
            _ => Value::Other,
        });
    }
    Ok(values)
}

/// The value at a place; NULL for one that the row does not have.
pub fn value_at<'a>(values: &[Value<'a>], place: usize) -> Value<'a> {
    values.get(place).copied().unwrap_or(Value::Null)
}

/// Names of the columns that `CREATE TABLE` makes, in small letters.
fn columns(statement: &[u8]) -> Vec<String> {
    let statement = String::from_utf8_lossy(statement);
    let Some((_, list)) = statement.split_once('(') else { return Vec::new() };
    let mut depth = 0usize;
    let mut parts = vec![String::new()];
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let name = |part: &String| {
        let word = part.split_whitespace().next().unwrap_or_default();
        word.trim_matches(['"', '\'', '`', '[', ']']).to_ascii_lowercase()
    };
    parts.iter().take(COLUMNS_MAX).map(name).collect()
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A whole number of 1 to 8 bytes, the highest first, with its sign.
fn integer(bytes: &[u8]) -> i64 {
    let start = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(start, |sum, byte| sum << 8 | i64::from(*byte))
}

/// A number in seven bits a byte; the ninth byte has eight.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some((number << 8 | u64::from(*byte)) as i64);
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number as i64);
        }
    }
    None
}

/// Sums of a write-ahead log over `bytes`, whose length is a multiple of eight.
fn checksum(big: bool, (mut one, mut two): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        one = one.wrapping_add(word(pair)).wrapping_add(two);
        two = two.wrapping_add(word(&pair[4..])).wrapping_add(one);
    }
    (one, two)
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
