//! Is the `mixtura` command: reads what was typed, runs it, and says how it went.

mod arguments;
mod commands;
mod data;
mod failure;
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
    let arguments = Arguments::parse();
    interrupt::listen();
    failure::exit(run(arguments))
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        None => commands::demonstrate::run(),
        Some(Command::Fit(arguments)) => commands::fit::run(&arguments),
        Some(Command::Predict(arguments)) => commands::predict::run(&arguments),
        Some(Command::Score(arguments)) => commands::score::run(&arguments),
        Some(Command::Sample(arguments)) => commands::sample::run(&arguments),
        Some(Command::Show(arguments)) => commands::show::run(&arguments),
        Some(Command::Generate(arguments)) => commands::generate::run(&arguments),
        Some(Command::Compare(arguments)) => commands::compare::run(&arguments),
        Some(Command::Bounds(arguments)) => commands::bounds::run(&arguments),
        Some(Command::Paper(arguments)) => commands::paper::run(&arguments),
        Some(Command::Completions(arguments)) => commands::completions::run(&arguments),
        Some(Command::Man(arguments)) => commands::man::run(&arguments),
    }
}
