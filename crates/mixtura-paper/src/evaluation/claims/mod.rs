//! One conclusion for each claim of the paper's evaluation.

mod bounds;
mod differences;
mod likelihood;
mod setting;
mod speed;

use serde::Serialize;

use super::{Evaluated, Evaluation};

/// A claim of the paper, what was found here, and the conclusion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// The claim.
    pub claim: String,
    /// The data set it is about, or what else.
    pub about: String,
    /// The paper's value or words.
    pub paper: String,
    /// What was found here, by the same measure.
    pub here: String,
    /// The conclusion.
    pub verdict: Verdict,
    /// The limit, or why it does not hold, if there is something to say.
    pub because: String,
}

/// Why most claims are not tested in a run of some of the experiments.
const NOT_RUN: &str = "its data was not part of this run";

impl Claim {
    /// Whether its data was not part of the run, so that there is nothing to say about it.
    pub fn was_not_run(&self) -> bool {
        self.because == NOT_RUN
    }
}

/// The conclusion about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds by its own measure.
    Holds,
    /// It holds with a limit.
    Limited,
    /// It does not hold here.
    Fails,
    /// What it is about was not run.
    Untested,
}

impl Verdict {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Limited => "holds with a limit",
            Self::Fails => "does not hold here",
            Self::Untested => "not tested",
        }
    }

    /// Of something that is true of `n` out of `all`: it holds for all, with a limit for more than half of them.
    fn of_share(n: usize, all: usize) -> Self {
        match n {
            _ if all == 0 => Self::Untested,
            n if n == all => Self::Holds,
            n if 2 * n > all => Self::Limited,
            _ => Self::Fails,
        }
    }
}

/// All claims of Section 3 of the paper, and of the theorems and operation counts that it tests.
pub fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    let mut claims = setting::claims(evaluation);
    claims.extend(likelihood::claims(evaluation));
    claims.extend(differences::claims(evaluation));
    claims.extend(bounds::claims(evaluation));
    claims.extend(speed::claims(evaluation));
    claims
}

/// What is said of a claim whose data was not run.
fn untested(claim: &str, about: &str, paper: &str) -> Claim {
    Claim {
        claim: claim.into(),
        about: about.into(),
        paper: paper.into(),
        here: "–".into(),
        verdict: Verdict::Untested,
        because: NOT_RUN.into(),
    }
}

/// The artificial sets of some size.
fn artificial(evaluation: &Evaluation, n_rows: usize) -> impl Iterator<Item = &Evaluated> {
    evaluation.sets.iter().filter(move |set| set.set.n_artificial() == Some(n_rows))
}

/// Two numbers, or one if they are the same.
fn range(low: f64, high: f64) -> String {
    if low == high { format!("{low:.0}") } else { format!("{low:.0} to {high:.0}") }
}

/// A whole number with a noun.
fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_about_all_holds_only_for_all() {
        let verdict = |n| Verdict::of_share(n, 30);
        assert_eq!((verdict(30), verdict(29), verdict(16)), (Verdict::Holds, Verdict::Limited, Verdict::Limited));
        assert_eq!((verdict(15), Verdict::of_share(0, 0)), (Verdict::Fails, Verdict::Untested));
    }

    #[test]
    fn without_results_every_claim_is_listed_as_not_tested() {
        let claims = claims(&Evaluation::default());
        assert!(claims.len() >= 20, "{}", claims.len());
        for claim in claims {
            assert_eq!(claim.verdict, Verdict::Untested, "{}", claim.claim);
        }
    }
}
