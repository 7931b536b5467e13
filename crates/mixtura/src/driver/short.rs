//! Runs EM briefly from several starts on a sample of the rows, and keeps the best result.

use super::rule::Lagged;
use super::run::Evaluated;
use super::{Algorithm, Options, Problem, Quiet};
use crate::family::{Family, Floor};
use crate::random::Address;
use crate::start::{of_clusters, sample_size};
use crate::sweep::{Engine, Source, Threads};
use crate::{Error, Mixture, Start};

/// Number of runs compared.
const RUNS: u64 = 5;
/// Rounds of each run.
const ROUNDS: u64 = 10;
/// Sample size, in units of a k-means sample.
const SAMPLES: usize = 4;
/// Ends a run after all its rounds, without evaluating the last model.
const ALL_ROUNDS: Lagged =
    Lagged { tolerance: 0.0, previous: f64::NAN, first_excess: 0.0, refuses_singular: false, refuses_empty: false };

/// The best of several short runs of EM (Biernacki, Celeux and Govaert 2003), each from its own k-means++ seeds, all on
/// one sample of the rows; `None` if the sample has too few distinct rows.
///
/// Cost: 50 rounds of EM on at least 40,000 rows.
pub(super) fn short_em<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    address: Address,
    floor: &Floor,
) -> Result<Option<Mixture<F>>, Error> {
    let n_rows = SAMPLES * sample_size(n_components, floor.scale.len());
    let sample = source.sample(n_rows, &mut address.item(0))?;
    let sample = Source::new(Threads::new(&sample).with_stop(|| source.is_stopped()))?;
    if sample.distinct(n_components)?.len() < n_components {
        return Ok(None);
    }
    let mut best: Option<Evaluated<F>> = None;
    for run in 0..RUNS {
        let first = of_clusters(&sample, n_components, Address { round: run, ..address }, floor)?;
        let options = Options { algorithm: Algorithm::Em, rounds: ROUNDS, seed: address.seed, ..Options::default() };
        let problem = Problem::new(&sample, n_components, Start::Model(first.clone()), options)?;
        let problem = problem.with_floor(floor.clone()).with_rule(ALL_ROUNDS);
        let mut run = problem.run_from(first, address.restart)?;
        run.go(&problem, &Quiet)?;
        sample.check_stopped()?;
        let found = problem.in_data_coordinates(&run);
        let is_better =
            |found: &Evaluated<F>| best.as_ref().is_none_or(|best| found.mean_ln_likelihood > best.mean_ln_likelihood);
        best = found.filter(is_better).or(best);
    }
    Ok(best.map(|best| best.model))
}
