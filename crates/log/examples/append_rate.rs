//! What it costs to append a sample to a log, and to seal its journal into Parquet.
//!
//! ```text
//! append_rate FOLDER SAMPLES
//! ```
//!
//! Writes SAMPLES rows of the whole `samples` vocabulary, one block each, and prints as JSON: CPU
//! seconds of all appends, of the seal after them, and bytes of a block.

use std::error::Error;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use thinktime_log::{LogWriter, OpenMode, Row, Session, Type, Value, vocabulary};

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// A row whose values move as those of a busy machine do.
fn row(types: &[Type], sample: u64) -> Row {
    let mut state = sample.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let value = |ty: &Type| match ty {
        Type::U64 => Value::U64(next() % 100_000),
        Type::I64 => Value::I64((next() % 100_000) as i64),
        Type::F64 => Value::F64((next() % 500) as f64 / 100.0),
        Type::Bool => Value::Bool(next() % 2 == 0),
        Type::Text => Value::from("uid:1000"),
        Type::Time => Value::Time(sample as i64 * 5_000_000),
    };
    types.iter().map(value).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, samples] = arguments.as_slice() else {
        return Err("usage: append_rate FOLDER SAMPLES".into());
    };
    let samples: u64 = samples.parse()?;
    let session = Session { source: "bench".into(), ..Session::default() };
    let mut writer = LogWriter::open(Path::new(folder), OpenMode::Create, session)?;
    let schema = vocabulary::samples();
    let types: Vec<Type> = schema.columns.iter().map(|column| column.ty).collect();
    let table = writer.declare(schema)?;
    // Made before, so that only the log's own work is measured.
    let rows: Vec<Row> = (0..samples).map(|sample| row(&types, sample)).collect();
    writer.append(vec![(table, vec![row(&types, 0)])])?;

    let (bytes, began) = (writer.bytes_written(), cpu_s());
    for row in rows {
        writer.append(vec![(table, vec![row])])?;
    }
    let append_s = cpu_s() - began;
    let block_bytes = (writer.bytes_written() - bytes) as f64 / samples as f64;
    let began = cpu_s();
    writer.seal()?;
    let seal_s = cpu_s() - began;
    writer.finish()?;
    println!("{{\"append_s\": {append_s}, \"seal_s\": {seal_s}, \"block_bytes\": {block_bytes}}}");
    Ok(())
}
