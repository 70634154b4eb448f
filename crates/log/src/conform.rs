//! Columns of any Arrow producer as the types of a log.
//!
//! Only what holds the same values is converted: a number keeps its value, a time its instant, a text
//! its characters. `arrow-cast` does more (it parses, rounds and prints), and compiling it takes longer
//! than all of this crate.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::error::LogError;
use crate::schema::{TableSchema, Type};

/// `batch`, from any Arrow producer, with the columns and types of `schema`; values that do not fit
/// a type are an error, columns that `schema` has not are too.
pub(crate) fn conform(batch: &RecordBatch, schema: &TableSchema) -> Result<RecordBatch, LogError> {
    let wrong = |reason: String| LogError::Schema { table: schema.name.clone(), reason };
    if let Some(field) = batch.schema().fields().iter().find(|field| schema.position(field.name()).is_none())
    {
        return Err(wrong(format!("column {} is not in the schema that was declared", field.name())));
    }
    let mut columns = Vec::with_capacity(schema.columns.len());
    for column in &schema.columns {
        columns.push(match batch.column_by_name(&column.name) {
            None => new_null_array(&column.ty.arrow(), batch.num_rows()),
            Some(array) => converted(array, column.ty)
                .map_err(|reason| wrong(format!("column {}: {reason}", column.name)))?,
        });
    }
    RecordBatch::try_new(schema.arrow(), columns).map_err(|error| wrong(error.to_string()))
}

pub(crate) fn converted(array: &ArrayRef, ty: Type) -> Result<ArrayRef, String> {
    let target = ty.arrow();
    if *array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    // A column of nothing but nulls, as producers write that have no value to take a type from.
    if *array.data_type() == DataType::Null {
        return Ok(new_null_array(&target, array.len()));
    }
    let found = match ty {
        Type::U64 => integers::<UInt64Type>(array),
        Type::I64 => integers::<Int64Type>(array),
        Type::F64 => floats(array),
        Type::Bool => truths(array),
        Type::Text => texts(array),
        Type::Time => times(array, &target),
    }?;
    found.ok_or_else(|| format!("values of type {} are no values of type {target}", array.data_type()))
}

/// What a conversion gives: nothing where it does not know the type, and why where a value does not fit.
type Found = Result<Option<ArrayRef>, String>;

/// Converts an array whose type is one of those listed, value by value, or says that it is none of them.
macro_rules! numbers {
    ($array:expr, $target:ty, $($name:ident $source:ty: $convert:expr),* $(,)?) => {
        match $array.data_type() {
            $(DataType::$name => each::<$source, $target>($array, $convert).map(Some),)*
            _ => Ok(None),
        }
    };
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Found
where
    T::Native: TryFrom<u64> + TryFrom<i64>,
{
    if let Some(values) = array.as_boolean_opt() {
        let found =
            values.iter().map(|value| value.and_then(|value| T::Native::try_from(u64::from(value)).ok()));
        return Ok(Some(Arc::new(found.collect::<PrimitiveArray<T>>())));
    }
    let whole = |value: f64| {
        // The first float above i64::MAX: from there on, and below i64::MIN, `as` would saturate.
        let inside = value.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&value);
        inside.then_some(value as i64).and_then(|value| T::Native::try_from(value).ok())
    };
    numbers!(array, T,
        UInt8 UInt8Type: |value| T::Native::try_from(u64::from(value)).ok(),
        UInt16 UInt16Type: |value| T::Native::try_from(u64::from(value)).ok(),
        UInt32 UInt32Type: |value| T::Native::try_from(u64::from(value)).ok(),
        UInt64 UInt64Type: |value| T::Native::try_from(value).ok(),
        Int8 Int8Type: |value| T::Native::try_from(i64::from(value)).ok(),
        Int16 Int16Type: |value| T::Native::try_from(i64::from(value)).ok(),
        Int32 Int32Type: |value| T::Native::try_from(i64::from(value)).ok(),
        Int64 Int64Type: |value| T::Native::try_from(value).ok(),
        Float32 Float32Type: |value| whole(f64::from(value)),
        Float64 Float64Type: whole,
    )
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

fn floats(array: &ArrayRef) -> Found {
    numbers!(array, Float64Type,
        UInt8 UInt8Type: |value| Some(f64::from(value)),
        UInt16 UInt16Type: |value| Some(f64::from(value)),
        UInt32 UInt32Type: |value| Some(f64::from(value)),
        // Above 2^53 to the nearest double: a figure, not an identifier.
        UInt64 UInt64Type: |value| Some(value as f64),
        Int8 Int8Type: |value| Some(f64::from(value)),
        Int16 Int16Type: |value| Some(f64::from(value)),
        Int32 Int32Type: |value| Some(f64::from(value)),
        Int64 Int64Type: |value| Some(value as f64),
        Float16 Float16Type: |value| Some(value.to_f64()),
        Float32 Float32Type: |value| Some(f64::from(value)),
    )
}

/// Whole numbers are taken where they are 0 or 1, as versions of the format without truth values wrote them.
fn truths(array: &ArrayRef) -> Found {
    let Some(numbers) = integers::<UInt64Type>(array)? else { return Ok(None) };
    let numbers = numbers.as_primitive::<UInt64Type>();
    match numbers.iter().flatten().find(|number| *number > 1) {
        Some(number) => Err(format!("{number} is no truth value: 0 or 1 is needed")),
        None => {
            Ok(Some(Arc::new(numbers.iter().map(|number| number.map(|n| n == 1)).collect::<BooleanArray>())))
        }
    }
}

fn texts(array: &ArrayRef) -> Found {
    Ok(Some(Arc::new(match array.data_type() {
        DataType::Utf8 => return Ok(Some(Arc::clone(array))),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect::<StringArray>(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let Some(values) = texts(dictionary.values())? else { return Ok(None) };
            let (values, keys) = (values.as_string::<i32>(), dictionary.normalized_keys());
            let text = |(at, key): (usize, &usize)| {
                (dictionary.keys().is_valid(at) && values.is_valid(*key)).then(|| values.value(*key))
            };
            keys.iter().enumerate().map(text).collect()
        }
        _ => return Ok(None),
    })))
}

/// A time without a zone is one of UTC; one with a zone is the same instant in UTC.
fn times(array: &ArrayRef, target: &DataType) -> Found {
    let DataType::Timestamp(unit, _) = array.data_type() else { return Ok(None) };
    let found = match unit {
        TimeUnit::Second => {
            each::<TimestampSecondType, TimestampMicrosecondType>(array, |time| time.checked_mul(1_000_000))
        }
        TimeUnit::Millisecond => {
            each::<TimestampMillisecondType, TimestampMicrosecondType>(array, |time| time.checked_mul(1000))
        }
        TimeUnit::Microsecond => each::<TimestampMicrosecondType, TimestampMicrosecondType>(array, Some),
        // Towards the past also before 1970: a plain division would round those times up.
        TimeUnit::Nanosecond => each::<TimestampNanosecondType, TimestampMicrosecondType>(array, |time| {
            Some(time.div_euclid(1000))
        }),
    }?;
    let found = found.as_primitive::<TimestampMicrosecondType>().clone().with_data_type(target.clone());
    Ok(Some(Arc::new(found)))
}

/// Every value that is not null converted; the first that does not fit is named.
fn each<S: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(S::Native) -> Option<T::Native>,
) -> Result<ArrayRef, String> {
    let fitting = |value| {
        convert(value).ok_or_else(|| ArrowError::CastError(format!("{value:?} is no {}", T::DATA_TYPE)))
    };
    match array.as_primitive::<S>().try_unary::<_, T, ArrowError>(fitting) {
        Ok(found) => Ok(Arc::new(found)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{
        DictionaryArray, Float64Array, Int8Array, Int64Array, LargeStringArray, NullArray, StringViewArray,
        TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    };

    use super::*;

    fn given(array: impl Array + 'static, ty: Type) -> Result<ArrayRef, String> {
        converted(&(Arc::new(array) as ArrayRef), ty)
    }

    #[test]
    fn integers_keep_their_values_or_are_refused() {
        let same = given(Int8Array::from(vec![Some(0), None, Some(127)]), Type::U64).unwrap();
        assert_eq!(same.as_primitive::<UInt64Type>(), &UInt64Array::from(vec![Some(0), None, Some(127)]));
        let ends = given(Int64Array::from(vec![i64::MIN, i64::MAX]), Type::I64).unwrap();
        assert_eq!(ends.as_primitive::<Int64Type>().values(), &[i64::MIN, i64::MAX]);
        let yes = given(BooleanArray::from(vec![Some(true), None, Some(false)]), Type::I64).unwrap();
        assert_eq!(yes.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), None, Some(0)]));
        assert!(given(Int64Array::from(vec![3, -1]), Type::U64).unwrap_err().contains("-1 is no UInt64"));
        assert!(given(UInt64Array::from(vec![1 << 63]), Type::I64).is_err());
    }

    #[test]
    fn floats_become_integers_where_they_are_whole_and_inside() {
        let whole = given(Float64Array::from(vec![-3.0, -TWO_TO_63]), Type::I64).unwrap();
        assert_eq!(whole.as_primitive::<Int64Type>().values(), &[-3, i64::MIN]);
        for value in [0.5, f64::NAN, f64::INFINITY, TWO_TO_63] {
            assert!(given(Float64Array::from(vec![value]), Type::I64).is_err(), "{value}");
        }
        assert!(given(Float64Array::from(vec![-1.0]), Type::U64).is_err());
    }

    #[test]
    fn zero_and_one_become_truth_values_and_nothing_else_does() {
        let found = given(UInt64Array::from(vec![Some(0), None, Some(1)]), Type::Bool).unwrap();
        assert_eq!(found.as_boolean(), &BooleanArray::from(vec![Some(false), None, Some(true)]));
        assert!(given(UInt64Array::from(vec![2]), Type::Bool).unwrap_err().contains("2 is no truth value"));
        assert!(given(Float64Array::from(vec![0.5]), Type::Bool).is_err());
    }

    #[test]
    fn what_lies_under_a_null_is_not_looked_at() {
        let hidden = Int64Array::new(vec![-1, 5].into(), Some(vec![false, true].into()));
        let found = given(hidden, Type::U64).unwrap();
        assert_eq!(found.as_primitive::<UInt64Type>(), &UInt64Array::from(vec![None, Some(5)]));
    }

    #[test]
    fn numbers_become_floats() {
        let found = given(Int64Array::from(vec![Some(-7), None]), Type::F64).unwrap();
        assert_eq!(found.as_primitive::<Float64Type>(), &Float64Array::from(vec![Some(-7.0), None]));
    }

    #[test]
    fn texts_of_every_layout_are_the_same_texts() {
        let words = [Some("a"), None, Some(""), Some("more than twelve bytes, ö")];
        let expected = StringArray::from(words.to_vec());
        let keys: DictionaryArray<Int32Type> = words.into_iter().collect();
        for found in [
            given(LargeStringArray::from(words.to_vec()), Type::Text),
            given(StringViewArray::from(words.to_vec()), Type::Text),
            given(keys, Type::Text),
        ] {
            assert_eq!(found.unwrap().as_string::<i32>(), &expected);
        }
    }

    #[test]
    fn times_keep_their_instant() {
        let late = given(TimestampSecondArray::from(vec![Some(-1), None]), Type::Time).unwrap();
        assert_eq!(late.data_type(), &Type::Time.arrow());
        assert_eq!(late.as_primitive::<TimestampMicrosecondType>().value(0), -1_000_000);
        assert!(late.is_null(1));
        let zoned = TimestampNanosecondArray::from(vec![-1, 1999]).with_timezone("+02:00");
        let found = given(zoned, Type::Time).unwrap();
        assert_eq!(found.as_primitive::<TimestampMicrosecondType>().values(), &[-1, 1]);
        assert!(given(TimestampSecondArray::from(vec![i64::MAX]), Type::Time).is_err());
    }

    #[test]
    fn a_column_of_nothing_fits_every_type_and_one_of_another_kind_none() {
        for ty in [Type::U64, Type::I64, Type::F64, Type::Bool, Type::Text, Type::Time] {
            let found = given(NullArray::new(2), ty).unwrap();
            assert_eq!((found.null_count(), found.data_type()), (2, &ty.arrow()));
        }
        let text = || StringArray::from(vec!["7"]);
        for ty in [Type::U64, Type::I64, Type::F64, Type::Bool, Type::Time] {
            assert!(given(text(), ty).unwrap_err().contains("Utf8"), "{ty:?}");
        }
        assert!(given(Int64Array::from(vec![7]), Type::Text).is_err());
    }
}
