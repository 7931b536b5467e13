//! Claims about operations and running time.

use super::{Claim, Verdict, counted, untested};
use crate::Quantiles;
use crate::evaluation::Evaluation;

/// The paper's speedup "in all our experiments".
const SPEEDUP: (f64, f64) = (2.0, 3.0);

pub(super) fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    vec![operations(evaluation), speedup(evaluation)]
}

/// 2KND² against KND² multiplications.
fn operations(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("A round of SEM takes half the multiplications of EM", "KND² instead of 2KND²");
    if evaluation.speedups.is_empty() {
        return untested(claim, "speedup shapes", paper);
    }
    let ratios = Quantiles::of(evaluation.speedups.iter().map(super::super::Speedup::operations));
    let n = evaluation.speedups.iter().filter(|speedup| speedup.operations() >= 1.8).count();
    Claim {
        claim: claim.into(),
        about: counted(evaluation.speedups.len(), "shape"),
        paper: paper.into(),
        here: format!(
            "EM's kernels do {:.2} to {:.2} times the operations of SEM's, median {:.2}",
            ratios.minimum, ratios.maximum, ratios.median
        ),
        verdict: Verdict::of_share(n, evaluation.speedups.len()),
        because:
            "The count leaves out SEM's own statistics (1/K of EM's) and posteriors, which both need: half is the \
                  limit for many components and columns."
                .into(),
    }
}

/// "A speedup of a factor 2 up to a factor 3 in all our experiments."
fn speedup(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Rounds of SEM are 2 to 3 times as fast", "2 to 3, in all experiments");
    let sets = evaluation.sets.iter().map(|set| set.summary.time.speedup);
    let specimens = evaluation.specimens.iter().map(|specimen| specimen.timing.speedup.median);
    let shapes = evaluation.speedups.iter().map(|speedup| speedup.timing.speedup.median);
    let all: Vec<f64> = sets.chain(specimens).chain(shapes).collect();
    if all.is_empty() {
        return untested(claim, "all experiments", paper);
    }
    let five = Quantiles::of(all.iter().copied());
    let below = all.iter().filter(|&&speedup| speedup < SPEEDUP.0).count();
    let above = all.iter().filter(|&&speedup| speedup > SPEEDUP.1).count();
    Claim {
        claim: claim.into(),
        about: counted(all.len(), "experiment"),
        paper: paper.into(),
        here: format!(
            "{:.1} to {:.1}, median {:.1}: {below} below 2, {} from 2 to 3, {above} above 3",
            five.minimum,
            five.maximum,
            five.median,
            all.len() - below - above
        ),
        verdict: Verdict::of_share(all.len() - below - above, all.len()),
        because: "Below 2 with few columns or components, where posteriors, draws and gathering rows weigh as much as \
                  densities; above 3 where SEM draws in single precision. The figure and the table of operations show both."
            .into(),
    }
}
