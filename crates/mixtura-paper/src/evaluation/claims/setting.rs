//! Claims about the data and about degenerate components.

use super::{Claim, Verdict, counted, untested};
use crate::Quantiles;
use crate::comparison::Repairs;
use crate::evaluation::{Evaluation, Origin, Specimen};
use crate::quantiles::short;

/// Repairs occur "hardly ever" if they occur in fewer rounds than this.
const HARDLY_EVER: f64 = 0.01;
/// The paper's spread of the artificial data, and how far "approximately" goes.
const SPREAD: (f64, f64) = (40.0, 0.25);

pub(super) fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    vec![repairs(evaluation), overlap(evaluation), spread(evaluation)]
}

fn repairs(evaluation: &Evaluation) -> Claim {
    let (claim, about, paper) = ("Components hardly ever degenerate", "all data sets", "hardly ever");
    if evaluation.sets.is_empty() {
        return untested(claim, about, paper);
    }
    let all = evaluation.sets.iter().fold(Repairs::default(), |all, set| all.and(set.summary.repairs));
    let (repaired, rounds) = (all.em_repaired + all.sem_repaired, (all.em_rounds + all.sem_rounds).max(1));
    let share = repaired as f64 / rounds as f64;
    let clipped = evaluation.sets.iter().filter_map(|set| {
        let Repairs { em_clipped, sem_clipped, em_rounds, sem_rounds, .. } = set.summary.repairs;
        let (n, all) = (em_clipped + sem_clipped, em_rounds + sem_rounds);
        (n > 0).then(|| (format!("{n} of {all} rounds on {}", set.set.label), n as f64 / all as f64))
    });
    let (places, shares): (Vec<String>, Vec<f64>) = clipped.unzip();
    let floor = if places.is_empty() {
        String::new()
    } else {
        format!("Variances were raised to the floor, which the paper does not have, in {}.", places.join(" and in "))
    };
    let verdict = match shares.iter().all(|&share| share < HARDLY_EVER) {
        _ if share >= HARDLY_EVER => Verdict::Fails,
        true => Verdict::Holds,
        false => Verdict::Limited,
    };
    Claim {
        claim: claim.into(),
        about: about.into(),
        paper: paper.into(),
        here: format!("components repaired in {} of {rounds} rounds ({} %)", repaired, short(100.0 * share)),
        verdict,
        because: floor,
    }
}

fn overlap(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("The artificial mixtures mainly consist of overlapping Gaussians", "mainly");
    let specimens = &evaluation.specimens;
    if specimens.is_empty() {
        return untested(claim, "other artificial mixtures", paper);
    }
    let overlapping = |specimen: &&Specimen| specimen.separation < 1.0 + 1e-9;
    let n = specimens.iter().filter(overlapping).count();
    let error = Quantiles::of(specimens.iter().map(|specimen| specimen.bayes_error));
    Claim {
        claim: claim.into(),
        about: counted(specimens.len(), "artificial mixture"),
        paper: paper.into(),
        here: format!(
            "c-separation at most 1 in {n} of {}; even the true model assigns {:.1} % of rows wrongly (median; {:.1} to {:.1} %)",
            specimens.len(),
            100.0 * error.median,
            100.0 * error.minimum,
            100.0 * error.maximum
        ),
        verdict: Verdict::of_share(n, specimens.len()),
        because: "They were generated with this c-separation, so this describes the data here. With many columns, \
                  components overlap less at the same c-separation."
            .into(),
    }
}

fn spread(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("The artificial data spread over about 40 in each dimension", "approximately 40");
    let artificial = evaluation.sets.iter().filter(|set| matches!(set.set.origin, Origin::Artificial { .. }));
    let spreads: Vec<f64> = artificial.flat_map(|set| set.comparison.spread.iter().copied()).collect();
    if spreads.is_empty() {
        return untested(claim, "artificial sets", paper);
    }
    let five = Quantiles::of(spreads.iter().copied());
    let (target, share) = SPREAD;
    let n = spreads.iter().filter(|spread| (*spread - target).abs() <= share * target).count();
    Claim {
        claim: claim.into(),
        about: "artificial sets".into(),
        paper: paper.into(),
        here: format!("{:.0} to {:.0}, median {:.0}, over columns and sets", five.minimum, five.maximum, five.median),
        verdict: Verdict::of_share(n, spreads.len()),
        because: "They were generated with about this spread, so this describes the data here. It grows with the \
                  number of rows."
            .into(),
    }
}
