//! Handles SIGINT, SIGTERM and SIGHUP: exits at once, or after saving the work done so far.
//!
//! As long as nothing would be lost, a signal ends the program immediately: while it reads, waits for a pipe or
//! draws starts. During a fit it is a request to stop, and the best model so far is written. A second signal always
//! ends the program immediately. Unfinished output files are removed on exit.

use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
/// Whether the running work polls [`is_wanted`] and has results to save.
static HEARD: AtomicBool = AtomicBool::new(false);

/// Exit code after an interruption.
pub(crate) const EXIT_CODE: u8 = 130;

/// Installs the signal handlers.
pub(crate) fn listen() {
    // Without a handler, a signal still ends the program, but temporary files are left behind.
    #[cfg(unix)]
    let _ = listen_to_signals();
    #[cfg(not(unix))]
    let _ = ctrlc::set_handler(received);
}

/// Handles the signals that the parent process does not ignore: `nohup` and scripts that start background
/// programs rely on ignored signals staying ignored.
#[cfg(unix)]
fn listen_to_signals() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // Reaching the file size limit is a write error, not a reason to kill the program.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    let heeded = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(heeded)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || signals.forever().for_each(|_| received()))?;
    Ok(())
}

/// Whether the process was started with a signal ignored; `false` if the system does not say.
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

/// From now on a signal only sets [`is_wanted`], because there is work to save.
pub(crate) fn hear() {
    HEARD.store(true, Ordering::SeqCst);
}

/// Whether a signal asked the program to stop.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}
