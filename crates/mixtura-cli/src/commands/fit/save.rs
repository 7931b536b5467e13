//! Writes what came of a fit: the model first, so that nothing else that fails can lose it.

use std::io::IsTerminal;
use std::path::Path;

use mixtura_io::ModelFile;

use super::FitArguments;
use crate::arguments::Format;
use crate::commands::show::{self, View};
use crate::failure::Hinted;
use crate::{output, talk};

/// Writes model and trace and shows the model, as far as was asked for; the first failure is returned at the end.
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

/// Writes the model file; if that cannot be done, into the temporary folder or, at last, to standard output.
fn model(path: &Path, file: &ModelFile) -> anyhow::Result<()> {
    let json = file.to_json();
    let Err(error) = output::text(Some(path), &json) else {
        if !output::is_standard(path) {
            talk::notice(&format!("{}: wrote {}", path.display(), show::outcome(file)));
        }
        return Ok(());
    };
    // Nobody is left to read what goes into a closed pipe.
    if output::is_standard(path) || error.downcast_ref().is_some_and(mixtura_io::Error::is_broken_pipe) {
        return Err(error);
    }
    let message = error.to_string();
    let hint = if let Ok(spare) = output::in_temporary_folder("mixtura-model-", ".json", &json) {
        format!("the model is safe in {}: move it", spare.display())
    } else {
        output::text(None, &json)?;
        "the model was printed to standard output instead".into()
    };
    Err(Hinted { message, hint }.into())
}

/// Prints the model as it was asked for, and says how to keep it.
fn print(arguments: &FitArguments, file: &ModelFile) -> anyhow::Result<()> {
    match output::format(arguments.format) {
        Format::Json => output::text(None, &file.to_json())?,
        Format::Table => output::text(None, &show::table(file, &View::all(file)))?,
    }
    if arguments.output.is_none() && std::io::stdout().is_terminal() {
        talk::notice("nothing was saved; add -o model.json to keep the model");
    }
    Ok(())
}
