//! Parquet parts: `<table>/part-NNNNNN.parquet`, complete and put in place by rename.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::error::{IoContext, LogError};
use crate::history::upgraded_batch;
use crate::manifest::put_in_place;
use crate::schema::{Row, TableSchema, Type, Value};

/// Where part `number` of `table` is; digits are padded, so that names sort as numbers do.
pub(crate) fn part_path(dir: &Path, table: &str, number: u64) -> PathBuf {
    dir.join(table).join(format!("part-{number:06}.parquet"))
}

/// Where the journal of part `number` is.
pub(crate) fn journal_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("journal-{number:06}.ttj"))
}

/// The numbered files of `dir` whose name is `prefix`, digits, `suffix`; in order.
pub(crate) fn numbered(dir: &Path, prefix: &str, suffix: &str) -> Result<Vec<(u64, PathBuf)>, LogError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        // A table that was declared and has no part yet has no folder.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).at("list", dir),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.at("list", dir)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digits = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        if let Some(number) = digits.and_then(|digits| digits.parse().ok()) {
            found.push((number, path));
        }
    }
    // The order of a directory is the file system's; by number is by time.
    found.sort();
    Ok(found)
}

/// The complete parts of `table`, in order.
pub(crate) fn parts(dir: &Path, table: &str) -> Result<Vec<(u64, PathBuf)>, LogError> {
    numbered(&dir.join(table), "part-", ".parquet")
}

/// The journals, in order: one while a writer is at work, more only after crashes.
pub(crate) fn journals(dir: &Path) -> Result<Vec<(u64, PathBuf)>, LogError> {
    numbered(dir, "journal-", ".ttj")
}

/// Writes a part, by way of another name: it is complete or not there. Returns its length in bytes.
pub(crate) fn write_part(
    dir: &Path,
    schema: &TableSchema,
    number: u64,
    batches: impl IntoIterator<Item = Result<RecordBatch, LogError>>,
) -> Result<u64, LogError> {
    let path = part_path(dir, &schema.name, number);
    let table_dir = dir.join(&schema.name);
    fs::create_dir_all(&table_dir).at("create", &table_dir)?;
    put_in_place(&path, true, |file| {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("thinktime ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let failed = |error: parquet::errors::ParquetError| match error {
            // The cause decides what the writer does: a full disk is waited for.
            parquet::errors::ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
                Ok(io) => LogError::Io {
                    action: "write",
                    path: path.clone(),
                    source: *io,
                    remedy: "make room on that file system",
                },
                Err(other) => LogError::damaged(&path, "Parquet", other),
            },
            other => LogError::damaged(&path, "Parquet", other),
        };
        let mut writer = ArrowWriter::try_new(file, schema.arrow(), Some(properties)).map_err(failed)?;
        for batch in batches {
            writer.write(&batch?).map_err(failed)?;
        }
        writer.close().map_err(failed)?;
        Ok(())
    })?;
    Ok(fs::metadata(&path).at("read", &path)?.len())
}

/// A reader of a part, which has checked the file's own structure.
pub(crate) fn open_part(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, LogError> {
    let file = File::open(path).at("open", path)?;
    ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| LogError::damaged(path, "Parquet footer", error))
}

/// The rows of a part of `table`, with the columns of this version.
pub(crate) fn read_part(path: &Path, table: &str) -> Result<Vec<RecordBatch>, LogError> {
    let reader =
        open_part(path)?.build().map_err(|error| LogError::damaged(path, "Parquet row groups", error))?;
    reader
        .map(|batch| {
            let batch = batch.map_err(|error| LogError::damaged(path, "Parquet rows", error))?;
            upgraded_batch(table, batch)
        })
        .collect()
}

/// Rows as columns.
pub(crate) fn batch_of(schema: &TableSchema, rows: &[Row]) -> Result<RecordBatch, LogError> {
    let columns = schema.columns.iter().enumerate().map(|(at, column)| column_of(column.ty, at, rows));
    RecordBatch::try_new(schema.arrow(), columns.collect())
        .map_err(|error| LogError::Schema { table: schema.name.clone(), reason: error.to_string() })
}

fn column_of(ty: Type, at: usize, rows: &[Row]) -> ArrayRef {
    macro_rules! fill {
        ($builder:expr, $($variant:pat => $value:expr),*) => {{
            let mut builder = $builder;
            for row in rows {
                match &row[at] {
                    $($variant => builder.append_value($value),)*
                    _ => builder.append_null(),
                }
            }
            ArrayBuilder::finish(&mut builder)
        }};
    }
    match ty {
        Type::U64 => fill!(UInt64Builder::with_capacity(rows.len()), Value::U64(v) => *v),
        Type::I64 => fill!(Int64Builder::with_capacity(rows.len()), Value::I64(v) => *v),
        Type::F64 => fill!(Float64Builder::with_capacity(rows.len()), Value::F64(v) => *v),
        Type::Bool => fill!(BooleanBuilder::with_capacity(rows.len()), Value::Bool(v) => *v),
        Type::Text => fill!(StringBuilder::new(), Value::Text(v) => v),
        Type::Time => {
            let builder = TimestampMicrosecondBuilder::with_capacity(rows.len()).with_data_type(ty.arrow());
            fill!(builder, Value::Time(v) => *v)
        }
    }
}

/// `batch` with the columns of `schema`, null where it has none.
pub(crate) fn widen(batch: &RecordBatch, schema: &TableSchema) -> Result<RecordBatch, LogError> {
    let arrow = schema.arrow();
    let columns = arrow.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => arrow_array::new_null_array(field.data_type(), batch.num_rows()),
    });
    RecordBatch::try_new(arrow.clone(), columns.collect())
        .map_err(|error| LogError::Schema { table: schema.name.clone(), reason: error.to_string() })
}
