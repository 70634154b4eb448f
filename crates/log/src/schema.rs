//! Schemas of tables: columns with their type, unit, kind and role.
//!
//! A log has the same description in three places, each written by this module: in the
//! manifest, in the header of the open part, and in the Arrow field metadata of every Parquet file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::error::LogError;

/// Version of the log format. A reader refuses a newer one and reads every older one.
pub const SCHEMA_VERSION: u32 = 3;

/// Type of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// Unsigned integer of 64 bits.
    U64,
    /// Signed integer of 64 bits.
    I64,
    /// IEEE double.
    F64,
    /// True or false.
    Bool,
    /// UTF-8 text.
    Text,
    /// Microseconds since 1970-01-01 UTC (or since the epoch that the manifest names).
    Time,
}

impl Type {
    pub(crate) fn arrow(self) -> DataType {
        match self {
            Type::U64 => DataType::UInt64,
            Type::I64 => DataType::Int64,
            Type::F64 => DataType::Float64,
            Type::Bool => DataType::Boolean,
            Type::Text => DataType::Utf8,
            // With a zone: readers would otherwise take it for local time.
            Type::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }
}

/// Relation of a column to the interval of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An amount in the interval: the difference of a cumulative counter.
    Counter,
    /// A reading at the end of the interval.
    Gauge,
    /// An instant, or the length of the interval.
    Time,
    /// What a row is about, not an amount: a user, a device, a class, a unit, yes or no.
    Label,
}

/// Use of a column, so that an analysis needs no arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// CPU time in the supervisor; several such columns add up.
    SystemTime,
    /// CPU time in user state; several such columns add up.
    UserTime,
    /// CPU time in neither; several such columns add up.
    IdleTime,
    /// A number of requests for service.
    Request,
    /// Number of users who request service.
    Load,
    /// Useful work that is not a request to the supervisor.
    Throughput,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name, unique in its table.
    pub name: String,
    /// Type of its values.
    #[serde(rename = "type")]
    pub ty: Type,
    /// Unit by its symbol or noun: `s`, `byte`, `page`, `fault`; empty for a label.
    pub unit: String,
    /// Relation to the interval of the row.
    pub kind: Kind,
    /// Use in analyses; `None` for a column that they take only by name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<Role>,
    /// One sentence: the amount counted, and its source.
    pub description: String,
}

impl Column {
    /// A column without a role.
    pub fn new(name: &str, ty: Type, unit: &str, kind: Kind, description: &str) -> Self {
        Column { name: name.into(), ty, unit: unit.into(), kind, role: None, description: description.into() }
    }

    /// This column with `role`.
    pub fn role(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    pub(crate) fn arrow(&self) -> Field {
        let mut metadata = BTreeMap::from([
            ("unit".to_owned(), self.unit.clone()),
            ("kind".to_owned(), word(&self.kind)),
            ("description".to_owned(), self.description.clone()),
        ]);
        if let Some(role) = self.role {
            metadata.insert("role".into(), word(&role));
        }
        // Every column may be null: not measured is possible everywhere.
        Field::new(&self.name, self.ty.arrow(), true).with_metadata(metadata.into_iter().collect())
    }
}

/// The name of a unit variant as it stands in the files.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        other => unreachable!("a unit variant serialises to a string, not to {other:?}"),
    }
}

/// A table: its name and its columns, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSchema {
    /// Name, also of its files.
    pub name: String,
    /// Columns in the order of the values of a row.
    pub columns: Vec<Column>,
}

impl TableSchema {
    /// A table of `columns`.
    pub fn new(name: &str, columns: Vec<Column>) -> Self {
        TableSchema { name: name.into(), columns }
    }

    /// Index of the column `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The Arrow schema, with the log's version and every column's unit, kind, role and description.
    pub fn arrow(&self) -> Arc<Schema> {
        let metadata = [
            ("thinktime.table".to_owned(), self.name.clone()),
            ("thinktime.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
        ];
        let fields: Vec<Field> = self.columns.iter().map(Column::arrow).collect();
        Arc::new(Schema::new_with_metadata(fields, metadata.into_iter().collect()))
    }

    /// Refuses a schema whose names would break a reader.
    pub(crate) fn validate(&self) -> Result<(), LogError> {
        let plain = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        if !plain(&self.name) {
            return Err(self.wrong("a table's name is lower case letters, digits and underscores"));
        }
        if self.columns.is_empty() {
            return Err(self.wrong("a table needs a column"));
        }
        for (at, column) in self.columns.iter().enumerate() {
            let name = &column.name;
            if !plain(name) {
                return Err(self.wrong(format!(
                    "column {name:?}: a name is lower case letters, digits and underscores"
                )));
            }
            if self.position(name) != Some(at) {
                return Err(self.wrong(format!("column {name} stands twice")));
            }
        }
        Ok(())
    }

    /// Checks that `row` fits, and turns NaN into null, because nothing was measured there.
    pub(crate) fn fit(&self, row: &mut Row) -> Result<(), LogError> {
        if row.len() != self.columns.len() {
            return Err(self.wrong(format!(
                "a row has {} values for {} columns",
                row.len(),
                self.columns.len()
            )));
        }
        for (value, column) in row.iter_mut().zip(&self.columns) {
            // One representation of a missing value: analyses would otherwise have to test for two.
            if matches!(value, Value::F64(number) if !number.is_finite()) {
                *value = Value::Null;
            }
            if value.ty().is_some_and(|ty| ty != column.ty) {
                return Err(
                    self.wrong(format!("column {} takes {:?}, not {value:?}", column.name, column.ty))
                );
            }
        }
        Ok(())
    }

    pub(crate) fn wrong(&self, reason: impl Into<String>) -> LogError {
        LogError::Schema { table: self.name.clone(), reason: reason.into() }
    }

    /// The columns of `self`, then those that only `other` has. `Err` names a column whose type differs.
    pub fn union(&self, other: &TableSchema) -> Result<TableSchema, String> {
        let mut columns = self.columns.clone();
        for column in &other.columns {
            match self.position(&column.name) {
                None => columns.push(column.clone()),
                // Units and descriptions may differ: the first stays.
                Some(at) if self.columns[at].ty != column.ty => return Err(column.name.clone()),
                Some(_) => {}
            }
        }
        Ok(TableSchema::new(&self.name, columns))
    }
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not measured, or absent: never the same as zero.
    Null,
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    Text(Arc<str>),
    /// Microseconds since 1970-01-01 UTC.
    Time(i64),
}

impl Value {
    /// Its type; null fits every type.
    fn ty(&self) -> Option<Type> {
        match self {
            Value::Null => None,
            Value::U64(_) => Some(Type::U64),
            Value::I64(_) => Some(Type::I64),
            Value::F64(_) => Some(Type::F64),
            Value::Bool(_) => Some(Type::Bool),
            Value::Text(_) => Some(Type::Text),
            Value::Time(_) => Some(Type::Time),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self { Value::$variant(value.into()) }
        }
    )*};
}
value_from!(u64 => U64, i64 => I64, f64 => F64, bool => Bool, &str => Text, String => Text, Arc<str> => Text);

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// A row: one value for each column, in the order of the table's schema.
pub type Row = Vec<Value>;
