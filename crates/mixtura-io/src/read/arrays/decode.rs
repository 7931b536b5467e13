//! Turns Arrow arrays of any number type into the numbers of the rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::super::cell::{Cell, from_integer};

/// A number type of rows, as an array may hold it already.
pub(in crate::read) trait Numbers: Cell {
    fn slice(array: &dyn Array) -> Option<&[Self]>;
}

impl Numbers for f64 {
    fn slice(array: &dyn Array) -> Option<&[Self]> {
        array.as_primitive_opt::<Float64Type>().map(|array| &**array.values())
    }
}

impl Numbers for f32 {
    fn slice(array: &dyn Array) -> Option<&[Self]> {
        array.as_primitive_opt::<Float32Type>().map(|array| &**array.values())
    }
}

/// A value that the rows cannot hold: an inexact integer, or none if the type has no numbers at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inexact {
    pub(super) index: usize,
    pub(super) value: Option<String>,
}

pub(super) fn is_number(kind: &DataType) -> bool {
    kind.is_numeric() || *kind == DataType::Boolean
}

pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The values of an array without empty cells.
pub(super) fn numbers<T: Cell>(array: &ArrayRef) -> Result<Vec<T>, Inexact> {
    macro_rules! integers {
        ($kind:ty) => {
            integers(array.as_primitive::<$kind>().values().iter().map(|&value| i128::from(value)))
        };
    }
    macro_rules! decimals {
        ($kind:ty) => {{
            // Through text the quotient is rounded once, not twice.
            let array = array.as_primitive::<$kind>();
            let text = |index| array.value_as_string(index);
            (0..array.len()).map(|index| decimal(index, &text(index))).collect()
        }};
    }
    match array.data_type() {
        DataType::Float64 => Ok(array.as_primitive::<Float64Type>().values().iter().map(|&v| T::from_f64(v)).collect()),
        DataType::Float32 => Ok(array.as_primitive::<Float32Type>().values().iter().map(|&v| T::from_f32(v)).collect()),
        DataType::Float16 => {
            Ok(array.as_primitive::<Float16Type>().values().iter().map(|v| T::from_f32(v.to_f32())).collect())
        }
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Boolean => {
            let array = array.as_boolean();
            Ok((0..array.len()).map(|index| T::from_f32(f32::from(u8::from(array.value(index))))).collect())
        }
        DataType::Decimal32(..) => decimals!(Decimal32Type),
        DataType::Decimal64(..) => decimals!(Decimal64Type),
        DataType::Decimal128(..) => decimals!(Decimal128Type),
        DataType::Decimal256(..) => decimals!(Decimal256Type),
        _ => Err(Inexact { index: 0, value: None }),
    }
}

/// The texts of an array without empty cells, if it holds text.
pub(super) fn texts(array: &ArrayRef) -> Option<Vec<&str>> {
    let texts = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect::<Option<Vec<_>>>(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        _ => return None,
    };
    Some(texts.unwrap_or_default())
}

fn integers<T: Cell>(values: impl Iterator<Item = i128>) -> Result<Vec<T>, Inexact> {
    let convert = |(index, value)| match from_integer(value) {
        (nearest, true) => Ok(T::from_f64(nearest)),
        (_, false) => Err(Inexact { index, value: Some(value.to_string()) }),
    };
    values.enumerate().map(convert).collect()
}

fn decimal<T: Cell>(index: usize, text: &str) -> Result<T, Inexact> {
    match text.parse::<f64>() {
        Ok(value) => Ok(T::from_f64(value)),
        Err(_) => Err(Inexact { index, value: Some(text.to_owned()) }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Decimal128Array, Int64Array, StringArray, UInt64Array};

    use super::*;

    #[test]
    fn every_type_gives_its_numbers() {
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        assert_eq!(numbers::<f64>(&booleans), Ok(vec![1.0, 0.0]));
        let decimals: ArrayRef =
            Arc::new(Decimal128Array::from(vec![10i128, -12_345]).with_precision_and_scale(10, 2).unwrap());
        assert_eq!(numbers::<f64>(&decimals), Ok(vec![0.1, -123.45]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        assert_eq!(numbers::<f64>(&text), Err(Inexact { index: 0, value: None }));
        assert_eq!(texts(&text), Some(vec!["a"]));
    }

    #[test]
    fn integers_that_would_change_are_refused() {
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![1, -(1 << 53), (1 << 53) + 1]));
        let refused = Inexact { index: 2, value: Some("9007199254740993".into()) };
        assert_eq!(numbers::<f64>(&signed), Err(refused));
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert!(numbers::<f64>(&unsigned).is_err());
    }
}
