//! Rows filled in by the names of their columns.
//!
//! Code that makes rows thus does not depend on the order of the vocabulary's columns; the price is a
//! lookup for each value.

use std::collections::BTreeMap;

use thinktime_log::{Row, TableSchema, Value};

/// Schema of a table, with the positions of its columns by name.
#[derive(Debug)]
pub struct Sheet {
    /// Schema of the table.
    pub schema: TableSchema,
    positions: BTreeMap<String, usize>,
}

impl Sheet {
    /// A sheet for the table of `schema`.
    pub fn new(schema: TableSchema) -> Sheet {
        let positions =
            schema.columns.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect();
        Sheet { schema, positions }
    }

    /// A row in which every column is null.
    pub fn row(&self) -> Draft<'_> {
        Draft { sheet: self, row: vec![Value::Null; self.schema.columns.len()] }
    }
}

/// A row being filled in by name. Columns that are not set stay null.
pub struct Draft<'a> {
    sheet: &'a Sheet,
    row: Row,
}

impl Draft<'_> {
    /// Sets a column of the vocabulary.
    ///
    /// # Panics
    /// If the vocabulary has no such column, which is a mistake in this crate that its tests find.
    pub fn set(&mut self, column: &str, value: impl Into<Value>) {
        let index = self.sheet.positions.get(column);
        let index =
            index.unwrap_or_else(|| panic!("table {} has no column {column}", self.sheet.schema.name));
        self.row[*index] = value.into();
    }

    /// The finished row.
    pub fn finish(self) -> Row {
        self.row
    }
}
