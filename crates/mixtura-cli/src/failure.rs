//! Turns errors into messages, hints and exit codes.

use std::io;
use std::process::ExitCode;

use crate::{interrupt, talk};

/// Exit code for usage errors.
const USAGE: u8 = 2;

/// A usage error found only after parsing.
#[derive(Debug)]
pub(crate) struct Usage {
    message: String,
    hint: Option<String>,
}

impl Usage {
    /// An error whose message already says what to do.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// An error, and what to do about it.
    pub(crate) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Usage {}

/// An error that carries its own hint.
#[derive(Debug)]
pub(crate) struct Hinted {
    pub message: String,
    pub hint: String,
}

impl std::fmt::Display for Hinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

/// Replaces the panic message with a request to report the bug.
pub(crate) fn explain_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let file = panic.location().map_or("", |location| location.file());
        // Decoders of columnar files may panic on corrupt input. The panic is caught elsewhere and
        // becomes an error that names the file.
        if ["/parquet-", "/arrow-", "/bytes-"].iter().any(|crates| file.contains(crates)) {
            return;
        }
        talk::error(
            &format!("internal error: {panic}"),
            Some("please report this bug together with the command you ran"),
        );
    }));
}

/// Prints the error, if any, and returns the exit code.
pub(crate) fn exit(result: anyhow::Result<ExitCode>) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    // A closed pipe means that the reader has seen enough.
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if is_interruption(&error) {
        talk::warning("interrupted: nothing was written");
        return ExitCode::from(interrupt::EXIT_CODE);
    }
    talk::error(&words(&error), hint(&error).as_deref());
    if error.downcast_ref::<Usage>().is_some() { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}

/// The error and its causes, up to the first whose message already includes its causes.
fn words(error: &anyhow::Error) -> String {
    let mut words = Vec::new();
    for cause in error.chain() {
        words.push(cause.to_string());
        if cause.downcast_ref::<mixtura_io::Error>().is_some() {
            break;
        }
    }
    words.join(": ")
}

fn is_interruption(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(mixtura::Error::Interrupted)))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<mixtura_io::Error>().is_some_and(mixtura_io::Error::is_broken_pipe)
            || cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}

fn hint(error: &anyhow::Error) -> Option<String> {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<mixtura_io::Error>() {
            return error.hint();
        }
        if let Some(hinted) = cause.downcast_ref::<Hinted>() {
            return Some(hinted.hint.clone());
        }
        if let Some(usage) = cause.downcast_ref::<Usage>() {
            return usage.hint.clone();
        }
        if let Some(error) = cause.downcast_ref::<mixtura::Error>() {
            return hint_of_library(error);
        }
    }
    None
}

/// What to do about a value that the family does not admit.
pub(crate) const VALUE_HINT: &str = "leave out that column (--exclude) or row, or use --family gaussian";

fn hint_of_library(error: &mixtura::Error) -> Option<String> {
    use mixtura::Error;
    let text = match error {
        Error::TooFewDistinctRows { n_distinct, .. } => {
            return Some(format!("use a -k of at most {n_distinct}; identical rows count once"));
        }
        Error::Overflow { .. } => "rescale that column, or remove the outlier",
        Error::NoWeight | Error::Weight { .. } => mixtura_io::WEIGHT_HINT,
        Error::Width { .. } => "select the model's columns with --columns",
        Error::EmptyLabel { .. } => "every component from 0 to K-1 needs at least one labelled row; check -k",
        Error::Value { .. } => VALUE_HINT,
        Error::Memory { .. } => "use fewer components, columns (--columns) or rows, or a machine with more memory",
        Error::TooLarge { .. } => "use fewer columns (--columns) or fewer components",
        _ => return None,
    };
    Some(text.to_owned())
}
