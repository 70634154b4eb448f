//! Reading and writing of logs, for `thinktime.log`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value as Json;
use thinktime_log::{
    Defect, Incident, Log, LogError, LogWriter, MACHINE_SCHEMA, Manifest, OpenMode, PartGroup, Session,
    SharedWriter, TableId, TableSchema,
};

use crate::convert::Plain;

create_exception!(_native, NativeLogError, PyValueError, "A log cannot be read or written.");

/// The Python exception of a log's error. A `ValueError`, since nearly always the folder given is the cause.
pub(crate) fn log_error(error: LogError) -> PyErr {
    NativeLogError::new_err(error.to_string())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeLogError", module.py().get_type::<NativeLogError>())?;
    module.add_class::<NativeLog>()?;
    module.add_class::<NativeLogWriter>()?;
    module.add_class::<ArrowTable>()?;
    module.add_function(wrap_pyfunction!(vocabulary, module)?)?;
    module.add_function(wrap_pyfunction!(machine_schema, module)?)
}

/// The schemas of the standard tables.
#[pyfunction]
fn vocabulary() -> Plain<Vec<TableSchema>> {
    Plain(thinktime_log::vocabulary::tables())
}

/// The JSON Schema of the machine of a session.
#[pyfunction]
fn machine_schema() -> PyResult<Plain<Json>> {
    serde_json::from_str(MACHINE_SCHEMA).map(Plain).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Rows of a table, for any consumer of the Arrow PyCapsule interface.
#[pyclass(frozen, module = "thinktime._native")]
struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to answer with its own schema.
        drop(requested_schema);
        // Columns are counted references: a clone of a batch copies none.
        let batches: Vec<Result<RecordBatch, ArrowError>> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// A log, opened for reading.
#[pyclass(frozen, module = "thinktime._native")]
struct NativeLog(Log);

#[pymethods]
impl NativeLog {
    #[new]
    /// Opens the log in the folder `path`.
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Log::open(&path)).map(NativeLog).map_err(log_error)
    }

    /// The manifest as it was when the log was opened.
    fn manifest(&self) -> Plain<&Manifest> {
        Plain(self.0.manifest())
    }

    /// Complete parts of `table` as they lie on the disk, those with the same columns together.
    fn part_groups(&self, table: &str) -> PyResult<Plain<Vec<PartGroup>>> {
        self.0.part_groups(table).map(Plain).map_err(log_error)
    }

    /// Rows of `table` that are in no sealed part yet; `None` if there are none.
    fn open_rows(&self, py: Python<'_>, table: &str) -> PyResult<Option<ArrowTable>> {
        let batch = py.detach(|| self.0.open_rows(table)).map_err(log_error)?;
        Ok(batch.map(|batch| ArrowTable { schema: batch.schema(), batches: vec![batch] }))
    }

    /// All rows of `table`; `None` if the log has no such table.
    fn read(&self, py: Python<'_>, table: &str) -> PyResult<Option<ArrowTable>> {
        let Some(schema) = self.0.schema(table) else { return Ok(None) };
        let batches = py.detach(|| self.0.read(table)).map_err(log_error)?;
        Ok(Some(ArrowTable { schema: schema.arrow(), batches }))
    }

    /// Differences between the log and the bytes that were written: parts missing, added or changed.
    fn integrity(&self, py: Python<'_>) -> PyResult<Plain<Vec<Defect>>> {
        py.detach(|| self.0.integrity()).map(Plain).map_err(log_error)
    }

    /// All defects of the log, with those of single rows; reads everything.
    fn check(&self, py: Python<'_>) -> PyResult<Plain<Vec<Defect>>> {
        py.detach(|| self.0.check()).map(Plain).map_err(log_error)
    }
}

/// The writer of a log, which several sources may share: behind a lock, because recorder and terminals write from
/// threads of their own.
#[pyclass(frozen, module = "thinktime._native")]
pub(crate) struct NativeLogWriter(SharedWriter);

impl NativeLogWriter {
    /// The writer, for a recorder or for synthetic users.
    pub(crate) fn shared(&self) -> SharedWriter {
        Arc::clone(&self.0)
    }

    /// Result of `act` on the writer. Waits for the lock without the GIL, because its holder may need the GIL.
    fn with_writer<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut LogWriter) -> Result<T, LogError> + Send,
    ) -> PyResult<T> {
        py.detach(|| match self.0.lock() {
            Ok(mut writer) => act(&mut writer).map_err(log_error),
            // Poisoned: the writer may hold half a block, and no more can be written to this log.
            Err(_) => Err(NativeLogError::new_err("a thread that wrote this log has panicked")),
        })
    }
}

#[pymethods]
impl NativeLogWriter {
    #[new]
    /// A writer of the log in the folder `path`, with a new session.
    fn new(py: Python<'_>, path: PathBuf, mode: Plain<OpenMode>, session: Plain<Session>) -> PyResult<Self> {
        let writer = py.detach(|| LogWriter::open(&path, mode.0, session.0)).map_err(log_error)?;
        Ok(NativeLogWriter(Arc::new(Mutex::new(writer))))
    }

    /// Writes the rows of `stream`, an object with `__arrow_c_stream__`, as a part of the table.
    fn write(&self, py: Python<'_>, schema: Plain<TableSchema>, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        // The stream is opened with the GIL, as a Python call, and read without it: a large table takes its time.
        let reader = stream_reader(stream)?;
        self.with_writer(py, |writer| {
            let table: TableId = writer.declare(schema.0)?;
            writer.write_part(table, reader)
        })
    }

    /// Counts incidents. `span_us` are the times of the first and the last; both are now if it is None.
    fn incident(
        &self,
        py: Python<'_>,
        kind: &str,
        detail: &str,
        count: u64,
        span_us: Option<(i64, i64)>,
    ) -> PyResult<()> {
        let mut incident = Incident { count, ..Incident::now(kind, detail) };
        if let Some((first_us, last_us)) = span_us {
            incident = Incident { first_us, last_us, ..incident };
        }
        self.with_writer(py, |writer| writer.count(&incident))
    }

    /// Sets a key of the session in the manifest.
    fn set(&self, py: Python<'_>, key: &str, value: Plain<Json>) -> PyResult<()> {
        self.with_writer(py, |writer| writer.set(key, value.0))
    }

    /// Seals the open part; the next row starts a new one.
    fn seal(&self, py: Python<'_>) -> PyResult<()> {
        self.with_writer(py, LogWriter::seal)
    }

    /// Seals the open part and ends the session cleanly, at `end_us` or now [µs since 1970 UTC].
    fn finish(&self, py: Python<'_>, end_us: Option<i64>) -> PyResult<()> {
        self.with_writer(py, |writer| match end_us {
            Some(end_us) => writer.finish_at(end_us),
            None => writer.finish(),
        })
    }
}

/// The batches of any producer of the Arrow PyCapsule interface (polars, pyarrow, pandas).
fn stream_reader(producer: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let capsule = producer.call_method0("__arrow_c_stream__")?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("__arrow_c_stream__ did not give a PyCapsule"))?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the capsule's name says that it holds a live ArrowArrayStream; from_raw takes its
    // contents and leaves it released, as the PyCapsule interface asks of a consumer.
    unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr().cast()) }
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
