//! Parquet parts: `<table>/part-NNNNNN.parquet`, complete and put in place by rename.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::bounds;
use crate::error::{IoContext, LogError};
use crate::folder::Folder;
use crate::history::upgraded_batch;
use crate::ledger::{Part, Stamp};
use crate::panics::caught;
use crate::schema::{Row, TableSchema, Type, Value};

/// Name of part `number` in the folder of its table; digits are padded, so that names sort as numbers do.
pub(crate) fn part_name(number: u64) -> String {
    format!("part-{number:06}.parquet")
}

/// Name of the journal of part `number`.
pub(crate) fn journal_name(number: u64) -> String {
    format!("journal-{number:06}.ttj")
}

/// Name under which a journal is kept when not all of it could be read.
pub(crate) fn damaged_name(number: u64) -> String {
    format!("journal-{number:06}.damaged")
}

/// Numbers of the files that are called as parts of `table` are, in order.
pub(crate) fn part_numbers(folder: &Folder, table: &str) -> Result<Vec<u64>, LogError> {
    match folder.sub(table)? {
        Some(sub) => sub.numbers("part-", ".parquet"),
        // A table that was declared and has no part yet has no folder.
        None => Ok(Vec::new()),
    }
}

/// Numbers of the journals, in order: one while a writer is at work, more only after crashes.
pub(crate) fn journal_numbers(folder: &Folder) -> Result<Vec<u64>, LogError> {
    folder.numbers("journal-", ".ttj")
}

/// Numbers of the journals that are kept because they could not be read whole.
pub(crate) fn damaged_numbers(folder: &Folder) -> Result<Vec<u64>, LogError> {
    folder.numbers("journal-", ".damaged")
}

/// Writes a part, by way of another name: it is complete or not there.
pub(crate) fn write_part(
    folder: &Folder,
    schema: &TableSchema,
    number: u64,
    batches: impl IntoIterator<Item = Result<RecordBatch, LogError>>,
) -> Result<Part, LogError> {
    let sub = folder.make_sub(&schema.name)?;
    let name = part_name(number);
    let path = sub.at(&name);
    let (stamp, rows) = sub.put_in_place(&name, true, |file| {
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
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            writer.write(&batch).map_err(failed)?;
        }
        writer.close().map_err(failed)?;
        Ok(rows)
    })?;
    Ok(Part { rows, stamp })
}

/// A complete part on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartFile {
    pub(crate) table: String,
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
}

impl PartFile {
    pub(crate) fn new(folder: &Folder, table: &str, number: u64) -> PartFile {
        let path = folder.at(table).join(part_name(number));
        PartFile { table: table.into(), number, path }
    }

    /// Rows and stamp of the file as it lies there.
    pub(crate) fn measure(&self, folder: &Folder) -> Result<Part, LogError> {
        let mut file = self.open(folder)?;
        let stamp = Stamp::of_reader(&mut file).at("read", &self.path)?;
        let metadata = self.reader(file)?.metadata().clone();
        let rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        Ok(Part { rows, stamp })
    }

    /// The file, opened relative to the log's folder.
    pub(crate) fn open(&self, folder: &Folder) -> Result<File, LogError> {
        match folder.sub(&self.table)? {
            Some(sub) => sub.open_file(&part_name(self.number)),
            None => Err(LogError::damaged(&self.path, "part", "the folder of the table is gone")),
        }
    }

    /// A reader of the part, which has checked the file's own structure.
    pub(crate) fn reader(&self, file: File) -> Result<ParquetRecordBatchReaderBuilder<File>, LogError> {
        let damaged = |reason: String| LogError::damaged(&self.path, "Parquet footer", reason);
        bounds::check_footer(&file).map_err(damaged)?;
        let pages = file.try_clone().at("open", &self.path)?;
        let reader = caught(&self.path, "Parquet footer", || {
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(error.to_string()))
        })?;
        bounds::check_pages(&pages, reader.metadata())
            .map_err(|reason| LogError::damaged(&self.path, "Parquet pages", reason))?;
        Ok(reader)
    }

    /// Calls `take` with the rows of the part, a batch at a time and with the columns of this version.
    pub(crate) fn for_each_batch(
        &self,
        file: File,
        take: impl FnMut(RecordBatch) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        self.for_each_batch_of(file, |reader| reader, take)
    }

    /// The same with a reader that `choose` makes read less.
    pub(crate) fn for_each_batch_of(
        &self,
        file: File,
        choose: impl FnOnce(ParquetRecordBatchReaderBuilder<File>) -> ParquetRecordBatchReaderBuilder<File>,
        mut take: impl FnMut(RecordBatch) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let reader = self.reader(file)?;
        let mut batches = caught(&self.path, "Parquet row groups", || {
            choose(reader).build().map_err(|error| LogError::damaged(&self.path, "Parquet row groups", error))
        })?;
        // One at a time: a hostile part of a megabyte holds more rows than memory does.
        while let Some(batch) = caught(&self.path, "Parquet rows", || {
            batches.next().transpose().map_err(|error| LogError::damaged(&self.path, "Parquet rows", error))
        })? {
            take(upgraded_batch(&self.table, batch)?)?;
        }
        Ok(())
    }
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

/// `batch` of `table` with the columns of `schema`, null where it has none.
///
/// Arrow's schema is made by the caller, once for all batches: it takes longer than the rows of a small one.
pub(crate) fn widen(batch: &RecordBatch, table: &str, schema: &SchemaRef) -> Result<RecordBatch, LogError> {
    let columns = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => arrow_array::new_null_array(field.data_type(), batch.num_rows()),
    });
    RecordBatch::try_new(SchemaRef::clone(schema), columns.collect())
        .map_err(|error| LogError::Schema { table: table.into(), reason: error.to_string() })
}
