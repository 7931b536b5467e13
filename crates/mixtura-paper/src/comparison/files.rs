//! Writes every curve of a comparison as CSV.

use std::fmt::Write as _;

use super::{StartResult, Trace};
use crate::Quantiles;

/// The curves of a comparison as CSV, start by start. Starts and runs are counted from 1, as in figures and tables;
/// components are counted from 0, as in models; round 0 is the initial model.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    ln_volume: f64,
    likelihood: String,
    runs: String,
    differences: String,
    bounds: String,
}

impl Files {
    /// Creates files without starts; `ln_volume` is added to log-likelihoods.
    pub fn new(ln_volume: f64) -> Self {
        Self {
            ln_volume,
            likelihood: "start,round,em,sem_minimum,sem_lower_quartile,sem_median,sem_upper_quartile,sem_maximum\n".into(),
            runs: "start,algorithm,run,round,mean_log_likelihood,seconds,repairs,clippings\n".into(),
            differences:
                "start,run,round,component,weight,mean,covariance,partner,matched_weight,matched_mean,matched_covariance\n"
                    .into(),
            bounds:
                "start,run,round,component,mean_distance,mean_bound,mean_typical,weight_difference,weight_bound,weight_typical\n"
                    .into(),
        }
    }

    /// Name and text of each file.
    pub fn all(&self) -> [(&'static str, &str); 4] {
        [
            ("likelihood.csv", &self.likelihood),
            ("runs.csv", &self.runs),
            ("differences.csv", &self.differences),
            ("bounds.csv", &self.bounds),
        ]
    }

    /// Adds a start, counted from 0, with all its runs.
    pub fn add(&mut self, number: u64, start: &StartResult) {
        let number = number + 1;
        self.add_likelihood(number, start);
        self.add_run(number, "em", "", &start.em);
        for (run, trace) in start.sem.iter().enumerate() {
            self.add_run(number, "sem", &(run + 1).to_string(), trace);
        }
        self.add_differences(number, start);
        self.add_bounds(number, start);
    }

    /// The five-number summary over the SEM runs, for each round.
    fn add_likelihood(&mut self, number: u64, start: &StartResult) {
        for (round, em) in start.em.ln_likelihoods.iter().enumerate() {
            let five = Quantiles::of(start.sem.iter().map(|trace| trace.ln_likelihoods[round] + self.ln_volume));
            let Quantiles { minimum, lower_quartile, median, upper_quartile, maximum } = five;
            let em = em + self.ln_volume;
            line(
                &mut self.likelihood,
                format_args!("{number},{round},{em},{minimum},{lower_quartile},{median},{upper_quartile},{maximum}"),
            );
        }
    }

    /// Every round of a run; its number is empty for EM.
    fn add_run(&mut self, start: u64, algorithm: &str, run: &str, trace: &Trace) {
        for (round, likelihood) in trace.ln_likelihoods.iter().enumerate() {
            let before = round.checked_sub(1);
            let at = |before: usize| (trace.seconds[before], trace.repairs[before], trace.clippings[before]);
            let (seconds, repairs, clippings) = before.map_or((0.0, 0, 0), at);
            let likelihood = likelihood + self.ln_volume;
            line(
                &mut self.runs,
                format_args!("{start},{algorithm},{run},{round},{likelihood},{seconds},{repairs},{clippings}"),
            );
        }
    }

    /// The differences between SEM's and EM's components after each round.
    fn add_differences(&mut self, number: u64, start: &StartResult) {
        for (run, rounds) in (1..).zip(&start.differences) {
            for (round, all) in rounds.iter().enumerate() {
                for (k, (own, matched)) in all.unmatched.iter().zip(&all.matched).enumerate() {
                    let partner = all.partners[k];
                    line(
                        &mut self.differences,
                        format_args!(
                            "{number},{run},{round},{k},{},{},{},{partner},{},{},{}",
                            own.weight, own.mean, own.covariance, matched.weight, matched.mean, matched.covariance
                        ),
                    );
                }
            }
        }
    }

    /// Single updates compared with the bounds; cells are empty where there is no bound.
    fn add_bounds(&mut self, number: u64, start: &StartResult) {
        let some = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for (run, rounds) in (1..).zip(&start.bounds) {
            for at in rounds {
                for (k, difference) in at.difference.iter().enumerate() {
                    line(
                        &mut self.bounds,
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
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("invariant: writing to a string cannot fail");
}
