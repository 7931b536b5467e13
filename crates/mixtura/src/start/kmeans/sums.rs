//! Sums the points of each cluster, either in row order like scikit-learn, or with compensation so that order does not
//! matter.

#![allow(clippy::inline_always, reason = "a kernel must become part of the function compiled for the instruction set")]

use rayon::prelude::*;

use super::points::{Points, Real};
use crate::Error;
use crate::kernels::{Arithmetic, Kernel, Separate};

/// The mean of each column, with the rows added up in order, as NumPy does.
pub fn mean(values: &[f64], n_columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; n_columns];
    for row in values.chunks_exact(n_columns) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    let n_rows = (values.len() / n_columns) as f64;
    sums.iter_mut().for_each(|sum| *sum /= n_rows);
    sums
}

impl Points<'_, f64> {
    /// The sum of the squares of each column, with the rows added up in order, as NumPy does.
    pub fn squares(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.n_columns()];
        for row in self.values.chunks_exact(self.n_columns()) {
            for ((sum, x), offset) in sums.iter_mut().zip(row).zip(&self.offset) {
                let x = x - offset;
                *sum += x * x;
            }
        }
        sums
    }
}

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

/// Compensated sums (Neumaier 1974): their error is about one rounding, whatever the number, size and order of the
/// terms.
#[derive(Debug, Clone)]
struct Compensated {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Compensated {
    fn new(n: usize) -> Self {
        Self { high: vec![0.0; n], low: vec![0.0; n] }
    }

    fn value(&self, at: usize) -> f64 {
        self.high[at] + self.low[at]
    }
}

/// Adds weighted points to compensated sums.
struct Add<'a> {
    high: &'a mut [f64],
    low: &'a mut [f64],
    values: &'a [f64],
    offset: &'a [f64],
    weight: f64,
}

impl Kernel for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let sums = self.high.iter_mut().zip(self.low);
        for ((high, low), (value, offset)) in sums.zip(self.values.iter().zip(self.offset)) {
            let term = (value - offset) * self.weight;
            let sum = *high + term;
            let part = sum - *high;
            *low += (*high - (sum - part)) + (term - part);
            *high = sum;
        }
    }
}

/// Sums over clusters that are updated with every change of a label.
pub(super) struct Clusters {
    n_columns: usize,
    sums: Compensated,
    weights: Compensated,
    /// Number of rows of positive weight in each cluster.
    counts: Vec<usize>,
}

impl Clusters {
    pub(super) fn new(n_clusters: usize, n_columns: usize) -> Self {
        Self {
            n_columns,
            sums: Compensated::new(n_clusters * n_columns),
            weights: Compensated::new(n_clusters),
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
        let (values, offset) = (&points.values[row * n..][..n], &points.offset);
        let (high, low) = (&mut self.sums.high[k * n..][..n], &mut self.sums.low[k * n..][..n]);
        points.set.run(Add { high, low, values, offset, weight });
        let (high, low) = (&mut self.weights.high[k..=k], &mut self.weights.low[k..=k]);
        Add { high, low, values: &[1.0], offset: &[0.0], weight }.run::<Separate>();
    }

    /// Number of rows in the largest cluster; `None` if a cluster is empty.
    pub(super) fn greatest_count(&self) -> Option<usize> {
        if self.counts.contains(&0) { None } else { self.counts.iter().copied().max() }
    }

    /// The mean of each cluster.
    pub(super) fn centres_into(&self, centres: &mut [f64]) {
        let n = self.n_columns;
        for (i, centre) in centres.iter_mut().enumerate() {
            *centre = self.sums.value(i) / self.weights.value(i / n);
        }
    }
}
