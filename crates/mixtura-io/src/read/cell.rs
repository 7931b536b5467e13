//! Converts the number types of files to the number type of the rows, exactly or not at all.

use mixtura::rows::Scalar;

/// A number type of rows that can be read from files.
///
/// Rows are single precision only if every column of the file is single or half precision, so values are
/// never narrowed.
pub(crate) trait Cell: Scalar {
    fn from_f32(value: f32) -> Self;
    fn from_f64(value: f64) -> Self;
}

impl Cell for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Cell for f64 {
    fn from_f32(value: f32) -> Self {
        f64::from(value)
    }
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// The nearest double, and whether it is the integer itself.
///
/// 128 bits can represent every 64-bit integer and its nearest double, so the comparison cannot saturate.
pub(super) fn from_integer(value: i128) -> (f64, bool) {
    let nearest = value as f64;
    (nearest, nearest as i128 == value)
}

/// Whether a text is an integer, digits only, that differs from its nearest double.
///
/// A double beyond 2^53 may have been written as its shortest digits followed by zeros, such as
/// 100000000000000000000000 for 1e23; such a number counts as exact.
pub(super) fn is_inexact_integer(text: &[u8], nearest: f64) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    // Every integer of up to 15 digits is a double.
    if digits.len() <= 15 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let n_zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let significant = &digits[n_zeros..];
    let significant = if significant.is_empty() { b"0" } else { significant };
    let magnitude = nearest.abs();
    format!("{magnitude:.0}").as_bytes() != significant && format!("{magnitude}").as_bytes() != significant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_up_to_the_width_of_the_mantissa() {
        let limit = 1i128 << 53;
        for (value, exact) in [
            (0, true),
            (limit, true),
            (limit + 1, false),
            (-limit - 1, false),
            (limit + 2, true),
            (i128::from(i64::MAX), false),
            (i128::from(i64::MIN), true),
            (i128::from(u64::MAX), false),
            (1i128 << 63, true),
        ] {
            assert_eq!(from_integer(value).1, exact, "{value}");
        }
    }

    #[test]
    fn whole_numbers_in_text_that_would_change_are_told() {
        for (text, expected) in [
            ("9007199254740992", false),
            ("9007199254740993", true),
            ("-9007199254740993", true),
            ("+9007199254740994", false),
            ("0000000000000000", false),
            ("0000000000000000000001", false),
            ("100000000000000000000000", false),
            ("100000000000000000000001", true),
            ("1180591620717411303424", false),
            ("9007199254740993.0", false),
            ("1e20", false),
        ] {
            assert_eq!(is_inexact_integer(text.as_bytes(), text.parse().unwrap()), expected, "{text}");
        }
    }
}
