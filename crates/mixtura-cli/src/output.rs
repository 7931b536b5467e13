//! Sends results to standard output or to a file that appears whole or not at all.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use mixtura_io::{Input, TableColumns, TableWriter, same_file};

use crate::arguments::Format;
use crate::failure::Usage;

/// Writes text to a file, or to standard output.
pub(crate) fn text(path: Option<&Path>, text: &str) -> anyhow::Result<()> {
    if let Some(path) = path.filter(|path| !is_standard(path)) {
        return Ok(mixtura_io::write_file(path, text.as_bytes())?);
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot write to standard output")
}

/// A table to a file by its extension, or as CSV to standard output.
pub(crate) fn table(path: Option<&Path>, columns: &TableColumns) -> anyhow::Result<TableWriter<'static>> {
    Ok(match path {
        Some(path) if !is_standard(path) => TableWriter::create(path, columns)?,
        _ => TableWriter::csv(std::io::BufWriter::new(std::io::stdout()), "standard output", columns)?,
    })
}

/// Whether a path stands for standard output.
fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The format that was asked for; else a table for a terminal and JSON for a program.
pub(crate) fn format(asked: Option<Format>) -> Format {
    let default = || if std::io::stdout().is_terminal() { Format::Table } else { Format::Json };
    asked.unwrap_or_else(default)
}

/// Refuses, before any work, an output that is an input or whose folder is missing.
pub(crate) fn check(outputs: &[Option<&PathBuf>], inputs: &[&Input]) -> anyhow::Result<()> {
    let mut seen: Vec<&PathBuf> = Vec::new();
    for output in outputs.iter().copied().flatten().filter(|output| !is_standard(output)) {
        for input in inputs {
            if let Input::Path(input) = input
                && same_file(output, input)
            {
                return Err(Usage(format!("{}: output and input are the same file", output.display())).into());
            }
        }
        // Devices such as /dev/null take any number of outputs.
        let is_device = output.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if !is_device && seen.iter().any(|other| *other == output || same_file(other, output)) {
            return Err(Usage(format!("{}: two outputs to the same file", output.display())).into());
        }
        seen.push(output);
        // Creating and dropping leaves nothing behind, and says whether it can be done.
        drop(mixtura_io::AtomicFile::create(output)?);
    }
    Ok(())
}
