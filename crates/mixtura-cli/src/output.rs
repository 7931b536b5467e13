//! Writes results to standard output, or atomically to a file.

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

/// Writes text to a new file with an unpredictable name in the temporary folder.
pub(crate) fn in_temporary_folder(prefix: &str, suffix: &str, text: &str) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file.keep()?.1)
}

/// Opens a table for writing: a file in the format of its extension, or CSV on standard output.
pub(crate) fn table(path: Option<&Path>, layout: impl Into<TableLayout>) -> anyhow::Result<TableWriter<'static>> {
    Ok(match path {
        Some(path) if !is_standard(path) => TableWriter::create(path, layout)?,
        _ => TableWriter::csv(BufWriter::new(standard()), "standard output", layout)?,
    })
}

/// Standard output; on a terminal, control characters are escaped.
fn standard() -> Box<dyn Write> {
    let stdout = io::stdout();
    if stdout.is_terminal() { Box::new(ForTerminal::new(stdout)) } else { Box::new(stdout) }
}

/// Whether a path means standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a path is a regular file, existing or not, rather than standard output, a pipe or a device.
pub(crate) fn is_regular(path: &Path) -> bool {
    !is_standard(path) && path.metadata().map_or(true, |metadata| metadata.is_file())
}

/// The requested format; by default a table on a terminal and JSON otherwise.
pub(crate) fn format(asked: Option<Format>) -> Format {
    let default = || if io::stdout().is_terminal() { Format::Table } else { Format::Json };
    asked.unwrap_or_else(default)
}

/// Rejects, before any work, an output that is also an input or another output, or that cannot be written.
pub(crate) fn check(outputs: &[Option<&Path>], inputs: &[&Input]) -> anyhow::Result<()> {
    let outputs: Vec<&Path> = outputs.iter().copied().flatten().filter(|output| !is_standard(output)).collect();
    refuse_inputs(&outputs, inputs)?;
    for (at, output) in outputs.iter().enumerate() {
        // Devices such as /dev/null accept any number of outputs.
        let is_device = output.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if !is_device && outputs[..at].iter().any(|other| same_target(other, output)) {
            let message = format!("{}: two outputs go to the same file", output.display());
            return Err(Usage::hinted(message, "give each output a file of its own").into());
        }
        refuse_compression(output)?;
        probe(output)?;
    }
    Ok(())
}

/// Rejects names that promise a compressed file, because only tables in CSV can be compressed.
fn refuse_compression(output: &Path) -> anyhow::Result<()> {
    let name = output.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst"));
    match plain {
        Some(plain) if plain.rsplit('.').next() != Some("csv") && is_regular(output) => {
            let message = format!("{}: only CSV tables can be written compressed", output.display());
            let hint = format!("write {plain} and compress it afterwards");
            Err(Usage::hinted(message, hint).into())
        }
        _ => Ok(()),
    }
}

/// Rejects an output that is one of the inputs, following links.
pub(crate) fn refuse_inputs(outputs: &[&Path], inputs: &[&Input]) -> anyhow::Result<()> {
    for output in outputs {
        for input in inputs {
            // Standard input may be redirected from a file.
            let input = match input {
                Input::Path(input) => input,
                Input::Stdin => Path::new("/dev/stdin"),
            };
            let is_special = input.metadata().is_ok_and(|metadata| !metadata.is_file());
            if !is_special && same_target(output, input) {
                let message = format!("{}: output and input are the same file", output.display());
                return Err(Usage::hinted(message, "choose another file for the output (-o)").into());
            }
        }
    }
    Ok(())
}
