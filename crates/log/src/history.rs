//! Columns that earlier versions of the format called or stored otherwise.
//!
//! This is the only place that knows them. Whatever was written earlier (the tables of a manifest, the blocks
//! of a journal, Parquet parts) passes through here when it is read, so that all other code, and every
//! analysis, knows the newest names alone. Parts stay on the disk as they were written.
//!
//! A column is recognised by its name and type, not by a version: a log that a newer writer goes on with holds
//! parts of several versions. That is why an old name is refused for a new column.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};

use crate::conform::converted;
use crate::error::LogError;
use crate::schema::{Column, TableSchema, Type, Value, word};
use crate::vocabulary;

/// A column that the vocabulary had before.
pub(crate) struct Superseded {
    table: &'static str,
    name: &'static str,
    ty: Type,
    /// Its name in the vocabulary of today.
    pub(crate) by: &'static str,
}

const fn superseded(table: &'static str, name: &'static str, ty: Type, by: &'static str) -> Superseded {
    Superseded { table, name, ty, by }
}

/// What version 2 of the format changed.
const SUPERSEDED: [Superseded; 5] = [
    superseded("samples", "pages_stolen", Type::U64, "pages_reclaimed"),
    superseded("samples", "busy_exact_s", Type::F64, "cpu_exact_s"),
    superseded("samples", "recorder_late_s", Type::F64, "recorder_delay_s"),
    superseded("interactions", "arrival", Type::Time, "due"),
    // Same name, other type: recognised by the type.
    superseded("interactions", "waited", Type::U64, "waited"),
];

/// Refuses a new table that has a column of an earlier version: a reader would take it for the old one.
pub(crate) fn refuse_superseded(schema: &TableSchema) -> Result<(), LogError> {
    for column in &schema.columns {
        if let Some(old) = Superseded::of_column(&schema.name, column) {
            let today = old.replacement();
            return Err(schema.wrong(format!(
                "column {} of type {} is of an earlier version of the format: it is {} of type {} now",
                column.name,
                word(&column.ty),
                today.name,
                word(&today.ty),
            )));
        }
    }
    Ok(())
}

impl Superseded {
    /// What a column of a schema was before, if it is an old one.
    pub(crate) fn of_column(table: &str, column: &Column) -> Option<&'static Superseded> {
        SUPERSEDED.iter().find(|old| old.table == table && old.name == column.name && old.ty == column.ty)
    }

    /// The same for a column of a Parquet file.
    pub(crate) fn of_field(table: &str, field: &Field) -> Option<&'static Superseded> {
        let same = |old: &&Superseded| old.name == field.name() && old.ty.arrow() == *field.data_type();
        SUPERSEDED.iter().filter(|old| old.table == table).find(same)
    }

    /// The column of today's vocabulary that holds the same.
    pub(crate) fn replacement(&self) -> Column {
        let tables = vocabulary::tables();
        let columns =
            tables.into_iter().filter(|table| table.name == self.table).flat_map(|table| table.columns);
        columns.into_iter().find(|column| column.name == self.by).expect("the vocabulary has the new column")
    }
}

/// `schema` as this version would have declared it.
pub(crate) fn upgraded(mut schema: TableSchema) -> TableSchema {
    for column in &mut schema.columns {
        if let Some(old) = Superseded::of_column(&schema.name, column) {
            *column = old.replacement();
        }
    }
    schema
}

/// A value of the journal, decoded by the type that it was stored with, as a value of type `ty`.
pub(crate) fn upgraded_value(value: Value, ty: Type) -> Value {
    match (value, ty) {
        // Null stays null: it says that nothing is known, not no.
        (Value::U64(number), Type::Bool) => Value::Bool(number != 0),
        (value, _) => value,
    }
}

/// A batch of a Parquet part of `table` with the names and types of this version.
pub(crate) fn upgraded_batch(table: &str, batch: RecordBatch) -> Result<RecordBatch, LogError> {
    let schema = batch.schema();
    // Most parts are of this version: their batches pass without a copy.
    if schema.fields().iter().all(|field| Superseded::of_field(table, field).is_none()) {
        return Ok(batch);
    }
    let wrong = |reason: String| LogError::Schema { table: table.into(), reason };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, values) in schema.fields().iter().zip(batch.columns()) {
        let Some(old) = Superseded::of_field(table, field) else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(values));
            continue;
        };
        let column = old.replacement();
        let values = converted(values, column.ty);
        columns.push(values.map_err(|reason| wrong(format!("column {}: {reason}", field.name())))?);
        fields.push(Arc::new(column.arrow()));
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_superseded_column_has_a_replacement_that_is_not_superseded() {
        for old in &SUPERSEDED {
            let column = old.replacement();
            assert!(Superseded::of_column(old.table, &column).is_none(), "{}", column.name);
        }
    }
}
