//! Parses one cell of text as a finite number.

/// Why a cell is no finite number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Empty,
    NotFinite,
    TooLarge,
    Text,
}

/// The double nearest to the number written in the cell; spaces around it do not matter.
pub(super) fn parse(cell: &[u8]) -> Result<f64, Refusal> {
    let cell = cell.trim_ascii();
    let parsed = std::str::from_utf8(cell).ok().and_then(|text| text.parse::<f64>().ok());
    match parsed {
        Some(value) if value.is_finite() => Ok(value),
        // The words for NaN and infinity have no digits; a number that overflowed has.
        Some(_) if cell.iter().any(u8::is_ascii_digit) => Err(Refusal::TooLarge),
        Some(_) => Err(Refusal::NotFinite),
        None if cell.is_empty() => Err(Refusal::Empty),
        None => Err(Refusal::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_every_usual_form() {
        for (text, value) in [
            ("1", 1.0),
            (" -1.5\t", -1.5),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("1e-400", 0.0),
            ("0.1", 0.1),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(value), "{text}");
        }
        assert_eq!(parse(b"-0").unwrap().to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn everything_else_is_refused_for_its_own_reason() {
        for text in ["nan", "NaN", "-nan", "inf", "-Inf", "+Infinity", " INFINITY "] {
            assert_eq!(parse(text.as_bytes()), Err(Refusal::NotFinite), "{text}");
        }
        for text in ["1e999", "-1e309"] {
            assert_eq!(parse(text.as_bytes()), Err(Refusal::TooLarge), "{text}");
        }
        for text in ["", "  ", "\t"] {
            assert_eq!(parse(text.as_bytes()), Err(Refusal::Empty), "{text}");
        }
        for text in ["abc", "1,5", "1 2", "0x10", "1_000", "NA", "-", "1e", "e5", "."] {
            assert_eq!(parse(text.as_bytes()), Err(Refusal::Text), "{text}");
        }
        assert_eq!(parse(b"\xff\xfe"), Err(Refusal::Text));
    }
}
