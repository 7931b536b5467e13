//! Turns Ctrl-C into a wish to stop after the current round; a second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);

/// Exit code of an interrupted program.
pub(crate) const EXIT_CODE: u8 = 130;

/// Begins to listen.
pub(crate) fn listen() {
    let handler = || {
        if WANTED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(EXIT_CODE));
        }
    };
    // Without a handler Ctrl-C still ends the program; only the model so far is lost.
    let _ = ctrlc::set_handler(handler);
}

/// Whether Ctrl-C was pressed.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Someone pressed Ctrl-C; nothing is left behind.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Fails if Ctrl-C was pressed, so that unfinished files are removed on the way out.
pub(crate) fn check() -> Result<(), Interrupted> {
    if is_wanted() { Err(Interrupted) } else { Ok(()) }
}
