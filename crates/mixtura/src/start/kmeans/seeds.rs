//! Distances of all points to the closest centre so far, from which k-means++ draws the next one.

use rayon::prelude::*;

use super::points::{CHUNK, Points};
use super::scores::{Distances, Potentials, SquaredNorms};
use crate::Error;
use crate::kernels::{LANES, Lanes};

/// Squared distances of points in double precision to the closest of the centres so far (Arthur and Vassilvitskii
/// 2007).
///
/// A distance is computed as in [`Points::distances_into`]. Memory: 8 bytes per row. Sums add up lanes, then chunks;
/// they do not depend on the number of threads.
pub struct Seeds {
    closest: Vec<f64>,
    /// For each chunk, the weighted sum of the distances.
    sums: Vec<f64>,
}

impl Seeds {
    /// Distances to the first centre; returns [`Error::Interrupted`] once `is_stopped` returns true.
    pub fn new(points: &Points<'_, f64>, centre: &[f64], is_stopped: impl Fn() -> bool + Sync) -> Result<Self, Error> {
        let mut seeds = Self { closest: vec![f64::INFINITY; points.n_rows()], sums: Vec::new() };
        seeds.add(points, centre, is_stopped)?;
        Ok(seeds)
    }

    /// The weighted sum of all distances.
    pub fn potential(&self) -> f64 {
        self.sums.iter().sum()
    }

    /// Adds a centre. Cost: D multiply-adds per row.
    pub fn add(
        &mut self,
        points: &Points<'_, f64>,
        centre: &[f64],
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<(), Error> {
        points.check_rows("closest distances", self.closest.len())?;
        points.check_centres(centre.len(), 1)?;
        let norm = centre.iter().map(|c| c * c).sum();
        let sum = |blocks: &mut Vec<Lanes>, (n, closest): (usize, &mut [f64])| {
            let mut sums = [0.0; LANES];
            if is_stopped() {
                return Err(Error::Interrupted);
            }
            let n_rows = closest.len();
            points.for_blocks(
                n,
                n_rows,
                |row| row,
                blocks,
                |lanes, block| {
                    let squares = points.set.run(SquaredNorms { block });
                    let (so_far, rounded) = (at(closest, lanes.start), [0.0; LANES]);
                    let least = points.set.run(Distances { block, centre, norm, squares, closest: so_far, rounded });
                    closest[lanes.clone()].copy_from_slice(&least[..lanes.len()]);
                    let weights = weights_at(points, n * CHUNK + lanes.start, lanes.len());
                    (0..LANES).for_each(|lane| sums[lane] += weights[lane] * least[lane]);
                },
            );
            Ok(sums.iter().sum())
        };
        let chunks = self.closest.par_chunks_mut(CHUNK).enumerate();
        self.sums = chunks.map_init(|| points.blocks(), sum).collect::<Result<_, Error>>()?;
        Ok(())
    }

    /// The potential with each of several centres in addition. Cost: D multiply-adds per row and centre.
    pub fn potentials(
        &self,
        points: &Points<'_, f64>,
        centres: &[f64],
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Vec<f64>, Error> {
        points.check_rows("closest distances", self.closest.len())?;
        let n_centres = centres.len() / points.n_columns();
        points.check_centres(centres.len(), n_centres)?;
        let sum = |blocks: &mut Vec<Lanes>, (n, closest): (usize, &[f64])| {
            let mut sums = vec![Lanes::all(0.0); n_centres];
            if is_stopped() {
                return Err(Error::Interrupted);
            }
            points.for_blocks(
                n,
                closest.len(),
                |row| row,
                blocks,
                |lanes, block| {
                    let weights = weights_at(points, n * CHUNK + lanes.start, lanes.len());
                    let closest = at(closest, lanes.start);
                    points.set.run(Potentials { block, centres, closest, weights, sums: &mut sums });
                },
            );
            Ok(sums.iter().map(|sums| sums.iter().sum()).collect::<Vec<f64>>())
        };
        let chunks = self.closest.par_chunks(CHUNK).enumerate();
        let of_chunks: Vec<Vec<f64>> = chunks.map_init(|| points.blocks(), sum).collect::<Result<_, Error>>()?;
        Ok((0..n_centres).map(|k| of_chunks.iter().map(|sums| sums[k]).sum()).collect())
    }

    /// The first row at which the cumulative weighted distance reaches `drawn`, or the last row; and the difference
    /// between `drawn` and the nearer of the sums before and after that row, which may be negative.
    pub fn find(&self, points: &Points<'_, f64>, drawn: f64) -> (usize, f64) {
        let (mut before, mut chunk) = (0.0, 0);
        while chunk + 1 < self.sums.len() && before + self.sums[chunk] < drawn {
            before += self.sums[chunk];
            chunk += 1;
        }
        let first = chunk * CHUNK;
        let end = self.closest.len().min(first + CHUNK);
        for row in first..end {
            let after = before + points.weights.map_or(1.0, |weights| weights[row]) * self.closest[row];
            if after >= drawn || row + 1 == end {
                let below = if row == 0 { f64::INFINITY } else { drawn - before };
                return (row, below.min(after - drawn));
            }
            before = after;
        }
        (0, f64::NEG_INFINITY)
    }
}

/// Sixteen numbers of a list; ∞ past its end.
fn at(numbers: &[f64], begin: usize) -> Lanes {
    match numbers[begin..].first_chunk::<LANES>() {
        Some(lanes) => Lanes(*lanes),
        None => Lanes(std::array::from_fn(|lane| numbers.get(begin + lane).copied().unwrap_or(f64::INFINITY))),
    }
}

/// The weights of up to sixteen rows; 0 past the last.
fn weights_at(points: &Points<'_, f64>, begin: usize, n_rows: usize) -> Lanes {
    let weight = |lane: usize| points.weights.map_or(1.0, |weights| weights[begin + lane]);
    Lanes(std::array::from_fn(|lane| if lane < n_rows { weight(lane) } else { 0.0 }))
}
