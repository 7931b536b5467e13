//! `mixtura man`: prints or writes the manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::arguments::Arguments;
use crate::output;

/// Print the manual page, or write one for every subcommand
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura man | man -l -\n  mixtura man -o ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// Write mixtura.1 and one page per subcommand to this folder
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ManArguments) -> anyhow::Result<ExitCode> {
    let mut command = Arguments::command();
    command.build();
    let Some(folder) = &arguments.output else {
        output::text(None, &page(command)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot create folder", folder.display()))?;
    for subcommand in command.get_subcommands() {
        let name = format!("mixtura-{}", subcommand.get_name());
        output::text(Some(&folder.join(format!("{name}.1"))), &page(subcommand.clone())?)?;
    }
    output::text(Some(&folder.join("mixtura.1")), &page(command)?)?;
    Ok(ExitCode::SUCCESS)
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
