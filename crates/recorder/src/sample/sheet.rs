//! Rows filled in by the names of their columns.

use std::collections::BTreeMap;

use thinktime_log::{Row, TableSchema, Value};

/// A table's schema with its columns by name, and what a row without any figure is.
#[derive(Debug)]
pub struct Sheet {
    pub schema: TableSchema,
    positions: BTreeMap<String, usize>,
}

impl Sheet {
    pub fn new(schema: TableSchema) -> Sheet {
        let positions =
            schema.columns.iter().enumerate().map(|(at, column)| (column.name.clone(), at)).collect();
        Sheet { schema, positions }
    }

    pub fn row(&self) -> Draft<'_> {
        Draft { sheet: self, row: vec![Value::Null; self.schema.columns.len()] }
    }
}

/// A row being filled in by name. What is not set stays null.
pub struct Draft<'a> {
    sheet: &'a Sheet,
    row: Row,
}

impl Draft<'_> {
    /// Sets a column of the vocabulary.
    ///
    /// # Panics
    /// When the vocabulary has no such column, which is a mistake in this crate and found by its tests.
    pub fn set(&mut self, column: &str, value: impl Into<Value>) {
        let at = self.sheet.positions.get(column);
        let at = at.unwrap_or_else(|| panic!("table {} has no column {column}", self.sheet.schema.name));
        self.row[*at] = value.into();
    }

    pub fn finish(self) -> Row {
        self.row
    }
}
