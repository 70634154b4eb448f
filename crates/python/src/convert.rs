//! Conversion between Rust types with serde and plain Python objects: dicts, lists, numbers, texts, None.
//!
//! [`Plain`] is both an argument and a result of a `#[pyfunction]` or method:
//!
//! ```ignore
//! #[pyfunction]
//! fn check_workload(workload: Plain<Workload>) -> PyResult<Plain<Workload>> {
//!     workload.0.check().map_err(play_error)?;
//!     Ok(workload)
//! }
//! ```
//!
//! In `_native.pyi` such a value is a `TypedDict`, a `list[...]` or `dict[str, Any]`. A struct becomes a dict
//! in the order of its fields, a unit variant of an enum its name, any other variant a dict with its name as
//! the only key. The types' serde attributes hold as they do for JSON, and so do JSON's rules for numbers:
//! one that is not finite becomes None, and is refused in an argument.

use std::fmt::Display;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::DeserializeOwned;
use serde::ser::{self, Serialize};
use serde_json::{Map, Number, Value};
use thiserror::Error;

/// A value that crosses the border as plain Python objects.
pub(crate) struct Plain<T>(pub(crate) T);

impl<'py, T: Serialize> IntoPyObject<'py> for Plain<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.serialize(ToPython(py)).map_err(|error| error.0)
    }
}

impl<'py, T: DeserializeOwned> FromPyObject<'_, 'py> for Plain<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Plain<T>> {
        // By way of a tree, whose errors are those of JSON: an untagged or tagged enum buffers its input in any case.
        serde_json::from_value(tree(&object, DEEPEST)?)
            .map(Plain)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Levels of lists and tables that are read: each takes a part of the stack, which must not run out.
const DEEPEST: usize = 128;
/// Digits of a number that a message repeats.
const DIGITS_SHOWN: usize = 40;

/// The tree that a Python object stands for, of at most `levels` levels.
fn tree(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    let Some(below) = levels.checked_sub(1) else {
        return Err(PyValueError::new_err(format!("is nested deeper than {DEEPEST} levels")));
    };
    // bool before int: in Python a bool is an int.
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(truth) = object.cast::<PyBool>() {
        Ok(Value::Bool(truth.is_true()))
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(Value::String(text.to_str()?.to_owned()))
    } else if object.is_instance_of::<PyInt>() {
        integer(object)
    } else if object.is_instance_of::<PyFloat>() {
        let value = object.extract::<f64>()?;
        let refuse = || PyValueError::new_err(format!("{value} is not a finite number"));
        Number::from_f64(value).map(Value::Number).ok_or_else(refuse)
    } else if let Ok(table) = object.cast::<PyDict>() {
        // Keys are texts, as in JSON; any other is a TypeError of `extract`.
        table
            .iter()
            .map(|(key, value)| {
                let key: String = key.extract()?;
                tree(&value, below)
                    .map(|value| (key.clone(), value))
                    .map_err(|error| named(&key, &error, object.py()))
            })
            .collect::<PyResult<Map<_, _>>>()
            .map(Value::Object)
    } else if let Ok(list) = object.cast::<PyList>() {
        list.iter().map(|item| tree(&item, below)).collect::<PyResult<_>>().map(Value::Array)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().map(|item| tree(&item, below)).collect::<PyResult<_>>().map(Value::Array)
    } else {
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "{kind} is not supported; give a dict, list, str, number, bool or None"
        )))
    }
}

/// An integer of at most 64 bits, signed or not.
fn integer(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(value) = object.extract::<i64>() {
        return Ok(value.into());
    }
    // Seeds may have all 64 bits.
    object.extract::<u64>().map(Value::from).map_err(|_| {
        // Longer ones than Python itself would print have no text.
        let digits = object.str().map_or("a number without end".into(), |text| text.to_string());
        let shown: String = digits.chars().take(DIGITS_SHOWN).collect();
        let more = if shown.len() < digits.len() { "..." } else { "" };
        PyValueError::new_err(format!("{shown}{more} is outside of the 64-bit integers"))
    })
}

/// `error` about the entry `key` of a table.
fn named(key: &str, error: &PyErr, py: Python<'_>) -> PyErr {
    let message = format!("{key}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(message)
    } else {
        PyValueError::new_err(message)
    }
}

/// Serialises into Python objects, directly: a tree in between would sort the fields by name.
#[derive(Clone, Copy)]
struct ToPython<'py>(Python<'py>);

/// A Python exception as an error of serde, which requires a type of its own.
#[derive(Debug, Error)]
#[error(transparent)]
struct ConvertError(#[from] PyErr);

impl ser::Error for ConvertError {
    fn custom<M: Display>(message: M) -> Self {
        ConvertError(PyValueError::new_err(message.to_string()))
    }
}

type Converted<'py> = Result<Bound<'py, PyAny>, ConvertError>;

impl<'py> ToPython<'py> {
    /// Any value that PyO3 itself converts.
    fn object<V: IntoPyObject<'py>>(self, value: V) -> Converted<'py> {
        value.into_bound_py_any(self.0).map_err(ConvertError)
    }

    /// `{variant: value}`.
    fn tagged(self, variant: &str, value: Bound<'py, PyAny>) -> Converted<'py> {
        let dict = PyDict::new(self.0);
        dict.set_item(variant, value)?;
        Ok(dict.into_any())
    }

    /// An empty list to be filled.
    fn sequence(self, variant: Option<&'static str>) -> Sequence<'py> {
        Sequence { to: self, variant, items: PyList::empty(self.0) }
    }

    /// An empty dict to be filled.
    fn table(self, variant: Option<&'static str>) -> Table<'py> {
        Table { to: self, variant, items: PyDict::new(self.0), key: None }
    }
}

// Serde has a method for each primitive type, and PyO3 converts all of them in one way.
macro_rules! numbers {
    ($($name:ident: $kind:ty),*) => {
        $(fn $name(self, value: $kind) -> Converted<'py> {
            self.object(value)
        })*
    };
}

impl<'py> ser::Serializer for ToPython<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ConvertError;
    type SerializeSeq = Sequence<'py>;
    type SerializeTuple = Sequence<'py>;
    type SerializeTupleStruct = Sequence<'py>;
    type SerializeTupleVariant = Sequence<'py>;
    type SerializeMap = Table<'py>;
    type SerializeStruct = Table<'py>;
    type SerializeStructVariant = Table<'py>;

    numbers!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8]
    );

    fn serialize_f32(self, value: f32) -> Converted<'py> {
        // By way of the double: the rule for numbers that are not finite stands there.
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Converted<'py> {
        // As serde_json does: what Python prints as JSON then agrees with what Rust writes to a manifest.
        self.object(value.is_finite().then_some(value))
    }

    fn serialize_none(self) -> Converted<'py> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Converted<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Converted<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Converted<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Converted<'py> {
        self.object(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Converted<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Converted<'py> {
        self.tagged(variant, value.serialize(self)?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Sequence<'py>, ConvertError> {
        Ok(self.sequence(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Sequence<'py>, ConvertError> {
        Ok(self.sequence(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Sequence<'py>, ConvertError> {
        Ok(self.sequence(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Sequence<'py>, ConvertError> {
        Ok(self.sequence(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Table<'py>, ConvertError> {
        Ok(self.table(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Table<'py>, ConvertError> {
        Ok(self.table(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Table<'py>, ConvertError> {
        Ok(self.table(Some(variant)))
    }
}

/// A list that is being filled; of an enum's variant, if it has a name.
struct Sequence<'py> {
    to: ToPython<'py>,
    variant: Option<&'static str>,
    items: Bound<'py, PyList>,
}

impl<'py> Sequence<'py> {
    fn add<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), ConvertError> {
        Ok(self.items.append(item.serialize(self.to)?)?)
    }

    fn finish(self) -> Converted<'py> {
        let items = self.items.into_any();
        self.variant.map_or_else(|| Ok(items.clone()), |variant| self.to.tagged(variant, items.clone()))
    }
}

/// A dict that is being filled; of an enum's variant, if it has a name.
struct Table<'py> {
    to: ToPython<'py>,
    variant: Option<&'static str>,
    items: Bound<'py, PyDict>,
    /// Key of a map whose value comes next: serde hands over the two one after the other.
    key: Option<Bound<'py, PyAny>>,
}

impl<'py> Table<'py> {
    fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), ConvertError> {
        Ok(self.items.set_item(key, value.serialize(self.to)?)?)
    }

    fn finish(self) -> Converted<'py> {
        let items = self.items.into_any();
        self.variant.map_or_else(|| Ok(items.clone()), |variant| self.to.tagged(variant, items.clone()))
    }
}

// Four traits of serde with one meaning for Python: a list.
macro_rules! sequences {
    ($($kind:ident: $add:ident),*) => {
        $(impl<'py> ser::$kind for Sequence<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = ConvertError;

            fn $add<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), ConvertError> {
                self.add(item)
            }

            fn end(self) -> Converted<'py> {
                self.finish()
            }
        })*
    };
}

sequences!(
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

// Two traits of serde with one meaning for Python: a dict.
macro_rules! structs {
    ($($kind:ident),*) => {
        $(impl<'py> ser::$kind for Table<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = ConvertError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), ConvertError> {
                self.add(key, value)
            }

            fn end(self) -> Converted<'py> {
                self.finish()
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl<'py> ser::SerializeMap for Table<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ConvertError;

    /// Keys are texts, as in JSON: numbers become their digits.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.key = Some(key.serialize(self.to)?.str()?.into_any());
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let key =
            self.key.take().ok_or_else(|| <ConvertError as ser::Error>::custom("a value without a key"))?;
        Ok(self.items.set_item(key, value.serialize(self.to)?)?)
    }

    fn end(self) -> Converted<'py> {
        self.finish()
    }
}
