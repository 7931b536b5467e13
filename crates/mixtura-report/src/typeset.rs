//! Typesets subscripts and options of the command line in the texts of pages and figures.

use crate::escaped;

/// How a subscript is written: `Γ_μ` in a text is Γ with a subscript.
const MARK: char = '_';

/// Begins the rest of a text after a subscript: back from 0.3 of three quarters of its size.
const BACK: &str = "<tspan dy=\"-.225em\">";

/// A text for HTML: `Γ_μ` with a subscript, and options such as `--algorithm` in one piece, because browsers break
/// lines after a hyphen.
pub(crate) fn html(text: &str) -> String {
    let word = |word: &str| {
        let typeset = with_subscripts(word, |letter, below| format!("{letter}<sub>{below}</sub>"));
        if word.trim_start_matches('(').starts_with("--") { format!("<code>{typeset}</code>") } else { typeset }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A text for SVG, which has no subscripts: a lower line of smaller letters, and back.
pub(crate) fn svg(text: &str) -> String {
    let drawn = with_subscripts(text, |letter, below| {
        format!("{letter}<tspan dy=\".3em\" font-size=\".75em\">{below}</tspan>{BACK}")
    });
    let ends = "</tspan>".repeat(drawn.matches(BACK).count());
    drawn + &ends
}

/// A text for attributes of HTML, which are shown as they are: `Γμ`.
pub(crate) fn plain(text: &str) -> String {
    with_subscripts(text, |letter, below| format!("{letter}{below}"))
}

/// The escaped text, with each letter before a mark and the letter after it replaced.
fn with_subscripts(text: &str, subscript: impl Fn(char, char) -> String) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        match letters.get(at + 1..at + 3) {
            Some(&[MARK, below]) if is_greek(letter) && is_greek(below) => {
                out.push_str(&subscript(letter, below));
                at += 3;
            }
            _ => {
                out.push_str(&escaped(letter.encode_utf8(&mut [0; 4])));
                at += 1;
            }
        }
    }
    out
}

/// Only Greek letters have subscripts, so that names of columns and files stay as they are.
fn is_greek(letter: char) -> bool {
    ('Α'..='ω').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscripts_were_shown_with_an_underscore() {
        assert_eq!(html("0.5 % of Γ_μ, a_b < c"), "0.5 % of Γ<sub>μ</sub>, a_b &lt; c");
        assert_eq!(plain("0.5 % of Γ_μ, a_b < c"), "0.5 % of Γμ, a_b &lt; c");
        let drawn = svg("% of Γ_Σ & more");
        assert!(drawn.starts_with("% of Γ<tspan dy") && drawn.contains(">Σ</tspan>"), "{drawn}");
        assert!(drawn.ends_with(">Σ</tspan><tspan dy=\"-.225em\"> &amp; more</tspan>"), "{drawn}");
    }

    #[test]
    fn options_were_broken_after_a_hyphen() {
        assert_eq!(html("fit --algorithm sem"), "fit <code>--algorithm</code> sem");
        assert_eq!(html("a – b, well-known"), "a – b, well-known");
    }
}
