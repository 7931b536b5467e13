//! The `mixtura` command: parses the arguments, runs the subcommand and reports errors.

mod arguments;
mod commands;
mod data;
mod failure;
mod foreign;
mod interrupt;
mod output;
mod progress;
mod table;
mod talk;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    failure::explain_panics();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| foreign::with_our_word(error).exit());
    interrupt::listen();
    failure::exit(run(&arguments))
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.quiet {
        talk::be_quiet();
    }
    if arguments.command.is_some() && arguments.output.is_some() {
        return Err(failure::Usage::new("--output must come after the subcommand").into());
    }
    if let Some(n_threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global()?;
    }
    match &arguments.command {
        None => commands::demonstrate::run(arguments.output.as_deref()),
        Some(Command::Fit(arguments)) => commands::fit::run(arguments),
        Some(Command::Predict(arguments)) => commands::predict::run(arguments),
        Some(Command::Score(arguments)) => commands::score::run(arguments),
        Some(Command::Sample(arguments)) => commands::sample::run(arguments),
        Some(Command::Show(arguments)) => commands::show::run(arguments),
        Some(Command::Generate(arguments)) => commands::generate::run(arguments),
        Some(Command::Compare(arguments)) => commands::compare::run(arguments),
        Some(Command::Bounds(arguments)) => commands::bounds::run(arguments),
        Some(Command::Paper(arguments)) => commands::paper::run(arguments),
        Some(Command::Completions(arguments)) => commands::completions::run(arguments),
        Some(Command::Man(arguments)) => commands::man::run(arguments),
    }
}
