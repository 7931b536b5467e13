//! Talks to the user on standard error: notices, warnings and hints.

use std::io::{IsTerminal, Write};

/// Says something worth knowing.
pub(crate) fn notice(text: &str) {
    say("note", "36", text);
}

/// Says something to look into.
pub(crate) fn warning(text: &str) {
    say("warning", "33", text);
}

/// Says why nothing came of it, and what to do next.
pub(crate) fn error(text: &str, hint: Option<&str>) {
    say("error", "31", text);
    if let Some(hint) = hint {
        say("hint", "32", hint);
    }
}

/// Whether standard error shows colours.
fn has_colours() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !no_color
}

fn say(word: &str, colour: &str, text: &str) {
    // Nobody is left to tell if standard error itself fails.
    let _ = if has_colours() {
        writeln!(std::io::stderr(), "\u{1b}[1;{colour}m{word}:\u{1b}[0m {text}")
    } else {
        writeln!(std::io::stderr(), "{word}: {text}")
    };
}
