//! Formats cells of any type as CSV.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;

/// A column of an Arrow table, to be written as text.
pub(super) enum TextColumn<'a> {
    Double(&'a Float64Array),
    Single(&'a Float32Array),
    Other(&'a dyn Array, ArrayFormatter<'a>),
}

impl<'a> TextColumn<'a> {
    pub(super) fn new(array: &'a ArrayRef) -> io::Result<Self> {
        Ok(match array.data_type() {
            DataType::Float64 => Self::Double(array.as_primitive::<Float64Type>()),
            DataType::Float32 => Self::Single(array.as_primitive::<Float32Type>()),
            _ => {
                let formatter = ArrayFormatter::try_new(array, &FormatOptions::default()).map_err(io::Error::other)?;
                Self::Other(array, formatter)
            }
        })
    }

    /// Appends a cell; a null is empty.
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Double(array) if array.is_valid(row) => write_number(out, array.value(row)),
            Self::Single(array) if array.is_valid(row) => write_single(out, array.value(row)),
            Self::Other(array, formatter) if array.is_valid(row) => {
                let text = formatter.value(row).try_to_string().map_err(io::Error::other)?;
                write_text(out, text.as_bytes());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Appends text, quoted if it would otherwise be read as several cells, several lines or a comment.
pub(super) fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    if !text.iter().any(|byte| b",\"\r\n".contains(byte)) && text.first() != Some(&b'#') {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Writes the shortest digits that identify the number, with an exponent if that avoids many zeros.
pub(super) fn write_number(out: &mut Vec<u8>, value: f64) -> io::Result<()> {
    if is_long(value.abs()) { write!(out, "{value:e}") } else { write!(out, "{value}") }
}

/// The same in single precision, which needs fewer digits.
fn write_single(out: &mut Vec<u8>, value: f32) -> io::Result<()> {
    if is_long(f64::from(value.abs())) { write!(out, "{value:e}") } else { write!(out, "{value}") }
}

/// Whether a number would have many zeros without an exponent.
fn is_long(magnitude: f64) -> bool {
    magnitude != 0.0 && !(1e-5..1e16).contains(&magnitude) && magnitude.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back_to_the_same_bits() {
        for (value, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e300, "1e300"),
            (-2.5e-9, "-2.5e-9"),
            (123_456_789.0, "123456789"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            let mut out = Vec::new();
            write_number(&mut out, value).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), f64::to_bits(value));
        }
        let mut out = Vec::new();
        write_single(&mut out, 0.1).unwrap();
        assert_eq!(out, b"0.1");
    }

    #[test]
    fn text_is_quoted_only_where_it_must_be() {
        for (text, expected) in [
            ("plain text", "plain text"),
            (" spaces ", " spaces "),
            ("1,5", "\"1,5\""),
            ("5\" nail", "\"5\"\" nail\""),
            ("two\nlines", "\"two\nlines\""),
            ("#1", "\"#1\""),
            ("", ""),
        ] {
            let mut out = Vec::new();
            write_text(&mut out, text.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
