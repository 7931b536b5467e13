//! Clusters a sample of the rows with k-means++ and a few rounds of k-means.

use rayon::prelude::*;

use crate::family::Floor;
use crate::kernels::{LANES, Lanes};
use crate::random::{Address, Generator, below, uniform};
use crate::sweep::{Engine, Source};
use crate::{Error, Rows};

/// Rounds of k-means after seeding; a start does not need to converge.
const ROUNDS: usize = 10;
/// Minimum sample size.
const LEAST_SAMPLE: usize = 10_000;
/// Sample rows per parameter of a covariance row.
const ROWS_PER_PARAMETER: usize = 5;
/// Points labelled between two checks for a stop.
const POINTS_AT_A_TIME: usize = 256;
/// Seeding compares several candidates for each centre as long as this costs fewer operations than this.
const CANDIDATE_WORK: usize = 400_000_000;

/// Sample size for a start of K components in D dimensions.
pub(crate) fn sample_size(n_components: usize, n_columns: usize) -> usize {
    LEAST_SAMPLE.max(20 * n_components).max(ROWS_PER_PARAMETER * n_components * (n_columns + 1))
}

/// A sample of the rows, labelled by cluster; no cluster is empty.
///
/// Seeding is k-means++ (Arthur and Vassilvitskii 2007) with the best of 2 + ⌊ln K⌋ candidates for each centre, on
/// columns divided by their robust scale. Cost: a small multiple of n K D for a sample of n rows.
pub(super) fn clusters(
    source: &Source<impl Engine>,
    n_components: usize,
    address: Address,
    floor: &Floor,
) -> Result<Rows<'static>, Error> {
    let n_columns = floor.scale.len();
    let mut sample = source.sample(sample_size(n_components, n_columns), &mut address.item(0))?;
    let mut points = Points::new(&sample, &source.summary().centre, &floor.scale);
    let mut generator = address.item(1);
    let mut centres = points.seed(n_components, &mut generator, source)?;
    if centres.len() < n_components * n_columns {
        // The sample has too few distinct rows: use distinct rows of the whole data set instead.
        sample = source.pick(&source.distinct(sample_size(n_components, n_columns))?)?;
        points = Points::new(&sample, &source.summary().centre, &floor.scale);
        centres = points.seed(n_components, &mut generator, source)?;
    }
    sample.with_labels(points.clusters(centres, source)?)
}

/// Splits rows in two: a label, 0 or 1, for each row; `None` if all rows are equal.
pub(crate) fn halves(
    rows: &Rows<'_>,
    mut generator: Generator,
    floor: &Floor,
    source: &Source<impl Engine>,
) -> Result<Option<Vec<u32>>, Error> {
    let points = Points::new(rows, &source.summary().centre, &floor.scale);
    let centres = points.seed(2, &mut generator, source)?;
    if centres.len() < 2 * floor.scale.len() {
        return Ok(None);
    }
    Ok(Some(points.clusters(centres, source)?))
}

/// Scaled rows and their weights.
struct Points {
    n_columns: usize,
    values: Vec<f64>,
    /// The same in blocks of rows, column by column within each block; the last one is padded with zeros.
    blocks: Vec<Lanes>,
    weights: Vec<f64>,
}

impl Points {
    fn new(rows: &Rows<'_>, centre: &[f64], scale: &[f64]) -> Self {
        let n_columns = rows.n_columns();
        let mut values = vec![0.0; rows.n_rows() * n_columns];
        for (n, point) in values.chunks_exact_mut(n_columns).enumerate() {
            rows.row_into(n, point);
            for (x, (centre, scale)) in point.iter_mut().zip(centre.iter().zip(scale)) {
                *x = (*x - centre) / scale;
            }
        }
        let mut blocks = vec![Lanes::all(0.0); rows.n_rows().div_ceil(LANES) * n_columns];
        for (block, points) in blocks.chunks_exact_mut(n_columns).zip(values.chunks(LANES * n_columns)) {
            for (lane, point) in points.chunks_exact(n_columns).enumerate() {
                block.iter_mut().zip(point).for_each(|(column, x)| column[lane] = *x);
            }
        }
        Self { n_columns, values, blocks, weights: (0..rows.n_rows()).map(|n| rows.weight(n)).collect() }
    }

    fn n(&self) -> usize {
        self.weights.len()
    }

    fn point(&self, n: usize) -> &[f64] {
        &self.values[n * self.n_columns..][..self.n_columns]
    }

    /// Centres by k-means++; fewer than requested if there are not enough distinct points.
    fn seed(
        &self,
        n_centres: usize,
        generator: &mut Generator,
        source: &Source<impl Engine>,
    ) -> Result<Vec<f64>, Error> {
        let n_candidates = 2 + (n_centres as f64).ln() as usize;
        let work = self.n() * self.n_columns * n_centres * n_candidates;
        let n_candidates = if work > CANDIDATE_WORK { 1 } else { n_candidates };
        let mut centres = self.point(self.choose(&self.weights, generator).unwrap_or(0)).to_vec();
        let mut distances = self.distances_to(&centres);
        while centres.len() < n_centres * self.n_columns {
            source.check_stopped()?;
            let mass: Vec<f64> =
                distances.iter().zip(&self.weights).map(|(distance, weight)| distance * weight).collect();
            let candidates: Vec<usize> = (0..n_candidates).filter_map(|_| self.choose(&mass, generator)).collect();
            let reduced: Vec<(usize, Vec<f64>)> = candidates
                .into_par_iter()
                .map(|candidate| {
                    let to_candidate = self.distances_to(self.point(candidate));
                    (candidate, distances.iter().zip(to_candidate).map(|(a, b)| a.min(b)).collect())
                })
                .collect();
            let potential =
                |distances: &[f64]| -> f64 { distances.iter().zip(&self.weights).map(|(d, w)| d * w).sum() };
            let best = reduced.into_iter().min_by(|a, b| potential(&a.1).total_cmp(&potential(&b.1)));
            let Some((chosen, reduced)) = best else { break };
            centres.extend(self.point(chosen));
            distances = reduced;
        }
        Ok(centres)
    }

    /// A point drawn in proportion to `mass`; `None` if all masses are 0.
    fn choose(&self, mass: &[f64], generator: &mut Generator) -> Option<usize> {
        let total: f64 = mass.iter().sum();
        if !total.is_finite() {
            return Some(below(generator, self.n()));
        }
        if total == 0.0 {
            return None;
        }
        let mut rest = uniform(generator) * total;
        let found = mass.iter().position(|&mass| {
            rest -= mass;
            rest < 0.0
        });
        found.or_else(|| mass.iter().rposition(|&mass| mass > 0.0))
    }

    /// The labels of clusters after a few rounds of k-means from these centres; no cluster is empty.
    fn clusters(&self, mut centres: Vec<f64>, source: &Source<impl Engine>) -> Result<Vec<u32>, Error> {
        let mut labels = self.nearest(&centres, source)?;
        for _ in 0..ROUNDS {
            self.move_centres(&labels, &mut centres);
            let next = self.nearest(&centres, source)?;
            if next == labels {
                break;
            }
            labels = next;
        }
        self.fill_empty(&mut labels, centres.len() / self.n_columns, &centres, source)?;
        Ok(labels)
    }

    fn distances_to(&self, centre: &[f64]) -> Vec<f64> {
        let blocks = self.blocks.chunks_exact(self.n_columns);
        let mut distances: Vec<f64> = blocks.flat_map(|block| squared_distances(block, centre).0).collect();
        distances.truncate(self.n());
        distances
    }

    fn nearest(&self, centres: &[f64], source: &Source<impl Engine>) -> Result<Vec<u32>, Error> {
        let label = |block: &[Lanes], labels: &mut [u32]| {
            let (mut best, mut found) = ([f64::INFINITY; LANES], [0; LANES]);
            for (k, centre) in (0..).zip(centres.chunks_exact(self.n_columns)) {
                let distances = squared_distances(block, centre);
                for lane in 0..LANES {
                    let is_nearer = distances[lane] < best[lane];
                    best[lane] = if is_nearer { distances[lane] } else { best[lane] };
                    found[lane] = if is_nearer { k } else { found[lane] };
                }
            }
            labels.copy_from_slice(&found[..labels.len()]);
        };
        let mut labels = vec![0; self.n()];
        let blocks = self.blocks.par_chunks(POINTS_AT_A_TIME / LANES * self.n_columns);
        labels.par_chunks_mut(POINTS_AT_A_TIME).zip(blocks).try_for_each(|(labels, blocks)| {
            source.check_stopped()?;
            let blocks = blocks.chunks_exact(self.n_columns);
            labels.chunks_mut(LANES).zip(blocks).for_each(|(labels, block)| label(block, labels));
            Ok(())
        })?;
        Ok(labels)
    }

    /// Moves every centre to the mean of its points; a centre without points stays in place.
    fn move_centres(&self, labels: &[u32], centres: &mut [f64]) {
        let mut sums = vec![0.0; centres.len()];
        let mut weights = vec![0.0; centres.len() / self.n_columns];
        for (n, &label) in labels.iter().enumerate() {
            let label = label as usize;
            weights[label] += self.weights[n];
            for (sum, x) in sums[label * self.n_columns..].iter_mut().zip(self.point(n)) {
                *sum += self.weights[n] * x;
            }
        }
        for (at, (centre, sum)) in centres.iter_mut().zip(sums).enumerate() {
            let weight = weights[at / self.n_columns];
            if weight > 0.0 {
                *centre = sum / weight;
            }
        }
    }

    /// Gives each empty cluster the point that is farthest from its centre, taken from clusters with several points.
    fn fill_empty(
        &self,
        labels: &mut [u32],
        n_clusters: usize,
        centres: &[f64],
        source: &Source<impl Engine>,
    ) -> Result<(), Error> {
        let mut counts = vec![0; n_clusters];
        labels.iter().for_each(|&label| counts[label as usize] += 1);
        for empty in 0..n_clusters {
            if counts[empty] > 0 {
                continue;
            }
            source.check_stopped()?;
            let distance = |n: usize| {
                let centre = &centres[labels[n] as usize * self.n_columns..][..self.n_columns];
                squared_distance(self.point(n), centre)
            };
            let movable = (0..self.n()).filter(|&n| counts[labels[n] as usize] > 1);
            if let Some(farthest) = movable.max_by(|&a, &b| distance(a).total_cmp(&distance(b))) {
                counts[labels[farthest] as usize] -= 1;
                counts[empty] += 1;
                labels[farthest] = empty as u32;
            }
        }
        Ok(())
    }
}

/// The squared distance of each row of a block to a centre, summed in the order of [`squared_distance`].
fn squared_distances(block: &[Lanes], centre: &[f64]) -> Lanes {
    let mut sums = Lanes::all(0.0);
    for (column, c) in block.iter().zip(centre) {
        for lane in 0..LANES {
            let difference = column[lane] - c;
            sums[lane] += difference * difference;
        }
    }
    sums
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn separated_groups_are_found_and_no_cluster_is_empty() {
        let values: Vec<f64> = (0..300).flat_map(|i| [f64::from(i % 3) * 100.0 + f64::from(i) * 1e-3, 1.0]).collect();
        let rows = Rows::from_slice(&values, 2).unwrap();
        let points = Points::new(&rows, &[0.0, 1.0], &[1.0, 1.0]);
        let address = Address { seed: 5, restart: 0, round: 0, purpose: Purpose::Start };
        let source = Source::of(&rows).unwrap();
        let centres = points.seed(3, &mut address.item(0), &source).unwrap();
        let labels = points.nearest(&centres, &source).unwrap();
        for (n, label) in labels.iter().enumerate() {
            assert_eq!(*label, labels[n % 3]);
        }
        let mut all_one = vec![0; 300];
        points.fill_empty(&mut all_one, 4, &[0.0; 8], &source).unwrap();
        assert_eq!((0..4).map(|k| all_one.iter().filter(|&&l| l == k).count()).collect::<Vec<_>>(), [297, 1, 1, 1]);
    }

    #[test]
    fn distances_in_blocks_are_those_of_single_points() {
        let values: Vec<f64> = (0..37 * 3).map(|i| f64::from(i * 37 % 101).sqrt()).collect();
        let rows = Rows::from_slice(&values, 3).unwrap();
        let points = Points::new(&rows, &[0.1, 5.0, -2.0], &[1.0, 3.0, 0.7]);
        let source = Source::of(&rows).unwrap();
        let centres = [points.point(3), points.point(20), points.point(36)].concat();
        let alone =
            |centre: &[f64]| -> Vec<f64> { (0..37).map(|n| squared_distance(points.point(n), centre)).collect() };
        let each: Vec<Vec<f64>> = centres.chunks_exact(3).map(alone).collect();
        for (centre, alone) in centres.chunks_exact(3).zip(&each) {
            assert_eq!(points.distances_to(centre), *alone);
        }
        let nearest = (0..37).map(|n| (0..3).min_by(|&a, &b| each[a][n].total_cmp(&each[b][n])).unwrap() as u32);
        assert_eq!(points.nearest(&centres, &source).unwrap(), nearest.collect::<Vec<_>>());
    }

    #[test]
    fn repeated_points_seed_no_more_centres_than_there_are() {
        let rows = Rows::from_slice(&[1.0, 1.0, 2.0, 2.0], 1).unwrap();
        let points = Points::new(&rows, &[0.0], &[1.0]);
        let address = Address { seed: 5, restart: 0, round: 0, purpose: Purpose::Start };
        let source = Source::of(&rows).unwrap();
        assert_eq!(points.seed(3, &mut address.item(0), &source).unwrap().len(), 2);
    }
}
