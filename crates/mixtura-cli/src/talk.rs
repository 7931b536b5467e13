//! Prints notes, warnings, errors and hints to standard error, with control characters escaped.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notes, warnings and progress from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether only errors are shown.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note.
pub(crate) fn notice(text: &str) {
    if !is_quiet() {
        say("note", "36", text);
    }
}

/// Prints a warning.
pub(crate) fn warning(text: &str) {
    if !is_quiet() {
        say("warning", "33", text);
    }
}

/// Prints an error and a hint about what to do next.
pub(crate) fn error(text: &str, hint: Option<&str>) {
    say("error", "31", text);
    if let Some(hint) = hint {
        say("hint", "32", hint);
    }
}

/// Whether standard error is a terminal that can redraw lines.
pub(crate) fn is_lively() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether to colour standard error, following NO_COLOR, CLICOLOR and CLICOLOR_FORCE.
fn has_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_zero = |name: &str| std::env::var_os(name) == Some(OsString::from("0"));
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE") {
        return true;
    }
    is_lively() && !is_zero("CLICOLOR")
}

fn say(word: &str, colour: &str, text: &str) {
    let text = printable(text);
    // If standard error itself fails, there is nowhere to report it.
    let _ = if has_colours() {
        writeln!(io::stderr(), "\u{1b}[1;{colour}m{word}:\u{1b}[0m {text}")
    } else {
        writeln!(io::stderr(), "{word}: {text}")
    };
}

/// Escapes control characters, which could move the cursor or change the terminal's title.
///
/// Names of columns and files are untrusted input. Line feeds and tabs are kept.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_risky) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_risky(c) { c.escape_default().collect() } else { String::from(c) };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Whether a character is a control character or reorders the text around it.
fn is_risky(c: char) -> bool {
    let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || reorders
}

/// A writer that escapes control characters on a terminal and passes all bytes through otherwise.
pub(crate) struct ForTerminal<W: Write> {
    writer: W,
    /// The first bytes of a character whose remaining bytes have not arrived yet.
    begun: Vec<u8>,
}

impl<W: Write> ForTerminal<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { writer, begun: Vec::new() }
    }
}

impl<W: Write> Write for ForTerminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let n_whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let whole: Vec<u8> = self.begun.drain(..n_whole).collect();
        self.writer.write_all(printable(&String::from_utf8_lossy(&whole)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_from_names_do_not_reach_the_terminal_raw() {
        assert_eq!(printable("plain ü\n\tµ"), "plain ü\n\tµ");
        assert_eq!(printable("a\u{1b}]0;title\u{7}b\r"), "a\\u{1b}]0;title\\u{7}b\\r");
        assert_eq!(printable("\u{9b}2J\u{202e}x"), "\\u{9b}2J\\u{202e}x");
    }

    #[test]
    fn characters_cut_in_two_are_put_together_again() {
        let mut out = Vec::new();
        let text = "ü\u{1b}µ".as_bytes();
        let mut writer = ForTerminal::new(&mut out);
        for byte in text {
            writer.write_all(&[*byte]).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), "ü\\u{1b}µ");
    }
}
