//! Writes every curve of a comparison as CSV.

use std::fmt::Write as _;

use super::{Comparison, Trace};
use crate::Quantiles;

/// The curves of a comparison, each a file's name and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Files(pub Vec<(&'static str, String)>);

/// Starts, runs and components are counted from 0, rounds too: round 0 is the start.
impl Files {
    /// All curves.
    pub fn of(comparison: &Comparison) -> Self {
        Self(vec![
            ("likelihood.csv", likelihood(comparison)),
            ("runs.csv", runs(comparison)),
            ("differences.csv", differences(comparison)),
            ("bounds.csv", bounds(comparison)),
        ])
    }
}

/// Five numbers over the runs of SEM for each start and round.
fn likelihood(comparison: &Comparison) -> String {
    let mut text =
        String::from("start,round,em,sem_minimum,sem_lower_quartile,sem_median,sem_upper_quartile,sem_maximum\n");
    for (number, start) in comparison.starts.iter().enumerate() {
        for (round, em) in start.em.ln_likelihoods.iter().enumerate() {
            let five = Quantiles::of(start.sem.iter().map(|trace| trace.ln_likelihoods[round] + comparison.ln_volume));
            let Quantiles { minimum, lower_quartile, median, upper_quartile, maximum } = five;
            let em = em + comparison.ln_volume;
            line(
                &mut text,
                format_args!("{number},{round},{em},{minimum},{lower_quartile},{median},{upper_quartile},{maximum}"),
            );
        }
    }
    text
}

/// Every round of every run; run is empty for EM.
fn runs(comparison: &Comparison) -> String {
    let mut text = String::from("start,algorithm,run,round,mean_log_likelihood,seconds,repairs\n");
    let mut add = |start: usize, algorithm: &str, run: &str, trace: &Trace| {
        for (round, likelihood) in trace.ln_likelihoods.iter().enumerate() {
            let before = round.checked_sub(1);
            let (seconds, repairs) = before.map_or((0.0, 0), |before| (trace.seconds[before], trace.repairs[before]));
            let likelihood = likelihood + comparison.ln_volume;
            line(&mut text, format_args!("{start},{algorithm},{run},{round},{likelihood},{seconds},{repairs}"));
        }
    };
    for (number, start) in comparison.starts.iter().enumerate() {
        add(number, "em", "", &start.em);
        start.sem.iter().enumerate().for_each(|(run, trace)| add(number, "sem", &run.to_string(), trace));
    }
    text
}

/// How far SEM's components are from EM's after each round.
fn differences(comparison: &Comparison) -> String {
    let mut text = String::from(
        "start,run,round,component,weight,mean,covariance,partner,matched_weight,matched_mean,matched_covariance\n",
    );
    for (number, start) in comparison.starts.iter().enumerate() {
        for (run, rounds) in start.differences.iter().enumerate() {
            for (round, all) in rounds.iter().enumerate() {
                for (k, (own, matched)) in all.unmatched.iter().zip(&all.matched).enumerate() {
                    let partner = all.partners[k];
                    line(
                        &mut text,
                        format_args!(
                            "{number},{run},{round},{k},{},{},{},{partner},{},{},{}",
                            own.weight, own.mean, own.covariance, matched.weight, matched.mean, matched.covariance
                        ),
                    );
                }
            }
        }
    }
    text
}

/// Single updates beside the theorems; a bound is empty where there is none.
fn bounds(comparison: &Comparison) -> String {
    let mut text = String::from(
        "start,run,round,component,mean_distance,mean_bound,mean_typical,weight_difference,weight_bound,weight_typical\n",
    );
    let some = |x: f64| if x.is_finite() { x.to_string() } else { String::new() };
    for (number, start) in comparison.starts.iter().enumerate() {
        for (run, rounds) in start.bounds.iter().enumerate() {
            for at in rounds {
                for (k, difference) in at.difference.iter().enumerate() {
                    line(
                        &mut text,
                        format_args!(
                            "{number},{run},{},{k},{},{},{},{},{},{}",
                            at.round,
                            difference.mean,
                            some(at.mean_bound[k]),
                            at.mean_typical[k],
                            difference.weight,
                            some(at.weight_bound[k]),
                            at.weight_typical[k]
                        ),
                    );
                }
            }
        }
    }
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("invariant: text can be written to");
}
