//! Formats names and sizes for messages, and chooses hints for unreadable cells.

/// Maximum number of column names listed in a message.
const N_LISTED: usize = 12;

/// A number of bytes in readable form.
pub(crate) fn size(n_bytes: u64) -> String {
    let n_bytes = n_bytes as f64;
    if n_bytes < 1e9 { format!("{:.1} MB", n_bytes / 1e6) } else { format!("{:.1} GB", n_bytes / 1e9) }
}

/// Hint for a missing value.
pub(crate) const MISSING_HINT: &str = "skip rows with missing values with --missing skip, or fill them in first";

/// Hint for a row weight.
pub const WEIGHT_HINT: &str = "a weight says how many times a row counts; use 0 to ignore a row";

pub(crate) fn available_columns(available: &[String], n_columns: usize) -> String {
    if available.is_empty() {
        format!("the columns have no names; select them by position, 1 to {n_columns}")
    } else {
        format!("the columns are {}", listed(available))
    }
}

/// Hint for a cell that is not a number, depending on its text.
pub(crate) fn number_hint(value: &str) -> &'static str {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if matches!(value.to_ascii_lowercase().as_str(), "na" | "n/a" | "null" | "none" | "<na>" | "#n/a" | "?" | "-" | ".")
    {
        MISSING_HINT
    } else if has_thousands_separators(value) {
        "remove thousands separators; use --decimal , for decimal commas"
    } else if value.contains(',') && is_number(&value.replacen(',', ".", 1)) {
        "use --decimal , for numbers with a decimal comma"
    } else if is_number(value) {
        "use --decimal . for numbers with a decimal point"
    } else {
        "select numeric columns with --columns, or set the delimiter with --delimiter"
    }
}

/// Whether a text would be a number with a different decimal separator, or with thousands separators.
#[cfg(feature = "tables")]
pub(crate) fn looks_like_other_number(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_decimal = |mark: &str| value.replacen(mark, ".", 1).parse::<f64>().is_ok();
    has_digit && (has_thousands_separators(value) || is_decimal(",") || is_decimal("."))
}

/// Whether a text is a number with digits in groups of three, such as `1.234,5` or `1 234`.
fn has_thousands_separators(value: &str) -> bool {
    let value = value.trim_start_matches(['+', '-']);
    let is_separator = |c: char| matches!(c, ',' | '.' | ' ' | '\'' | '’' | '_' | '\u{a0}' | '\u{202f}');
    let Some(separator) = value.chars().find(|&c| is_separator(c)) else {
        return false;
    };
    let (whole, fraction) = match value.rfind([',', '.']) {
        Some(mark) if !value[mark..].starts_with(separator) => (&value[..mark], &value[mark + 1..]),
        _ => (value, ""),
    };
    let mut groups = whole.split(separator);
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len())
        && is_digits(first)
        && is_digits(fraction)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

/// A list of names for a message, shortened if it is long.
pub(crate) fn listed(names: &[String]) -> String {
    let text = names.iter().take(N_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(N_LISTED) {
        0 => text,
        n_more => format!("{text} and {n_more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_separators_are_named() {
        for value in ["1.234,5", "1,234.5", "1 234", "1'234", "-1,234,567", "1\u{202f}234,5"] {
            assert!(number_hint(value).contains("thousands"), "{value}");
        }
        for value in ["1,5", "12,34", "abc", "1.2.3", "2020-01-01", "10:30", ",", "'"] {
            assert!(!number_hint(value).contains("thousands"), "{value}");
        }
        assert!(number_hint("1,5").contains("--decimal ,"));
        assert!(number_hint("NA").contains("--missing skip"));
    }
}
