//! `mixtura completions`: prints shell completions.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::output;

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura completions bash > mixtura.bash && source mixtura.bash\n  \
    mixtura completions zsh > ~/.zfunc/_mixtura")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &CompletionsArguments) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "mixtura", &mut text);
    output::text(None, &String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
