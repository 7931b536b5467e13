//! Converts Arrow arrays of any numeric type to the number type of the rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::super::cell::{Cell, from_integer, is_inexact_integer};

/// A number type of rows that Arrow arrays may already have.
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

/// A value that the rows cannot represent: an inexact integer, or `None` if the type is not numeric.
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

/// The values of an array, with NaN for nulls.
pub(super) fn numbers<T: Cell>(array: &ArrayRef) -> Result<Vec<T>, Inexact> {
    macro_rules! integers {
        ($kind:ty) => {
            integers(array, array.as_primitive::<$kind>().values().iter().map(|&value| i128::from(value)))
        };
    }
    macro_rules! decimals {
        ($kind:ty) => {{
            // Converting through text rounds the quotient once instead of twice.
            let array = array.as_primitive::<$kind>();
            let value =
                |index| if array.is_null(index) { Ok(nan()) } else { decimal(index, &array.value_as_string(index)) };
            (0..array.len()).map(value).collect()
        }};
    }
    let mut values: Vec<T> = match array.data_type() {
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
    }?;
    if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
        // The values behind nulls are arbitrary.
        values.iter_mut().zip(nulls).filter(|(_, is_valid)| !is_valid).for_each(|(value, _)| *value = nan());
    }
    Ok(values)
}

fn nan<T: Cell>() -> T {
    T::from_f32(f32::NAN)
}

/// The texts of an array, if it contains text; `None` for empty cells.
pub(super) fn texts(array: &ArrayRef) -> Option<Vec<Option<&str>>> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Some(array.as_string_view().iter().collect()),
        _ => None,
    }
}

fn integers<T: Cell>(array: &ArrayRef, values: impl Iterator<Item = i128>) -> Result<Vec<T>, Inexact> {
    let convert = |(index, value)| match from_integer(value) {
        (nearest, true) => Ok(T::from_f64(nearest)),
        (_, false) if array.is_null(index) => Ok(nan()),
        (_, false) => Err(Inexact { index, value: Some(value.to_string()) }),
    };
    values.enumerate().map(convert).collect()
}

/// Fractional decimal numbers may be rounded, as in text, but integers may not.
fn decimal<T: Cell>(index: usize, text: &str) -> Result<T, Inexact> {
    match text.parse::<f64>() {
        Ok(value) if !is_inexact_integer(text.as_bytes(), value) => Ok(T::from_f64(value)),
        _ => Err(Inexact { index, value: Some(text.to_owned()) }),
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
        assert_eq!(texts(&text), Some(vec![Some("a")]));
    }

    #[test]
    fn empty_cells_are_nan_whatever_lies_under_them() {
        let nulls = arrow_buffer::NullBuffer::from(vec![true, false]);
        let integers: ArrayRef = Arc::new(Int64Array::new(vec![1, (1 << 53) + 1].into(), Some(nulls)));
        let values = numbers::<f64>(&integers).unwrap();
        assert!(values[0] == 1.0 && values[1].is_nan());
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![None, Some(true)]));
        let values = numbers::<f32>(&flags).unwrap();
        assert!(values[0].is_nan() && values[1] == 1.0);
    }

    #[test]
    fn integers_that_would_change_are_refused() {
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![1, -(1 << 53), (1 << 53) + 1]));
        let refused = Inexact { index: 2, value: Some("9007199254740993".into()) };
        assert_eq!(numbers::<f64>(&signed), Err(refused));
        let wide: ArrayRef =
            Arc::new(Decimal128Array::from(vec![1i128, (1 << 53) + 1]).with_precision_and_scale(38, 0).unwrap());
        let refused = Inexact { index: 1, value: Some("9007199254740993".into()) };
        assert_eq!(numbers::<f64>(&wide), Err(refused), "whole numbers of a decimal type as well");
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert!(numbers::<f64>(&unsigned).is_err());
    }
}
