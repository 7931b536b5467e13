//! Ends the program on the first SIGINT, SIGTERM or SIGHUP; where there is work worth keeping, after a farewell.
//!
//! While nothing would be lost, a signal ends the program at once, wherever it is: reading, waiting for a pipe,
//! drawing starts. During a fit it is a wish to stop, and the best model so far is written. A second signal always
//! ends the program at once. Unfinished output files are removed on the way out.

use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
/// Whether someone looks at [`is_wanted`] and has something to keep.
static HEARD: AtomicBool = AtomicBool::new(false);

/// Exit code of an interrupted program.
pub(crate) const EXIT_CODE: u8 = 130;

/// Begins to listen.
pub(crate) fn listen() {
    // Without a handler a signal still ends the program; only temporary files stay behind.
    #[cfg(unix)]
    let _ = listen_to_signals();
    #[cfg(not(unix))]
    let _ = ctrlc::set_handler(received);
}

/// Listens to the signals that the parent process did not ask to ignore: `nohup` and scripts that start programs
/// in the background count on that.
#[cfg(unix)]
fn listen_to_signals() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // A file that reaches the limit on sizes is an error of that file, not the end of the program.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    let heeded = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(heeded)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || signals.forever().for_each(|_| received()))?;
    Ok(())
}

/// Whether the process was started with a signal ignored; no where the system does not tell.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

fn received() {
    if WANTED.swap(true, Ordering::SeqCst) || !HEARD.load(Ordering::SeqCst) {
        mixtura_io::remove_temporaries();
        if !HEARD.load(Ordering::SeqCst) {
            crate::talk::warning("interrupted: nothing was written");
        }
        std::process::exit(i32::from(EXIT_CODE));
    }
}

/// From now on a signal is a wish that [`is_wanted`] tells of, because there is something to keep.
pub(crate) fn hear() {
    HEARD.store(true, Ordering::SeqCst);
}

/// Whether someone asked for the end.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}
