//! Writes the results of a fit, the model first, so that no later failure can lose it.

use std::io::IsTerminal;
use std::path::Path;

use mixtura_io::ModelFile;

use super::FitArguments;
use crate::arguments::Format;
use crate::commands::show::{self, View};
use crate::failure::Hinted;
use crate::{output, talk};

/// Writes the model and the trace and prints the model, as requested; returns the first failure at the end.
pub(super) fn results(
    arguments: &FitArguments,
    file: &ModelFile,
    trace: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let saved = arguments.output.as_deref().map_or(Ok(()), |path| model(path, file));
    let shown = if arguments.output.is_none() || arguments.format.is_some() { print(arguments, file) } else { Ok(()) };
    let traced = arguments.trace.as_deref().map_or(Ok(()), |path| output::text(Some(path), &trace()));
    saved.and(shown).and(traced)
}

/// Writes the model file; if that fails, to the temporary folder and, as a last resort, to standard output.
fn model(path: &Path, file: &ModelFile) -> anyhow::Result<()> {
    let json = file.to_json();
    let Err(error) = output::text(Some(path), &json) else {
        if !output::is_standard(path) {
            talk::notice(&format!("{}: wrote {}", path.display(), show::outcome(file)));
            if let Some(starts) = show::starts(file) {
                talk::notice(&starts);
            }
        }
        return Ok(());
    };
    // Nobody reads from a closed pipe.
    if output::is_standard(path) || error.downcast_ref().is_some_and(mixtura_io::Error::is_broken_pipe) {
        return Err(error);
    }
    let message = error.to_string();
    let hint = if let Ok(spare) = output::in_temporary_folder("mixtura-model-", ".json", &json) {
        format!("the model was saved to {} instead", spare.display())
    } else {
        output::text(None, &json)?;
        "the model was printed to standard output instead".into()
    };
    Err(Hinted { message, hint }.into())
}

/// Prints the model as requested, and explains how to save it.
fn print(arguments: &FitArguments, file: &ModelFile) -> anyhow::Result<()> {
    match output::format(arguments.format) {
        Format::Json => output::text(None, &file.to_json())?,
        Format::Table => output::text(None, &show::table(file, &View::all(file)))?,
    }
    if arguments.output.is_none() && std::io::stdout().is_terminal() {
        talk::notice("the model was not saved; add -o model.json to save it");
    }
    Ok(())
}
