//! How rows are written into a block of the journal: a bitmap of nulls, then each value as a
//! varint, eight bytes (doubles), a byte (truth values) or length and bytes (text). Small numbers, which
//! most are, take a byte.

use std::sync::Arc;

use crate::schema::{Row, Type, Value};

/// Appends `value` in groups of seven bits, the lowest first; the top bit says that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign as small unsigned ones: a varint of a negative number would take ten bytes.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends `row`. The caller has checked that it fits `types`.
pub(crate) fn put_row(out: &mut Vec<u8>, row: &Row) {
    for chunk in row.chunks(8) {
        let nulls = chunk.iter().enumerate().map(|(bit, value)| u8::from(*value == Value::Null) << bit);
        // At most eight different bits: the sum is their union.
        out.push(nulls.sum());
    }
    for value in row {
        match value {
            Value::Null => {}
            Value::U64(number) => put_varint(out, *number),
            Value::I64(number) | Value::Time(number) => put_varint(out, zigzag(*number)),
            Value::F64(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Bool(truth) => out.push(u8::from(*truth)),
            Value::Text(text) => {
                put_varint(out, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Reads what `put_*` wrote. Every method gives `None` where the bytes are not what they should be.
pub(crate) struct Decoder<'a>(pub &'a [u8]);

impl Decoder<'_> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<&[u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        // Ten bytes at most: damaged ones must not make an endless number.
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn row(&mut self, types: &[Type]) -> Option<Row> {
        let nulls = self.bytes(types.len().div_ceil(8))?.to_vec();
        let mut row = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            let null = nulls[at / 8] >> (at % 8) & 1 == 1;
            row.push(if null { Value::Null } else { self.value(*ty)? });
        }
        Some(row)
    }

    fn value(&mut self, ty: Type) -> Option<Value> {
        Some(match ty {
            Type::U64 => Value::U64(self.varint()?),
            Type::I64 => Value::I64(unzigzag(self.varint()?)),
            Type::Time => Value::Time(unzigzag(self.varint()?)),
            Type::F64 => Value::F64(f64::from_le_bytes(self.bytes(8)?.try_into().ok()?)),
            Type::Bool => match self.byte()? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                _ => return None,
            },
            Type::Text => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Text(Arc::from(std::str::from_utf8(self.bytes(length)?).ok()?))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TYPES: [Type; 6] = [Type::U64, Type::I64, Type::F64, Type::Bool, Type::Text, Type::Time];

    fn rows() -> impl Strategy<Value = Row> {
        (
            any::<Option<u64>>(),
            any::<Option<i64>>(),
            proptest::option::of(proptest::num::f64::NORMAL | proptest::num::f64::ZERO),
            any::<Option<bool>>(),
            proptest::option::of(".*"),
            any::<Option<i64>>(),
        )
            .prop_map(|(count, signed, double, truth, text, time)| {
                vec![
                    count.into(),
                    signed.into(),
                    double.into(),
                    truth.into(),
                    text.into(),
                    time.map_or(Value::Null, Value::Time),
                ]
            })
    }

    proptest! {
        #[test]
        fn a_row_comes_back_as_it_was(row in rows()) {
            let mut bytes = Vec::new();
            put_row(&mut bytes, &row);
            let mut decoder = Decoder(&bytes);
            prop_assert_eq!(decoder.row(&TYPES), Some(row));
            prop_assert!(decoder.0.is_empty());
        }

        #[test]
        fn any_bytes_give_a_row_or_nothing(bytes: Vec<u8>) {
            Decoder(&bytes).row(&TYPES);
        }

        #[test]
        fn a_truncated_row_is_never_taken_for_whole(row in rows()) {
            let mut bytes = Vec::new();
            put_row(&mut bytes, &row);
            bytes.pop();
            prop_assert_eq!(Decoder(&bytes).row(&TYPES), None);
        }
    }
}
