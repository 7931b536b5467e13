//! Sends results to standard output or to a file that appears whole or not at all.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use mixtura_io::{Input, TableLayout, TableWriter, probe, same_target};

use crate::arguments::Format;
use crate::failure::Usage;
use crate::talk::ForTerminal;

/// Writes text to a file, or to standard output.
pub(crate) fn text(path: Option<&Path>, text: &str) -> anyhow::Result<()> {
    if let Some(path) = path.filter(|path| !is_standard(path)) {
        return Ok(mixtura_io::write_file(path, text.as_bytes())?);
    }
    let mut stdout = standard();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot write to standard output")
}

/// Writes text to a new file of the temporary folder, whose name nobody else can foresee.
pub(crate) fn in_temporary_folder(prefix: &str, suffix: &str, text: &str) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file.keep()?.1)
}

/// A table to a file by its extension, or as CSV to standard output.
pub(crate) fn table(path: Option<&Path>, layout: impl Into<TableLayout>) -> anyhow::Result<TableWriter<'static>> {
    Ok(match path {
        Some(path) if !is_standard(path) => TableWriter::create(path, layout)?,
        _ => TableWriter::csv(BufWriter::new(standard()), "standard output", layout)?,
    })
}

/// Standard output; a terminal gets no control characters from names.
fn standard() -> Box<dyn Write> {
    let stdout = io::stdout();
    if stdout.is_terminal() { Box::new(ForTerminal::new(stdout)) } else { Box::new(stdout) }
}

/// Whether a path stands for standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a path stands for a file, there or not yet; neither standard output nor a pipe or device.
pub(crate) fn is_regular(path: &Path) -> bool {
    !is_standard(path) && path.metadata().map_or(true, |metadata| metadata.is_file())
}

/// The format that was asked for; else a table for a terminal and JSON for a program.
pub(crate) fn format(asked: Option<Format>) -> Format {
    let default = || if io::stdout().is_terminal() { Format::Table } else { Format::Json };
    asked.unwrap_or_else(default)
}

/// Refuses, before any work, an output that is an input or another output, or that cannot be written.
pub(crate) fn check(outputs: &[Option<&Path>], inputs: &[&Input]) -> anyhow::Result<()> {
    let outputs: Vec<&Path> = outputs.iter().copied().flatten().filter(|output| !is_standard(output)).collect();
    refuse_inputs(&outputs, inputs)?;
    for (at, output) in outputs.iter().enumerate() {
        // Devices such as /dev/null take any number of outputs.
        let is_device = output.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if !is_device && outputs[..at].iter().any(|other| same_target(other, output)) {
            return Err(Usage(format!("{}: two outputs to the same file", output.display())).into());
        }
        probe(output)?;
    }
    Ok(())
}

/// Refuses an output that is one of the inputs, whatever links lead there.
pub(crate) fn refuse_inputs(outputs: &[&Path], inputs: &[&Input]) -> anyhow::Result<()> {
    for output in outputs {
        for input in inputs {
            // A file may come in by redirection.
            let input = match input {
                Input::Path(input) => input,
                Input::Stdin => Path::new("/dev/stdin"),
            };
            let is_special = input.metadata().is_ok_and(|metadata| !metadata.is_file());
            if !is_special && same_target(output, input) {
                return Err(Usage(format!("{}: output and input are the same file", output.display())).into());
            }
        }
    }
    Ok(())
}
