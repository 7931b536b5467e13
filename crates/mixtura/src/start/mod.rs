//! Gives a fit its first model: from rows, from clusters, from labels or from the user.

mod clusters;
pub mod kmeans;
mod random;
mod short;

use crate::family::{Family, Fate, Floor, Moments, Outcome};
use crate::pass::{Assignment, Engine, Pass, Precision, Source, Tally, Threads};
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

impl<F: Family> Start<F> {
    /// The model that restart `restart` of a fit with this seed begins with.
    ///
    /// ```
    /// use mixtura::family::Floor;
    /// use mixtura::pass::{Source, Threads};
    /// use mixtura::{FullGaussian, Rows, Start};
    ///
    /// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let engine = Threads::<FullGaussian>::new(&rows)?;
    /// let floor = Floor::new(engine.summary(), 1e-9, 0.0);
    /// let model = Start::KmeansPlusPlus.first_model(&engine, 2, (0, 0), &floor)?;
    /// assert_eq!(model.weights, [0.5, 0.5]);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn first_model<E: Engine<F>>(
        &self,
        engine: &E,
        n_components: usize,
        (seed, restart): (u64, u64),
        floor: &Floor,
    ) -> Result<Mixture<F>, Error> {
        let address = Address { seed, restart, round: 0, purpose: Purpose::Start };
        match self {
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
                of_labelled(&sample.with_labels(labels)?, 1, floor, engine)
            }
            Start::Random => {
                let centres = random::distinct_rows(engine, n_components, address)?;
                let unit = vec![1.0; floor.scale.len()];
                Ok(equally_weighted(F::about(&centres, &unit, floor)))
            }
            Start::KmeansPlusPlus => of_clusters(engine, n_components, address, floor),
            Start::ShortEm => match short::short_em(engine, n_components, address, floor)? {
                Some(model) => Ok(model),
                // Mostly repeats: clusters look at distinct rows then.
                None => of_clusters(engine, n_components, address, floor),
            },
            Start::Labels => of_engine_labels(engine, n_components, floor),
        }
    }
}

fn equally_weighted<F: Family>(components: F) -> Mixture<F> {
    let n_components = components.n_components();
    Mixture { weights: vec![1.0 / n_components as f64; n_components], components }
}

/// The components of clusters in a sample of the rows.
fn of_clusters<F: Family>(
    source: &(impl Source + ?Sized),
    n_components: usize,
    address: Address,
    floor: &Floor,
) -> Result<Mixture<F>, Error> {
    let labelled = clusters::clusters(source, n_components, address, floor)?;
    of_labelled(&labelled, n_components, floor, source)
}

/// The components of labelled rows in memory, which were taken from `source` and are given up with it.
fn of_labelled<F: Family>(
    rows: &Rows<'_>,
    n_components: usize,
    floor: &Floor,
    source: &(impl Source + ?Sized),
) -> Result<Mixture<F>, Error> {
    let engine = Threads::<F>::new(rows)?.with_stop(|| source.is_stopped());
    of_engine_labels(&engine, n_components, floor)
}

/// The mixture that maximises the likelihood of labelled rows, and what became of each component; every label
/// below K needs a row. A group whose covariance is singular is reported as `Kept` or `Uncorrelated`.
pub fn maximum_of_labels<F: Family, E: Engine<F>>(
    engine: &E,
    n_components: usize,
    floor: &Floor,
) -> Result<(Mixture<F>, Vec<Outcome>), Error> {
    let (anywhere, tally) = tally_of_labels(engine, n_components, floor)?;
    let (components, outcomes) = anywhere.maximize(&tally.moments, &vec![Fate::Estimate; n_components], floor);
    Ok((Mixture { weights: shares(&tally, n_components), components }, outcomes))
}

/// The components of an engine's labelled rows: one update from statistics, with too small groups
/// blended with a spherical component about their mean.
fn of_engine_labels<F: Family, E: Engine<F>>(
    engine: &E,
    n_components: usize,
    floor: &Floor,
) -> Result<Mixture<F>, Error> {
    let (anywhere, tally) = tally_of_labels(engine, n_components, floor)?;
    let (estimated, _) = anywhere.maximize(&tally.moments, &vec![Fate::Estimate; n_components], floor);
    let previous = F::about(&estimated.centres(), &floor.scale, floor);
    let least = previous.least_rows();
    let fates: Vec<Fate> = (0..n_components)
        .map(|k| match tally.effective_rows(k) {
            n_rows if n_rows < least => Fate::Blend { n_rows },
            _ => Fate::Estimate,
        })
        .collect();
    let (components, _) = previous.maximize(&tally.moments, &fates, floor);
    Ok(Mixture { weights: shares(&tally, n_components), components })
}

/// The statistics of labelled rows, and some components to estimate others from.
fn tally_of_labels<F: Family, E: Engine<F>>(
    engine: &E,
    n_components: usize,
    floor: &Floor,
) -> Result<(F, Tally<F::Moments>), Error> {
    // The statistics do not depend on the model, only on what they are taken about.
    let centre = engine.summary().centre.clone();
    let everywhere: Vec<f64> = (0..n_components).flat_map(|_| centre.iter().copied()).collect();
    let model = equally_weighted(F::about(&everywhere, &floor.scale, floor));
    let mut pass = Pass { origin: None, model, centre, assignment: Assignment::Given, precision: Precision::Double };
    let tally = engine.run(&pass)?;
    if let Some(label) = (0..n_components).find(|&label| tally.moments.weight(label) == 0.0) {
        return Err(Error::EmptyLabel { label });
    }
    let fates = vec![Fate::Estimate; n_components];
    let (estimated, outcomes) = pass.model.components.maximize(&tally.moments, &fates, floor);
    if !outcomes.iter().any(|outcome| matches!(outcome, Outcome::Recentred | Outcome::Rough)) {
        return Ok((pass.model.components, tally));
    }
    // A narrow group far from the common centre: once more, about its own mean.
    pass.model.components = estimated;
    let tally = engine.run(&pass)?;
    Ok((pass.model.components, tally))
}

fn shares<M: Moments>(tally: &Tally<M>, n_components: usize) -> Vec<f64> {
    (0..n_components).map(|k| tally.moments.weight(k) / tally.weight).collect()
}
