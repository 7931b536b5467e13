//! Gives a fit its first model: from rows, from clusters, from labels or from the user.

mod clusters;
mod random;
mod short;

use crate::family::{Family, Fate, Floor, Moments};
use crate::pass::{Assignment, Engine, Pass, Precision, Threads};
use crate::random::{Address, Purpose};
use crate::{Error, Mixture, Rows};

/// Where a fit starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start<F: Family> {
    /// k-means++ seeds and a few rounds of k-means, on scaled columns of a sample of the rows; then
    /// the components of the clusters.
    #[default]
    KmeansPlusPlus,
    /// The paper's: means uniform from distinct rows, spherical covariances half as wide as the
    /// nearest other mean is far, equal weights. Works in the data's own units.
    Random,
    /// The best of several short runs of EM from k-means++ seeds, on a sample of the rows.
    ShortEm,
    /// A given model.
    Model(Mixture<F>),
    /// The components of labelled rows; every label below K needs a row.
    Labels,
}

/// Makes the model that restart `restart` starts from.
pub(crate) fn start<F: Family, E: Engine<F>>(
    engine: &E,
    n_components: usize,
    start: &Start<F>,
    (seed, restart): (u64, u64),
    floor: &Floor,
) -> Result<Mixture<F>, Error> {
    let address = Address { seed, restart, round: 0, purpose: Purpose::Start };
    match start {
        Start::Model(model) => {
            let (n_model, n_data) = (model.components.n_columns(), engine.summary().mean.len());
            if n_model != n_data {
                return Err(Error::Width { n_model, n_data });
            }
            Ok(model.clone())
        }
        // One component has no neighbour to take its width from: the data's covariance.
        Start::Random if n_components == 1 => {
            let sample = engine.sample(clusters::sample_size(1, floor.scale.len()), &mut address.item(0))?;
            let labels = vec![0; sample.n_rows()];
            of_labelled(&sample.with_labels(labels)?, 1, floor)
        }
        Start::Random => {
            let centres = random::distinct_rows(engine, n_components, address)?;
            let unit = vec![1.0; floor.scale.len()];
            Ok(equally_weighted(F::about(&centres, &unit, floor)))
        }
        Start::KmeansPlusPlus => {
            of_labelled(&clusters::clusters(engine, n_components, address, floor)?, n_components, floor)
        }
        Start::ShortEm => match short::short_em(engine, n_components, address, floor)? {
            Some(model) => Ok(model),
            // Mostly repeats: clusters look at distinct rows then.
            None => of_labelled(&clusters::clusters(engine, n_components, address, floor)?, n_components, floor),
        },
        Start::Labels => of_engine_labels(engine, n_components, floor),
    }
}

fn equally_weighted<F: Family>(components: F) -> Mixture<F> {
    let n_components = components.n_components();
    Mixture { weights: vec![1.0 / n_components as f64; n_components], components }
}

/// The components of labelled rows in memory.
fn of_labelled<F: Family>(rows: &Rows<'_>, n_components: usize, floor: &Floor) -> Result<Mixture<F>, Error> {
    let engine = Threads::<F>::new(rows)?;
    of_engine_labels(&engine, n_components, floor)
}

/// The components of an engine's labelled rows: one update from statistics, with too small groups
/// blended with a spherical component about their mean.
fn of_engine_labels<F: Family, E: Engine<F>>(
    engine: &E,
    n_components: usize,
    floor: &Floor,
) -> Result<Mixture<F>, Error> {
    // The statistics of labelled rows do not depend on the model, only on what they are taken about.
    let centre = engine.summary().centre.clone();
    let everywhere: Vec<f64> = (0..n_components).flat_map(|_| centre.iter().copied()).collect();
    let model = equally_weighted(F::about(&everywhere, &floor.scale, floor));
    let tally = engine.run(&Pass {
        model: model.clone(),
        centre,
        assignment: Assignment::Given,
        precision: Precision::Double,
    })?;
    for label in 0..n_components {
        if tally.moments.weight(label) == 0.0 {
            return Err(Error::EmptyLabel { label });
        }
    }
    let fates = vec![Fate::Estimate; n_components];
    let (estimated, _) = model.components.maximize(&tally.moments, &fates, floor);
    let previous = F::about(&estimated.centres(), &floor.scale, floor);
    let least = previous.least_rows();
    let fates: Vec<Fate> = (0..n_components)
        .map(|k| match tally.effective_rows(k) {
            n_rows if n_rows < least => Fate::Blend { n_rows },
            _ => Fate::Estimate,
        })
        .collect();
    let (components, _) = previous.maximize(&tally.moments, &fates, floor);
    let weights = (0..n_components).map(|k| tally.moments.weight(k) / tally.weight).collect();
    Ok(Mixture { weights, components })
}
