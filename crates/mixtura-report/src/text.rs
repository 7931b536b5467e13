//! Estimates the width of text and breaks it into lines, because SVG does neither.

/// The estimated width of a text in a sans-serif font of size 1, rather too wide than too narrow.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().map(letter).sum()
}

fn letter(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | 'I' => 0.3,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '·' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' | '…' => 0.92,
        '−' | '+' | '=' | '×' | '÷' | '<' | '>' | '≤' | '≥' | '≈' => 0.7,
        c if c.is_uppercase() => 0.72,
        _ => 0.58,
    }
}

/// A text in lines of at most a width, broken between words; a longer word has a line of its own.
pub(crate) fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// The same with lines of similar length: as few of them, but as short as possible.
pub(crate) fn balanced(text: &str, most: f64) -> Vec<String> {
    let mut lines = wrapped(text, most);
    for share in (50..100).rev() {
        let shorter = wrapped(text, most * f64::from(share) / 100.0);
        if shorter.len() > lines.len() {
            break;
        }
        lines = shorter;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_long_and_no_word_is_lost() {
        let text = "the difference between EM and SEM after each round, for every component of the mixture";
        let lines = wrapped(text, 12.0);
        assert!(lines.len() > 3 && lines.iter().all(|line| width(line) <= 12.0));
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrapped(text, 1000.0).len(), 1);
        assert_eq!(wrapped("unbreakable words", 2.0), ["unbreakable", "words"]);
        assert!(wrapped("", 2.0).is_empty());
        assert_eq!(wrapped("distance between two means", 12.0), ["distance between two", "means"]);
        assert_eq!(balanced("distance between two means", 12.0), ["distance between", "two means"]);
    }
}
