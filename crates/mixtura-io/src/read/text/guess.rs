//! Guesses the delimiter and the decimal separator from the first lines.

use super::record::{COMMENT, Delimiter, Dialect};

/// Candidate delimiters, most likely first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Number of lines that a guess is based on.
const GUESS_LINES: usize = 64;

/// Whether a byte cannot be a delimiter.
pub(super) fn is_part_of_numbers(delimiter: u8) -> bool {
    delimiter.is_ascii_alphanumeric() || b".+-\"\r\n#".contains(&delimiter)
}

/// The decimal separator of a plain number, and whether it could also be a thousands separator.
pub(super) fn marked(cell: &[u8]) -> Option<(u8, bool)> {
    let cell = cell.trim_ascii();
    let cell = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    let place = cell.iter().position(|byte| !byte.is_ascii_digit())?;
    let (mark, rest) = (cell[place], &cell[place + 1..]);
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_end = matches!(rest[n_digits..], [] | [b'e' | b'E', ..]);
    if !matches!(mark, b',' | b'.') || place + n_digits == 0 || !is_end {
        return None;
    }
    let could_be_thousands = rest.len() == 3 && n_digits == 3 && (1..=3).contains(&place) && cell[0] != b'0';
    Some((mark, could_be_thousands))
}

/// The delimiter that occurs most often in the first line outside quotes.
///
/// If there is none, spaces and tabs, provided that they split the first two lines into the same number of
/// cells; the same if tabs alone do not split the lines evenly; else a comma.
pub(super) fn guess_delimiter(text: &[u8], is_decimal_comma: bool, has_lone_carriage_returns: bool) -> Delimiter {
    let lines: Vec<&[u8]> = content_lines(text, GUESS_LINES);
    let counts = DELIMITERS.map(|delimiter| {
        if is_decimal_comma && delimiter == b',' {
            return 0;
        }
        lines.first().map_or(0, |line| count_outside_quotes(line, delimiter))
    });
    let most = counts.iter().max().copied().unwrap_or(0);
    let likeliest = counts.iter().position(|&count| count == most).map_or(b',', |which| DELIMITERS[which]);
    let is_even = |delimiter, most: usize| {
        let dialect = Dialect { delimiter, has_quotes: true, has_lone_carriage_returns: false };
        let mut numbers = lines.iter().take(most).map(|line| dialect.split(line, 0, &mut Vec::new()));
        let first = numbers.next().unwrap_or(0);
        first > 1 && numbers.all(|number| number == first)
    };
    let may_be_whitespace = !has_lone_carriage_returns
        && match likeliest {
            _ if most == 0 => {
                let others = DELIMITERS.iter().filter(|&&delimiter| !(is_decimal_comma && delimiter == b','));
                let occurs = |&delimiter: &u8| {
                    delimiter != b'\t' && lines.iter().any(|line| count_outside_quotes(line, delimiter) > 0)
                };
                !others.copied().any(|delimiter| occurs(&delimiter))
            }
            b'\t' => !is_even(Delimiter::Byte(b'\t'), GUESS_LINES),
            _ => false,
        };
    if may_be_whitespace && is_even(Delimiter::Whitespace, 2) {
        Delimiter::Whitespace
    } else if most == 0 && is_decimal_comma {
        Delimiter::Byte(b';')
    } else {
        Delimiter::Byte(likeliest)
    }
}

fn count_outside_quotes(line: &[u8], wanted: u8) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for &byte in line {
        is_quoted ^= byte == b'"';
        count += usize::from(byte == wanted && !is_quoted);
    }
    count
}

/// Lines that are neither blank nor comments, each up to its line end outside quotes. The delimiter is not yet known.
fn content_lines(text: &[u8], most: usize) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (place, &byte) in text.iter().chain(b"\n").enumerate() {
        let is_comment = text.get(start) == Some(&COMMENT);
        if matches!(byte, b'\r' | b'\n') && (!is_quoted || is_comment || place == text.len()) {
            let line = &text[start..place];
            if !line.trim_ascii().is_empty() && !is_comment {
                lines.push(line);
                if lines.len() == most {
                    break;
                }
            }
            (start, is_quoted) = (place + 1, false);
        } else {
            is_quoted ^= byte == b'"';
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_the_delimiter() {
        use Delimiter::{Byte, Whitespace};
        for (text, delimiter) in [
            ("a,b\n1;2;3;4", Byte(b',')),
            ("a;b\n", Byte(b';')),
            ("1\t2\t3", Byte(b'\t')),
            ("a|b|c\r\n", Byte(b'|')),
            ("\"a,b,c\";d\n", Byte(b';')),
            ("a\n1,2", Byte(b',')),
            ("\n\na;b", Byte(b';')),
            ("# a, b, c\nx;y\n", Byte(b';')),
            ("", Byte(b',')),
            ("a b\n1 2\n", Whitespace),
            ("  1.5   2\n 3     4\n", Whitespace),
            ("1\t\t2\n3\t4\n", Whitespace),
            ("first name\tage\nAnn Lee\t5\n", Byte(b'\t')),
            ("my column\n1\n2\n", Byte(b',')),
        ] {
            assert_eq!(guess_delimiter(text.as_bytes(), false, false), delimiter, "{text:?}");
        }
        assert_eq!(guess_delimiter(b"1,5 2,5\n", true, false), Whitespace);
        assert_eq!(guess_delimiter(b"1,5\n2,5\n", true, false), Byte(b';'));
    }

    #[test]
    fn a_group_of_three_digits_may_be_thousands() {
        assert_eq!(marked(b"1,5"), Some((b',', false)));
        assert_eq!(marked(b" -0,123e5"), Some((b',', false)));
        assert_eq!(marked(b"1,234"), Some((b',', true)));
        assert_eq!(marked(b"0,234"), Some((b',', false)));
        assert_eq!(marked(b"1.5"), Some((b'.', false)));
        for cell in ["15", "1,2,3", "1.234,5", "", ",", "a,5", "01.02.2020"] {
            assert_eq!(marked(cell.as_bytes()), None, "{cell}");
        }
    }
}
