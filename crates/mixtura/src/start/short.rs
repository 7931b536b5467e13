//! Tries several short runs of EM on a sample of the rows, and keeps the best.

use super::{clusters, of_labelled};
use crate::family::{Family, Fate, Floor, Moments};
use crate::pass::{Assignment, Engine, Pass, Precision, Source, Threads};
use crate::random::Address;
use crate::{Error, Mixture};

/// Runs of EM that are compared.
const RUNS: u64 = 5;
/// Rounds of each.
const ROUNDS: usize = 10;
/// Rows in their sample, in units of a k-means sample.
const SAMPLES: usize = 4;

/// The best of several short runs of EM (Biernacki, Celeux and Govaert 2003), each from k-means++
/// seeds of its own, all on one sample of the rows; none if the sample has too few distinct rows.
///
/// Cost: 50 rounds of EM on at least 40,000 rows.
pub(super) fn short_em<F: Family>(
    source: &(impl Source + ?Sized),
    n_components: usize,
    address: Address,
    floor: &Floor,
) -> Result<Option<Mixture<F>>, Error> {
    let n_rows = SAMPLES * clusters::sample_size(n_components, floor.scale.len());
    let sample = source.sample(n_rows, &mut address.item(0))?;
    let engine = Threads::<F>::new(&sample)?.with_stop(|| source.is_stopped());
    if engine.distinct(n_components)?.len() < n_components {
        return Ok(None);
    }
    let mut best: Option<(Mixture<F>, f64)> = None;
    for run in 0..RUNS {
        let labelled = clusters::clusters(&engine, n_components, Address { round: run, ..address }, floor)?;
        let found = em(&engine, of_labelled(&labelled, n_components, floor, &engine)?, floor)?;
        if best.as_ref().is_none_or(|(_, likelihood)| found.1 > *likelihood) {
            best = Some(found);
        }
    }
    Ok(best.map(|(model, _)| model))
}

/// A few rounds of EM; the last model, and the mean log-likelihood of the one before it. A component
/// without rows stays as it is.
fn em<F: Family>(engine: &Threads<'_, F>, mut model: Mixture<F>, floor: &Floor) -> Result<(Mixture<F>, f64), Error> {
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let centre = engine.summary().centre.clone();
        let pass = Pass { origin: None, model, centre, assignment: Assignment::Soft, precision: Precision::Double };
        let tally = engine.run(&pass)?;
        model = pass.model;
        likelihood = tally.mean_ln_likelihood();
        let share = |k: usize| tally.moments.weight(k) / tally.weight;
        if (0..model.n_components()).any(|k| share(k) <= 0.0) {
            break;
        }
        let fates = vec![Fate::Estimate; model.n_components()];
        model.components = model.components.maximize(&tally.moments, &fates, floor).0;
        model.weights = (0..fates.len()).map(share).collect();
    }
    Ok((model, likelihood))
}
