//! Parses a text cell as a finite number.

use super::super::cell::is_inexact_integer;

/// Why a cell is not a finite number.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Refusal {
    Empty,
    NotFinite,
    TooLarge,
    Inexact,
    Text,
}

/// The decimal separator of a text; the other one is not allowed in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decimal {
    Point,
    Comma,
}

/// The double nearest to the number in the cell; surrounding white space is ignored.
///
/// Integers that no double represents exactly are rejected: they are probably identifiers, and two of
/// them could become equal.
pub(super) fn parse(cell: &[u8], decimal: Decimal) -> Result<f64, Refusal> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err(Refusal::Empty);
    }
    let text = std::str::from_utf8(cell).map_err(|_| Refusal::Text)?;
    let parsed = match decimal {
        Decimal::Point => text.parse::<f64>(),
        Decimal::Comma if text.contains('.') => return Err(Refusal::Text),
        Decimal::Comma => text.replacen(',', ".", 1).parse::<f64>(),
    };
    match parsed {
        Ok(value) if value.is_finite() && is_inexact_integer(cell, value) => Err(Refusal::Inexact),
        Ok(value) if value.is_finite() => Ok(value),
        // The words for NaN and infinity have no digits; an overflowing number has.
        Ok(_) if cell.iter().any(u8::is_ascii_digit) => Err(Refusal::TooLarge),
        Ok(_) => Err(Refusal::NotFinite),
        Err(_) => Err(Refusal::Text),
    }
}

/// Whether a cell contains a number, even one that the rows cannot represent.
pub(super) fn is_number(cell: &[u8], decimal: Decimal) -> bool {
    matches!(parse(cell, decimal), Ok(_) | Err(Refusal::TooLarge | Refusal::Inexact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(text: &str) -> Result<f64, Refusal> {
        parse(text.as_bytes(), Decimal::Point)
    }

    #[test]
    fn numbers_are_read_in_every_usual_form() {
        for (text, value) in [
            ("1", 1.0),
            (" -1.5\t", -1.5),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("9007199254740992", 9_007_199_254_740_992.0),
            ("1e20", 1e20),
            ("1.0e300", 1e300),
            ("0.12345678901234567", 0.123_456_789_012_345_67),
            ("1e-400", 0.0),
            ("0.1", 0.1),
        ] {
            assert_eq!(point(text), Ok(value), "{text}");
        }
        assert_eq!(point("-0").unwrap().to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn a_whole_number_is_never_rounded_in_silence() {
        for text in ["9007199254740993", "-9007199254740993", "+00009007199254740993", "12345678901234567890123"] {
            assert_eq!(point(text), Err(Refusal::Inexact), "{text}");
        }
    }

    #[test]
    fn a_decimal_comma_excludes_the_point() {
        let comma = |text: &str| parse(text.as_bytes(), Decimal::Comma);
        assert_eq!(comma("-1,5e3"), Ok(-1500.0));
        assert_eq!(comma("7"), Ok(7.0));
        for text in ["1.5", "1.234,5", "1,2,3"] {
            assert_eq!(comma(text), Err(Refusal::Text), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_for_its_own_reason() {
        for text in ["nan", "NaN", "-nan", "inf", "-Inf", "+Infinity", " INFINITY "] {
            assert_eq!(point(text), Err(Refusal::NotFinite), "{text}");
        }
        for text in ["1e999", "-1e309"] {
            assert_eq!(point(text), Err(Refusal::TooLarge), "{text}");
        }
        for text in ["", "  ", "\t"] {
            assert_eq!(point(text), Err(Refusal::Empty), "{text}");
        }
        for text in ["abc", "1,5", "1,234.5", "1 234", "1'234", "1 2", "0x10", "1_000", "NA", "-", "1e", "e5", "."] {
            assert_eq!(point(text), Err(Refusal::Text), "{text}");
        }
        assert_eq!(parse(b"\xff\xfe", Decimal::Point), Err(Refusal::Text));
    }
}
