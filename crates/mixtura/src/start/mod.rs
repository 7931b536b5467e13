//! Creates the initial model of a fit: from rows, clusters, labels, or a given model.

mod clusters;
pub mod kmeans;
mod random;

pub(crate) use self::clusters::{halves, sample_size};
use crate::family::{Family, Fate, Floor, Moments, Outcome};
use crate::pass::{Assignment, Pass, Tally, centre_of};
use crate::random::Address;
use crate::sweep::{Engine, Source, Threads};
use crate::{Error, Mixture, Rows};

/// How a fit starts.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Start<F: Family> {
    /// k-means++ seeds and a few rounds of k-means, on scaled columns of a sample of the rows; each cluster gives a
    /// component.
    #[default]
    KmeansPlusPlus,
    /// The paper's start: means drawn uniformly from distinct rows, spherical covariances with half the distance to the
    /// nearest other mean as width, equal weights. Uses the data's own units.
    Random,
    /// The best of several short runs of EM from k-means++ seeds, on a sample of the rows.
    ShortEm,
    /// A given model.
    Model(Mixture<F>),
    /// The components of labelled rows; every label below K needs a row.
    Labels,
}

impl<F: Family> Start<F> {
    /// Whether it is the same every time.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Self::Model(_) | Self::Labels)
    }

    /// The initial model, with draws at an address. `ShortEm` without its short runs, which are separate fits.
    pub(crate) fn first_model<E: Engine>(
        &self,
        source: &Source<E>,
        n_components: usize,
        address: Address,
        floor: &Floor,
    ) -> Result<Mixture<F>, Error> {
        match self {
            Start::Model(model) => {
                source.check_width(model.components.n_columns())?;
                Ok(model.clone())
            }
            // A single component has no neighbour that determines its width: use the covariance of the data.
            Start::Random if n_components == 1 => {
                let sample = source.sample(sample_size(1, floor.scale.len()), &mut address.item(0))?;
                let labels = vec![0; sample.n_rows()];
                of_labelled(&sample.with_labels(labels)?, 1, floor, source)
            }
            Start::Random => {
                let centres = random::distinct_rows(source, n_components, address)?;
                let unit = vec![1.0; floor.scale.len()];
                Ok(equally_weighted(F::about(&centres, &unit, floor)))
            }
            Start::KmeansPlusPlus | Start::ShortEm => of_clusters(source, n_components, address, floor),
            Start::Labels => of_source_labels(source, n_components, floor),
        }
    }
}

fn equally_weighted<F: Family>(components: F) -> Mixture<F> {
    let n_components = components.n_components();
    Mixture { weights: vec![1.0 / n_components as f64; n_components], components }
}

/// The components of clusters in a sample of the rows.
pub(crate) fn of_clusters<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    address: Address,
    floor: &Floor,
) -> Result<Mixture<F>, Error> {
    let labelled = clusters::clusters(source, n_components, address, floor)?;
    of_labelled(&labelled, n_components, floor, source)
}

/// The components of labelled rows in memory, which were taken from `source`; stops when `source` does.
pub(crate) fn of_labelled<F: Family, E: Engine>(
    rows: &Rows<'_>,
    n_components: usize,
    floor: &Floor,
    source: &Source<E>,
) -> Result<Mixture<F>, Error> {
    let labelled = Source::new(Threads::new(rows).with_stop(|| source.is_stopped()))?;
    of_source_labels(&labelled, n_components, floor)
}

/// The maximum-likelihood mixture of labelled rows, and the outcome for each component. Every label below K needs a
/// row. A group with a singular covariance is reported as `Kept` or `Uncorrelated`.
pub fn maximum_of_labels<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    floor: &Floor,
) -> Result<(Mixture<F>, Vec<Outcome>), Error> {
    let (anywhere, tally) = tally_of_labels::<F, E>(source, n_components, floor)?;
    let (components, outcomes) = anywhere.maximize(&tally.moments, &vec![Fate::Estimate; n_components], floor);
    Ok((Mixture { weights: shares(&tally, n_components), components }, outcomes))
}

/// The components of a source's labelled rows: one update from statistics, where groups that are too small are blended
/// with a spherical component around their mean.
fn of_source_labels<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    floor: &Floor,
) -> Result<Mixture<F>, Error> {
    let (anywhere, tally) = tally_of_labels::<F, E>(source, n_components, floor)?;
    let (estimated, _) = anywhere.maximize(&tally.moments, &vec![Fate::Estimate; n_components], floor);
    let previous = F::about(&estimated.centres(), &floor.scale, floor);
    let least = previous.fewest_rows();
    let fates: Vec<Fate> = (0..n_components)
        .map(|k| match tally.effective_rows(k) {
            n_rows if n_rows < least => Fate::Blend { n_rows },
            _ => Fate::Estimate,
        })
        .collect();
    let (components, _) = previous.maximize(&tally.moments, &fates, floor);
    Ok(Mixture { weights: shares(&tally, n_components), components })
}

/// The statistics of labelled rows, and components to update from them.
fn tally_of_labels<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    floor: &Floor,
) -> Result<(F, Tally<F::Moments>), Error> {
    // The statistics do not depend on the model, only on their centre.
    let centre = centre_of::<F, E>(source);
    let everywhere: Vec<f64> = (0..n_components).flat_map(|_| centre.iter().copied()).collect();
    let model = equally_weighted(F::about(&everywhere, &floor.scale, floor));
    let mut pass = Pass::new(source, model, Assignment::Given)?;
    let tally = source.sweep(&pass)?;
    if let Some(label) = (0..n_components).find(|&label| tally.moments.weight(label) == 0.0) {
        return Err(Error::EmptyLabel { label });
    }
    let fates = vec![Fate::Estimate; n_components];
    let (estimated, outcomes) = pass.model.components.maximize(&tally.moments, &fates, floor);
    if !outcomes.iter().any(|outcome| matches!(outcome, Outcome::Recentred | Outcome::Rough)) {
        return Ok((pass.model.components, tally));
    }
    // If a group is narrow and far from the common centre, repeat with its own mean as centre.
    pass.model.components = estimated;
    let tally = source.sweep(&pass)?;
    Ok((pass.model.components, tally))
}

fn shares<M: Moments>(tally: &Tally<M>, n_components: usize) -> Vec<f64> {
    (0..n_components).map(|k| tally.moments.weight(k) / tally.weight).collect()
}
