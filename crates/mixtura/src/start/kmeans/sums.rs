//! Sums the points of each cluster, either in row order like scikit-learn, or with compensation so that order does not
//! matter.

use rayon::prelude::*;

use super::points::{Points, Real};
use crate::Error;

impl<T: Real> Points<'_, T> {
    /// The weighted sum of each cluster's points, and its weight, in the precision of the data.
    ///
    /// Every sum adds the rows in order, like scikit-learn on one thread; threads therefore divide the clusters, not
    /// the rows, among themselves. Cost: D multiply-adds per row.
    pub fn sums_into(&self, labels: &[u32], sums: &mut [T], weights: &mut [T]) -> Result<(), Error> {
        let (n_columns, n_clusters) = (self.n_columns(), weights.len());
        self.check_rows("labels", labels.len())?;
        self.check_centres(sums.len(), n_clusters)?;
        sums.fill(T::default());
        weights.fill(T::default());
        let n_shared = n_clusters.div_ceil(rayon::current_num_threads()).max(1);
        let shares = sums.par_chunks_mut(n_shared * n_columns).zip(weights.par_chunks_mut(n_shared));
        shares.enumerate().for_each(|(share, (sums, weights))| {
            let first = share * n_shared;
            for (n, (row, &label)) in self.values.chunks_exact(n_columns).zip(labels).enumerate() {
                let Some(k) = (label as usize).checked_sub(first).filter(|&k| k < weights.len()) else { continue };
                let sum = &mut sums[k * n_columns..][..n_columns];
                let given = self.weights.map(|weights| weights[n]);
                weights[k] += given.unwrap_or(T::round(1.0));
                for (d, (sum, &value)) in sum.iter_mut().zip(row).enumerate() {
                    let x = self.coordinate(value, d);
                    *sum += given.map_or(x, |weight| x * weight);
                }
            }
        });
        Ok(())
    }
}

/// A compensated sum (Neumaier 1974): its error is about one rounding, whatever the number, size and order of its
/// terms.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compensated {
    high: f64,
    low: f64,
}

impl Compensated {
    #[inline]
    pub(super) fn add(&mut self, term: f64) {
        let sum = self.high + term;
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (term - part);
        self.high = sum;
    }

    #[inline]
    pub(super) fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Sums over clusters that are updated with every change of a label.
pub(super) struct Clusters {
    n_columns: usize,
    sums: Vec<Compensated>,
    weights: Vec<Compensated>,
    /// Number of rows of positive weight in each cluster.
    counts: Vec<usize>,
}

impl Clusters {
    pub(super) fn new(n_clusters: usize, n_columns: usize) -> Self {
        Self {
            n_columns,
            sums: vec![Compensated::default(); n_clusters * n_columns],
            weights: vec![Compensated::default(); n_clusters],
            counts: vec![0; n_clusters],
        }
    }

    /// Adds a row to a cluster.
    pub(super) fn add(&mut self, k: u32, points: &Points<'_, f64>, row: usize) {
        let weight = points.weights.map_or(1.0, |weights| weights[row]);
        self.counts[k as usize] += usize::from(weight > 0.0);
        self.change(k, points, row, weight);
    }

    /// Removes a row from its cluster.
    pub(super) fn remove(&mut self, k: u32, points: &Points<'_, f64>, row: usize) {
        let weight = points.weights.map_or(1.0, |weights| weights[row]);
        self.counts[k as usize] -= usize::from(weight > 0.0);
        self.change(k, points, row, -weight);
    }

    fn change(&mut self, k: u32, points: &Points<'_, f64>, row: usize, weight: f64) {
        let (k, n) = (k as usize, self.n_columns);
        self.weights[k].add(weight);
        let values = &points.values[row * n..][..n];
        for ((sum, value), offset) in self.sums[k * n..][..n].iter_mut().zip(values).zip(&points.offset) {
            sum.add((value - offset) * weight);
        }
    }

    /// Number of rows in the largest cluster; `None` if a cluster is empty.
    pub(super) fn greatest_count(&self) -> Option<usize> {
        if self.counts.contains(&0) { None } else { self.counts.iter().copied().max() }
    }

    /// The mean of each cluster.
    pub(super) fn centres_into(&self, centres: &mut [f64]) {
        let n = self.n_columns;
        for ((centre, sums), weight) in centres.chunks_exact_mut(n).zip(self.sums.chunks_exact(n)).zip(&self.weights) {
            centre.iter_mut().zip(sums).for_each(|(centre, sum)| *centre = sum.value() / weight.value());
        }
    }
}
