//! Limits of what a part may ask its reader for, verified before the reader of Parquet sees it.
//!
//! That reader believes the numbers in a file: a list of booleans in the footer takes no bytes and as many steps
//! as its length says (four seconds for six bytes), and the dictionary of a column is allocated for as many values
//! as its header says (16 GB for five bytes). Footers and page headers are therefore walked here by the
//! types of their fields, in time and memory that the bytes which are there bound.
//!
//! Both are structs in Thrift's compact protocol (apache/thrift, doc/specs/thrift-compact-protocol.md); a part ends
//! with the footer, its length as four bytes, and `PAR1` (apache/parquet-format, README).

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

const MAGIC: &[u8; 4] = b"PAR1";
const TRAILER_BYTES: u64 = 8;
/// Structs of Parquet nest less than ten deep.
const DEPTH_MAX: u32 = 32;
/// Longest page after decompression. The writer ends a page at 1 MiB or 1024 values, whichever is later, so that
/// only values of 256 KiB each could reach it.
const PAGE_BYTES_MAX: i64 = 256 << 20;
/// Most rows of a part: a column in which all are equal takes no bytes for them, and memory when it is read.
const ROWS_MAX: i64 = 100_000_000;
/// Bytes that are read to find a page's header in them, which is rarely longer.
const HEADER_BYTES: u64 = 1024;

/// Type of a field that Parquet's reader knows. It does not look at the type that the file names, so that another
/// one would be read as this one from there on.
enum Shape {
    Flag,
    Byte,
    Number(Role),
    Bytes,
    List(Role, &'static Shape),
    Record(Fields),
}

/// Fields of a struct by their numbers.
type Fields = &'static [(i64, Shape)];

/// Numbers that decide what is allocated.
#[derive(Clone, Copy)]
enum Role {
    Other,
    /// Length of the list of schema elements, and the children of one of them.
    Elements,
    Children,
    UncompressedBytes,
    CompressedBytes,
    Values,
    DictionaryValues,
}

use Role::{Children, CompressedBytes, DictionaryValues, Elements, Other, UncompressedBytes, Values};
use Shape::{Byte, Bytes, Flag, List, Number, Record};

// apache/parquet-format, parquet.thrift. Fields that are not named here are skipped by their own type, as the reader
// does.
const NUMBER: Shape = Number(Other);
const EMPTY: Shape = Record(&[]);
const TIME: Shape = Record(&[(1, Flag), (2, Record(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);
const LOGICAL_TYPE: Shape = Record(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Record(&[(1, NUMBER), (2, NUMBER)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Record(&[(1, Byte), (2, Flag)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
]);
const SCHEMA_ELEMENT: Shape = Record(&[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, Bytes),
    (5, Number(Children)),
    (6, NUMBER),
    (7, NUMBER),
    (8, NUMBER),
    (9, NUMBER),
    (10, LOGICAL_TYPE),
]);
const KEY_VALUE: Shape = Record(&[(1, Bytes), (2, Bytes)]);
const STATISTICS: Shape =
    Record(&[(1, Bytes), (2, Bytes), (3, NUMBER), (4, NUMBER), (5, Bytes), (6, Bytes), (7, Flag), (8, Flag)]);
const ENCODING: Shape = Record(&[(1, NUMBER), (2, NUMBER), (3, NUMBER)]);
const SIZES: Shape = Record(&[(1, NUMBER), (2, List(Other, &NUMBER)), (3, List(Other, &NUMBER))]);
const COLUMN_METADATA: Shape = Record(&[
    (1, NUMBER),
    (2, List(Other, &NUMBER)),
    (3, List(Other, &Bytes)),
    (4, NUMBER),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
    (8, List(Other, &KEY_VALUE)),
    (9, NUMBER),
    (10, NUMBER),
    (11, NUMBER),
    (12, STATISTICS),
    (13, List(Other, &ENCODING)),
    (14, NUMBER),
    (15, NUMBER),
    (16, SIZES),
]);
const COLUMN: Shape = Record(&[
    (1, Bytes),
    (2, NUMBER),
    (3, COLUMN_METADATA),
    (4, NUMBER),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
    (9, Bytes),
]);
const SORTING: Shape = Record(&[(1, NUMBER), (2, Flag), (3, Flag)]);
const ROW_GROUP: Shape = Record(&[
    (1, List(Other, &COLUMN)),
    (2, NUMBER),
    (3, NUMBER),
    (4, List(Other, &SORTING)),
    (5, NUMBER),
    (6, NUMBER),
    (7, NUMBER),
]);
/// `FileMetaData`.
const FOOTER: Fields = &[
    (1, NUMBER),
    (2, List(Elements, &SCHEMA_ELEMENT)),
    (3, NUMBER),
    (4, List(Other, &ROW_GROUP)),
    (5, List(Other, &KEY_VALUE)),
    (6, Bytes),
    (7, List(Other, &Record(&[(1, EMPTY)]))),
];
const PAGE_HEADER: Fields = &[
    (1, NUMBER),
    (2, Number(UncompressedBytes)),
    (3, Number(CompressedBytes)),
    (4, NUMBER),
    (5, Record(&[(1, Number(Values)), (2, NUMBER), (3, NUMBER), (4, NUMBER), (5, STATISTICS)])),
    (6, EMPTY),
    (7, Record(&[(1, Number(DictionaryValues)), (2, NUMBER), (3, Flag)])),
    (
        8,
        Record(&[
            (1, Number(Values)),
            (2, NUMBER),
            (3, NUMBER),
            (4, NUMBER),
            (5, NUMBER),
            (6, NUMBER),
            (7, Flag),
            (8, STATISTICS),
        ]),
    ),
];

/// The numbers of a footer or of a page header: of each role the largest, or a negative one.
#[derive(Default)]
struct Amounts {
    elements: i64,
    children: i64,
    uncompressed: i64,
    compressed: i64,
    values: i64,
    dictionary: i64,
}

impl Amounts {
    fn take(&mut self, role: Role, number: i64) {
        let amount = match role {
            Other => return,
            Elements => &mut self.elements,
            Children => &mut self.children,
            UncompressedBytes => &mut self.uncompressed,
            CompressedBytes => &mut self.compressed,
            Values => &mut self.values,
            DictionaryValues => &mut self.dictionary,
        };
        if *amount >= 0 {
            *amount = if number < 0 { number } else { number.max(*amount) };
        }
    }
}

/// Types of the compact protocol.
mod kind {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const STRUCT: u8 = 12;
}

/// An error if the footer of `file` asks for more steps than it has bytes. A file that does not end as Parquet
/// does is left to its reader, which says so.
pub(crate) fn check_footer(file: &File) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let length = file.metadata().map_err(failed)?.len();
    let mut trailer = [0; TRAILER_BYTES as usize];
    let Some(end) = length.checked_sub(TRAILER_BYTES) else { return Ok(()) };
    file.read_exact_at(&mut trailer, end).map_err(failed)?;
    let (count, magic) = trailer.split_at(4);
    let bytes = u64::from(u32::from_le_bytes(count.try_into().expect("four bytes")));
    let Some(start) = end.checked_sub(bytes).filter(|_| magic == MAGIC) else { return Ok(()) };
    let mut footer = vec![0; (end - start) as usize];
    file.read_exact_at(&mut footer, start).map_err(failed)?;
    let Amounts { elements, children, .. } = Walk { rest: &footer }.known(FOOTER)?;
    // Room for the children is taken at once.
    if children != 0 && !(0..elements).contains(&children) {
        return Err(format!("an element with {children} children in a schema of {elements} elements"));
    }
    Ok(())
}

/// An error if a column is no plain one, or if a page says more than its bytes can hold.
pub(crate) fn check_pages(file: &File, metadata: &ParquetMetaData) -> Result<(), String> {
    let mut left = file.metadata().map_err(|error| error.to_string())?.len();
    let mut rows_left = ROWS_MAX;
    for group in metadata.row_groups() {
        let rows = group.num_rows();
        rows_left = rows_left
            .checked_sub(rows)
            .filter(|left| (0..=ROWS_MAX).contains(left))
            .ok_or(format!("{rows} rows; a part has at most {ROWS_MAX}"))?;
        if rows > 0 && group.columns().is_empty() {
            return Err(format!("{rows} rows without a column"));
        }
        for column in group.columns() {
            let name = column.column_path().string();
            if column.column_descr().max_rep_level() > 0 || column.column_descr().max_def_level() > 1 {
                return Err(format!("column {name}: lists or records, and a log has none"));
            }
            let (start, bytes) =
                column_bytes(column).ok_or(format!("column {name}: a place that cannot be"))?;
            // No two columns share bytes, so that their sum is bounded by those that are there.
            left =
                left.checked_sub(bytes).ok_or(format!("column {name}: longer than the rest of the file"))?;
            check_column(file, start, bytes, rows).map_err(|reason| format!("column {name}: {reason}"))?;
        }
    }
    Ok(())
}

/// First byte and length of the pages of a column.
fn column_bytes(column: &ColumnChunkMetaData) -> Option<(u64, u64)> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    Some((start.try_into().ok()?, column.compressed_size().try_into().ok()?))
}

/// Reads the headers of the pages in `bytes` from `start`, and not the pages.
fn check_column(file: &File, start: u64, bytes: u64, rows: i64) -> Result<(), String> {
    let end = start.saturating_add(bytes);
    let (mut at, mut window_bytes) = (start, HEADER_BYTES);
    while at < end {
        let mut window = vec![0; window_bytes.min(end - at) as usize];
        file.read_exact_at(&mut window, at).map_err(|error| error.to_string())?;
        let mut walk = Walk { rest: &window };
        match walk.page_header(rows) {
            Ok(page_bytes) => {
                at += (window.len() - walk.rest.len()) as u64;
                let left = end - at;
                if page_bytes > left {
                    return Err(format!("a page of {page_bytes} bytes of which {left} are there"));
                }
                at += page_bytes;
                window_bytes = HEADER_BYTES;
            }
            // A header with a long text among its statistics.
            Err(_) if at + window_bytes < end => window_bytes *= 8,
            Err(reason) => return Err(reason),
        }
    }
    Ok(())
}

/// A place in bytes of the compact protocol.
struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let short = || format!("{count} bytes are announced and {} are there", self.rest.len());
        let count = usize::try_from(count).ok().filter(|&n| n <= self.rest.len()).ok_or_else(short)?;
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|taken| taken[0])
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number of more than ten bytes".into())
    }

    /// A number in zigzag encoding.
    fn signed(&mut self) -> Result<i64, String> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), String> {
        let depth = depth.checked_sub(1).ok_or("records within records without end")?;
        match kind {
            kind::TRUE | kind::FALSE => Ok(()),
            kind::BYTE => self.take(1).map(drop),
            kind::I16..=kind::I64 => self.unsigned().map(drop),
            kind::DOUBLE => self.take(8).map(drop),
            kind::BINARY => self.unsigned().and_then(|count| self.take(count)).map(drop),
            kind::LIST | kind::SET => self.skip_list(depth),
            kind::STRUCT => self.fields(|walk, _, kind| walk.skip(kind, depth)),
            other => Err(format!("a value of type {other}, which Parquet does not use")),
        }
    }

    fn skip_list(&mut self, depth: u32) -> Result<(), String> {
        let (kind, count) = self.list_head()?;
        (0..count).try_for_each(|_| self.skip(kind, depth))
    }

    /// Type and number of the elements of a list.
    fn list_head(&mut self) -> Result<(u8, u64), String> {
        let head = self.byte()?;
        let (kind, short) = (head & 0x0f, u64::from(head >> 4));
        let count = if short == 15 { self.unsigned()? } else { short };
        // The reader takes no byte for such an element; Parquet has none of them here.
        if count > 0 && matches!(kind, kind::TRUE | kind::FALSE) {
            return Err(format!("a list of {count} booleans"));
        }
        if count > self.rest.len() as u64 {
            return Err(format!("a list of {count} elements in {} bytes", self.rest.len()));
        }
        Ok((kind, count))
    }

    /// Takes a struct with these fields.
    fn known(&mut self, fields: Fields) -> Result<Amounts, String> {
        let mut amounts = Amounts::default();
        self.record(fields, &mut amounts)?;
        Ok(amounts)
    }

    fn record(&mut self, fields: Fields, amounts: &mut Amounts) -> Result<(), String> {
        self.fields(|walk, number, kind| match fields.iter().find(|field| field.0 == number) {
            Some((_, shape)) => walk.value(shape, kind, amounts),
            None => walk.skip(kind, DEPTH_MAX),
        })
    }

    fn value(&mut self, shape: &Shape, kind: u8, amounts: &mut Amounts) -> Result<(), String> {
        match (shape, kind) {
            (Flag, kind::TRUE | kind::FALSE) => Ok(()),
            (Byte, kind::BYTE) | (Bytes, kind::BINARY) => self.skip(kind, DEPTH_MAX),
            (Number(role), kind::I16..=kind::I64) => self.signed().map(|number| amounts.take(*role, number)),
            (Record(fields), kind::STRUCT) => self.record(fields, amounts),
            (List(role, shape), kind::LIST) => {
                let (kind, count) = self.list_head()?;
                amounts.take(*role, i64::try_from(count).unwrap_or(-1));
                (0..count).try_for_each(|_| self.value(shape, kind, amounts))
            }
            _ => Err(format!("a field of type {kind} where Parquet has another")),
        }
    }

    /// Calls `field` with the number and the type of each field of a struct; it has to take the field's bytes.
    fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, i64, u8) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut number = 0i64;
        loop {
            let head = self.byte()?;
            if head & 0x0f == kind::STOP {
                return Ok(());
            }
            number = match head >> 4 {
                0 => self.signed()?,
                step => number.saturating_add(i64::from(step)),
            };
            field(self, number, head & 0x0f)?;
        }
    }

    /// Length of the page whose header ends here; `rows` is the number of rows in the column.
    fn page_header(&mut self, rows: i64) -> Result<u64, String> {
        let Amounts { uncompressed, compressed, values, dictionary, .. } = self.known(PAGE_HEADER)?;
        if !(0..=PAGE_BYTES_MAX).contains(&uncompressed) {
            return Err(format!("a page of {uncompressed} bytes; at most {PAGE_BYTES_MAX} are read"));
        }
        if !(0..=rows).contains(&values) {
            return Err(format!("a page of {values} values in a column of {rows}"));
        }
        // Values of a dictionary take a byte at least.
        if !(0..=uncompressed).contains(&dictionary) {
            return Err(format!("a dictionary of {dictionary} values in {uncompressed} bytes"));
        }
        u64::try_from(compressed).map_err(|_| format!("a page of {compressed} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::vocabulary;
    use crate::{LogWriter, OpenMode, Session, Value};

    /// The bytes of a part with two rows.
    fn part() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut writer = LogWriter::open(&log, OpenMode::Create, Session::default()).unwrap();
        let schema = vocabulary::samples();
        let table = writer.declare(schema.clone()).unwrap();
        for second in 0..2 {
            let mut row = vec![Value::Null; schema.columns.len()];
            row[schema.position("start").unwrap()] = Value::Time(second * 1_000_000);
            row[schema.position("length_s").unwrap()] = Value::F64(1.0);
            writer.append(vec![(table, vec![row])]).unwrap();
        }
        writer.finish().unwrap();
        fs::read(log.join("samples/part-000001.parquet")).unwrap()
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        file
    }

    fn pages(bytes: &[u8]) -> Result<(), String> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file(bytes)).unwrap();
        check_pages(&file(bytes), reader.metadata())
    }

    #[test]
    fn a_part_that_was_written_is_within_the_bounds() {
        let part = part();
        assert_eq!(check_footer(&file(&part)), Ok(()));
        assert_eq!(pages(&part), Ok(()));
    }

    #[test]
    fn the_values_of_a_dictionary_take_bytes() {
        let mut part = part();
        // A dictionary page of two times and its header: 16 bytes, `DictionaryPageHeader` with 2 values.
        let header = part.windows(4).position(|bytes| bytes == [0x4c, 0x15, 0x04, 0x15]).unwrap();
        part[header + 2] = 2 * 63;
        let reason = pages(&part).unwrap_err();
        assert!(reason.contains("a dictionary of 63 values in 16 bytes"), "{reason}");
    }

    #[test]
    fn a_page_has_as_many_values_as_its_column_has_rows_or_fewer() {
        let part = part();
        // `DataPageHeader` with 2 values; in zigzag, 0x77 is -60 and 0x76 is 59.
        let header = part.windows(4).position(|bytes| bytes == [0x2c, 0x15, 0x04, 0x15]).unwrap();
        for (byte, values) in [(0x77, -60), (0x76, 59)] {
            let mut part = part.clone();
            part[header + 2] = byte;
            let reason = pages(&part).unwrap_err();
            assert!(reason.contains(&format!("a page of {values} values in a column of 2")), "{reason}");
        }
    }

    /// 792,437 rows in 182 bytes.
    #[test]
    fn rows_have_a_column() {
        let reason = pages(include_bytes!("../../../fuzz/corpus/part/rows-without-a-column")).unwrap_err();
        assert!(reason.contains("792437 rows without a column"), "{reason}");
    }

    #[test]
    fn a_footer_asks_for_no_more_steps_than_it_has_bytes() {
        let refused = |footer: &[u8]| {
            let length = (footer.len() as u32).to_le_bytes();
            check_footer(&file(&[b"PAR1", footer, &length, b"PAR1"].concat())).unwrap_err()
        };
        // Field 15, which the reader does not know and skips by the type that it names.
        assert!(refused(&[0xf9, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]).contains("2147483647 booleans"));
        assert!(
            refused(&[0xf9, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]).contains("2147483647 elements in 1 ")
        );
        assert!(refused(&[0xfc; 1000]).contains("without end"));
        assert!(refused(&[0x15, 0x80]).contains("announced"));
        // The version as a list, which the reader takes for a number.
        assert!(refused(&[0x19, 0x15, 0, 0]).contains("of type 9 where Parquet has another"));
        // A schema of one element, which has 2^31 - 1 children.
        let children = [0x29, 0x1c, 0x55, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0];
        assert!(refused(&children).contains("2147483647 children in a schema of 1 "));
    }
}
