//! Tests the command as its users see it: files, output, exit codes, messages.

#![allow(clippy::unwrap_used)] // also outside of test functions

mod bounds;
mod comfort;
mod compare;
mod contract;
mod data;
mod paper;
mod pipeline;
mod real_data;
mod refusals;
mod stopping;
mod trust;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The result of a run of the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mixtura"));
    command.current_dir(folder).args(line.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs `mixtura` with the arguments in a line, in a folder.
pub(crate) fn run(folder: &Path, line: &str) -> Ran {
    command(folder, line).output().unwrap().into()
}

/// Runs `mixtura` and expects it to succeed.
#[track_caller]
pub(crate) fn succeed(folder: &Path, line: &str) -> Ran {
    let ran = run(folder, line);
    assert_eq!(ran.code, 0, "mixtura {line}\n{}", ran.stderr);
    ran
}

/// Runs `mixtura` with text on standard input.
pub(crate) fn run_with_input(folder: &Path, line: &str, input: &str) -> Ran {
    let mut child =
        command(folder, line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

/// A separate folder for a test.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A data file of the tests.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

pub(crate) fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}
