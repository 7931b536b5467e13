//! Answers words that people bring from other programs with the option that does the same here.

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::arguments::Arguments;

/// For each of our options the words for it elsewhere: scikit-learn, mclust, mlpack, Spark, pandas, cut.
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

/// The parser's error, with our word as its tip where the word is known from elsewhere.
pub(crate) fn with_our_word(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return error };
    let Some(tip) = tip(typed, &subcommand_options()) else { return error };
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

/// What to type instead, if the subcommand has it.
fn tip(typed: &str, options: &[String]) -> Option<String> {
    // A stray value is no option, whatever it is called.
    if !typed.starts_with('-') && !typed.contains('=') {
        return None;
    }
    let word = typed.split('=').next().unwrap_or(typed).trim_start_matches('-').replace('_', "-");
    let is_word = |known: &str| if word.len() == 1 { known == word } else { known.eq_ignore_ascii_case(&word) };
    let (ours, _) = WORDS.iter().find(|(ours, words)| {
        let option = ours.split(' ').next().unwrap_or(ours);
        words.iter().any(|known| is_word(known)) && options.iter().any(|has| has == option)
    })?;
    Some(match (typed.split_once('='), ours.split_once(' ')) {
        // What was given with it is given again.
        (Some((_, value)), Some((option, _))) if !value.is_empty() => format!("here it is '{option} {value}'"),
        _ => format!("here it is '{ours}'"),
    })
}

/// The options of the subcommand that was typed, with their dashes.
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
            ("--n-init", Some("here it is '--restarts R'")),
            ("--max_iter", Some("here it is '--rounds N'")),
            ("--n-components", Some("here it is '-k K'")),
            ("--tol", Some("here it is '--tolerance T'")),
            ("--reg-covar", Some("here it is '--ridge R'")),
            ("--sep", Some("here it is '--delimiter CHARACTER'")),
            ("G=3", Some("here it is '-k 3'")),
            ("--n-init=10", Some("here it is '--restarts 10'")),
            ("weight", None),
            ("--proba", None),
            ("--frobnicate", None),
        ] {
            assert_eq!(tip(typed, &options).as_deref(), expected, "{typed}");
        }
    }
}
