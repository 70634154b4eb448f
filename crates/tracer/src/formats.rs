//! Tracepoints as tracefs tells of them: their numbers, and where their fields are.
//!
//! The programs say which fields they use as those of structures; [`types`] makes, of what tracefs tells, the same kind of
//! description of structures that kernels have of their own, so that one loader puts both into the programs.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use crate::TraceError;

/// Where tracefs is mounted.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// Its number for events of perf.
    pub id: u64,
    fields: Vec<Field>,
}

/// A number, or an array of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: u32,
    bytes: u32,
    is_array: bool,
}

/// The file system that tells of tracepoints.
pub(crate) struct Tracefs {
    folder: PathBuf,
}

impl Tracefs {
    pub fn open() -> Result<Tracefs, TraceError> {
        let mut denied = None;
        for folder in FOLDERS {
            match std::fs::read_dir(format!("{folder}/events/sched")) {
                Ok(_) => return Ok(Tracefs { folder: folder.into() }),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied = Some(error),
                Err(_) => {}
            }
        }
        Err(match denied {
            Some(source) => TraceError::NotPermitted { action: "read /sys/kernel/tracing", source },
            None => TraceError::NoTracefs,
        })
    }

    /// The tracepoints with these names, `GROUP/NAME`.
    pub fn tracepoints(
        &self,
        names: impl Iterator<Item = &'static str>,
    ) -> Result<BTreeMap<&'static str, Tracepoint>, TraceError> {
        let described = names.map(|name| {
            let path = self.folder.join("events").join(name).join("format");
            let text = std::fs::read_to_string(&path).map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => {
                    TraceError::Unknown { detail: format!("it has no tracepoint {name}") }
                }
                _ => TraceError::of_call("read the fields of the tracepoints")(source),
            })?;
            let detail = || format!("it tells of the tracepoint {name} in an unknown way");
            let tracepoint =
                Tracepoint::parse(&text).ok_or_else(|| TraceError::Unknown { detail: detail() })?;
            Ok((name, tracepoint))
        });
        described.collect()
    }
}

impl Tracepoint {
    /// The tracepoint of a file `format`; `None` if it has no number.
    ///
    /// ```text
    /// ID: 372
    ///     field:char prev_comm[16];   offset:8;   size:16;    signed:0;
    /// ```
    fn parse(text: &str) -> Option<Tracepoint> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields =
            text.lines().filter_map(|line| line.trim().strip_prefix("field:")).filter_map(Field::parse);
        Some(Tracepoint { id, fields: fields.collect() })
    }
}

impl Field {
    /// A field that has a place and a size of its own.
    fn parse(line: &str) -> Option<Field> {
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?;
        let mut number = |name: &str| parts.next()?.strip_prefix(name)?.strip_prefix(':')?.parse().ok();
        let (offset, bytes) = (number("offset")?, number("size")?);
        let (of, name) = declaration.rsplit_once(' ')?;
        let (name, is_array) = name.split_once('[').map_or((name, false), |(name, _)| (name, true));
        // What has a length of its own lies elsewhere.
        let is_plain = !of.contains("__data_loc") && !of.contains("__rel_loc") && !of.contains("__dynamic");
        let is_number = is_array || matches!(bytes, 1 | 2 | 4 | 8);
        (is_plain && is_number).then(|| Field { name: name.to_owned(), offset, bytes, is_array })
    }
}

/// Kinds of types (include/uapi/linux/btf.h).
const INTEGER: u32 = 1;
const ARRAY: u32 = 3;
const STRUCTURE: u32 = 4;
/// Bytes of the header.
const HEADER_BYTES: u32 = 24;

/// Types under construction, in the form of the kernel's own.
struct Types {
    words: Vec<u32>,
    strings: Vec<u8>,
    count: u32,
}

impl Types {
    fn string(&mut self, text: &str) -> u32 {
        let place = self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        place
    }

    /// Adds a type and returns its number.
    fn add(&mut self, words: &[u32]) -> u32 {
        self.words.extend(words);
        self.count += 1;
        self.count
    }

    fn integer(&mut self, bytes: u32) -> u32 {
        let name = self.string("number");
        self.add(&[name, INTEGER << 24, bytes, 8 * bytes])
    }

    fn field(&mut self, field: &Field) -> u32 {
        if !field.is_array {
            return self.integer(field.bytes);
        }
        let (element, index) = (self.integer(1), self.integer(4));
        self.add(&[0, ARRAY << 24, 0, element, index, field.bytes])
    }

    fn bytes(&self) -> Vec<u8> {
        const MAGIC: u16 = 0xeb9f;
        const VERSION: [u8; 2] = [1, 0];
        let of_types = 4 * self.words.len() as u32;
        let mut bytes = Vec::from(MAGIC.to_ne_bytes());
        bytes.extend(VERSION);
        for word in [HEADER_BYTES, 0, of_types, of_types, self.strings.len() as u32] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(self.words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(&self.strings);
        bytes
    }
}

/// A description of the fields of tracepoints: for each a structure `event_NAME`.
pub(crate) fn types(tracepoints: &BTreeMap<&'static str, Tracepoint>) -> Vec<u8> {
    let mut types = Types { words: Vec::new(), strings: vec![0], count: 0 };
    for (path, tracepoint) in tracepoints {
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut members = Vec::new();
        for field in &tracepoint.fields {
            let ty = types.field(field);
            members.extend([types.string(&field.name), ty, 8 * field.offset]);
        }
        let name = types.string(&format!("event_{name}"));
        let ends = tracepoint.fields.iter().map(|field| field.offset.saturating_add(field.bytes));
        let count = tracepoint.fields.len() as u32;
        let mut words = vec![name, STRUCTURE << 24 | count, ends.max().unwrap_or(0)];
        words.extend(members);
        types.add(&words);
    }
    types.bytes()
}

#[cfg(test)]
mod tests {
    use aya_obj::btf::{Btf, BtfKind};

    use super::*;

    const SWITCH: &str = "name: sched_switch
ID: 372
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:__data_loc char[] cmd;\toffset:40;\tsize:4;\tsigned:0;

print fmt: \"prev_comm=%s offset:%d\", REC->prev_comm, REC->prev_pid
";

    fn field(name: &str, offset: u32, bytes: u32, is_array: bool) -> Field {
        Field { name: name.into(), offset, bytes, is_array }
    }

    #[test]
    fn fields_are_where_the_kernel_says() {
        let read = Tracepoint::parse(SWITCH).unwrap();
        let fields = vec![
            field("common_type", 0, 2, false),
            field("common_pid", 4, 4, false),
            field("prev_comm", 8, 16, true),
            field("prev_pid", 24, 4, false),
            field("prev_state", 32, 8, false),
        ];
        assert_eq!(read, Tracepoint { id: 372, fields });
        for cut in 0..SWITCH.len() {
            let _ = Tracepoint::parse(&SWITCH[..cut]);
        }
        for damaged in ["", "ID: many", "ID: -1"] {
            assert_eq!(Tracepoint::parse(damaged), None);
        }
    }

    #[test]
    fn the_types_are_read_by_who_reads_those_of_the_kernel() {
        let tracepoints = BTreeMap::from([
            ("sched/sched_switch", Tracepoint::parse(SWITCH).unwrap()),
            ("task/none", Tracepoint { id: 1, fields: Vec::new() }),
        ]);
        let read = Btf::parse(&types(&tracepoints), Default::default()).unwrap();
        for name in ["event_sched_switch", "event_none"] {
            assert!(read.id_by_type_name_kind(name, BtfKind::Struct).is_ok(), "{name}");
        }
    }
}
