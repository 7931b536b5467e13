//! Makes the number type of the rows from the number types of the files, exactly or not at all.

use mixtura::rows::Scalar;

/// A number type of rows, as files can deliver it.
///
/// Rows are single precision only if every column of the file is single or half precision, so
/// narrowing never happens.
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
/// 128 bits hold every 64-bit integer and the double next to it, so the comparison cannot saturate.
pub(super) fn from_integer(value: i128) -> (f64, bool) {
    let nearest = value as f64;
    (nearest, nearest as i128 == value)
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
}
