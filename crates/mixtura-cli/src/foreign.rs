//! Suggests the right option when someone uses the name it has in another program.

use std::path::Path;

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::arguments::Arguments;

/// Our options, each with its names in other software: scikit-learn, mclust, mlpack, Spark, pandas, cut.
const WORDS: &[(&str, &[&str])] = &[
    ("-k K", &["n-components", "components", "n-clusters", "clusters", "gaussians", "k", "g", "G"]),
    ("--restarts R", &["n-init", "nstart", "n-starts", "n-restarts", "trials", "starts"]),
    (
        "--rounds N",
        &["max-iter", "maxiter", "itmax", "iterations", "max-iterations", "n-iter", "num-iterations", "epochs"],
    ),
    ("--tolerance T", &["tol", "eps", "epsilon", "convergence-tol"]),
    ("--ridge R", &["reg-covar", "reg-cov"]),
    ("--regularization E", &["regularisation", "reg", "min-variance", "min-covar", "var-floor", "noise"]),
    ("--delimiter CHARACTER", &["sep", "separator", "delim", "d", "s", "field-separator"]),
    ("--covariance STRUCTURE", &["covariance-type", "cov", "cov-type", "covariance-structure", "model-names"]),
    ("--family NAME", &["distribution", "component-family"]),
    ("--seed S", &["random-state", "random-seed", "rng", "rseed"]),
    ("--init START", &["init-params", "initialization", "initialisation", "init-method"]),
    ("--init-model FILE", &["means-init", "weights-init", "precisions-init", "warm-start", "input-model-file"]),
    ("--threads T", &["n-jobs", "jobs", "j", "cores", "num-threads", "workers"]),
    ("--output FILE", &["out", "save", "output-file", "output-model-file", "model-out", "write"]),
    ("--proba", &["probabilities", "predict-proba", "posterior", "posteriors", "responsibilities"]),
    ("--per-row", &["score-samples", "log-density", "per-sample"]),
    ("-n N", &["n-samples", "samples", "rows", "n-rows", "N"]),
    ("--dimension D", &["n-features", "dim", "dims", "columns-count"]),
    ("--normalize", &["normalise", "scale", "standardize", "standardise", "minmax"]),
    ("--weights COLUMN", &["sample-weight", "weight", "weight-col", "weights-column"]),
    ("--exclude COLUMNS", &["drop", "ignore", "drop-columns", "without", "complement"]),
    ("--columns COLUMNS", &["usecols", "features", "select", "features-col", "cols", "fields", "c"]),
    ("--missing skip", &["dropna", "skip-missing", "na-rm", "skipna", "na"]),
    ("--no-header", &["headerless", "noheader", "header"]),
    ("--quiet", &["silent", "no-progress"]),
];

/// The parser's error, with our option as its tip if the name is known from elsewhere.
pub(crate) fn with_our_word(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(tip) = fit_tip(typed)
    {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        return error;
    }
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && let [name, ..] = &mixtura_io::similar(typed, &subcommand_names())[..]
    {
        let tip = format!("a similar subcommand exists: '{name}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return error };
    let Some(tip) = tip(typed, &subcommand_options()) else { return error };
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

/// What to do with a file that was given without a subcommand.
fn fit_tip(typed: &str) -> Option<String> {
    let is_file = Path::new(typed).extension().is_some() || Path::new(typed).is_file();
    is_file.then(|| format!("use 'mixtura fit {typed} -k K'"))
}

/// The option to use instead, if the subcommand has it.
fn tip(typed: &str, options: &[String]) -> Option<String> {
    let has = |option: &str| options.iter().any(|has| has == option);
    if is_model_name(typed) && has("--model") {
        return Some(format!("use '--model {typed}'"));
    }
    // A stray value is not an option, whatever its name.
    if !typed.starts_with('-') && !typed.contains('=') {
        return None;
    }
    let word = typed.split('=').next().unwrap_or(typed).trim_start_matches('-').replace('_', "-");
    let is_word = |known: &str| if word.len() == 1 { known == word } else { known.eq_ignore_ascii_case(&word) };
    let (ours, _) = WORDS.iter().find(|(ours, words)| {
        let option = ours.split(' ').next().unwrap_or(ours);
        words.iter().any(|known| is_word(known)) && has(option)
    })?;
    Some(match (typed.split_once('='), ours.split_once(' ')) {
        // Repeat the value that was given.
        (Some((_, value)), Some((option, _))) if !value.is_empty() => format!("use '{option} {value}'"),
        _ => format!("use '{ours}'"),
    })
}

/// Whether a stray value is probably the name of a model file.
fn is_model_name(typed: &str) -> bool {
    !typed.starts_with('-') && Path::new(typed).extension().is_some_and(|extension| extension == "json")
}

/// The names of all subcommands.
fn subcommand_names() -> Vec<String> {
    Arguments::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// The options of the given subcommand, with their dashes.
fn subcommand_options() -> Vec<String> {
    let mut command = Arguments::command();
    command.build();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(subcommand) = words.iter().find_map(|word| command.find_subcommand(word)) else { return Vec::new() };
    let names = |argument: &clap::Arg| {
        let long = argument.get_long().map(|name| format!("--{name}"));
        long.into_iter().chain(argument.get_short().map(|name| format!("-{name}"))).collect::<Vec<_>>()
    };
    subcommand.get_arguments().flat_map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_elsewhere_are_answered_with_ours() {
        let options: Vec<String> =
            ["-k", "--restarts", "--rounds", "--tolerance", "--ridge", "--delimiter"].map(String::from).to_vec();
        for (typed, expected) in [
            ("--n-init", Some("use '--restarts R'")),
            ("--max_iter", Some("use '--rounds N'")),
            ("--n-components", Some("use '-k K'")),
            ("--tol", Some("use '--tolerance T'")),
            ("--reg-covar", Some("use '--ridge R'")),
            ("--sep", Some("use '--delimiter CHARACTER'")),
            ("G=3", Some("use '-k 3'")),
            ("--n-init=10", Some("use '--restarts 10'")),
            ("weight", None),
            ("--proba", None),
            ("--frobnicate", None),
            ("model.json", None),
        ] {
            assert_eq!(tip(typed, &options).as_deref(), expected, "{typed}");
        }
        assert_eq!(tip("m.json", &["--model".into()]).as_deref(), Some("use '--model m.json'"));
    }
}
