//! Accumulates weights and sums of counts.

use serde::{Deserialize, Serialize};

use crate::family::{CommonRows, Moments, OwnRows, weights_of};
use crate::kernels::{DotProducts, InstructionSet, Lanes, Side};

/// Σw·x and then Σw for each component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoissonMoments {
    n_columns: usize,
    sums: Vec<f64>,
}

impl PoissonMoments {
    pub(super) fn new(n_components: usize, n_columns: usize) -> Self {
        Self { n_columns, sums: vec![0.0; n_components * (n_columns + 1)] }
    }

    /// The expected statistics of rows with these rates.
    pub(super) fn expected(n_columns: usize, rates: &[f64], weights: &[f64]) -> Self {
        let mut sums = Vec::with_capacity(weights.len() * (n_columns + 1));
        for (rates, &weight) in rates.chunks_exact(n_columns).zip(weights) {
            sums.extend(rates.iter().map(|rate| weight * rate));
            sums.push(weight);
        }
        Self { n_columns, sums }
    }

    pub(super) fn reset(&mut self) {
        self.sums.fill(0.0);
    }

    /// Σw·x of a component.
    pub fn sums(&self, component: usize) -> &[f64] {
        &self.sums[component * (self.n_columns + 1)..][..self.n_columns]
    }

    pub(super) fn add_common(
        &mut self,
        n_components: usize,
        set: InstructionSet,
        CommonRows { blocks, weights }: CommonRows<'_>,
    ) {
        self.add(set, blocks, Side { blocks: weights, stride: n_components, first: 0, n: n_components }, 0);
    }

    pub(super) fn add_own(&mut self, set: InstructionSet, OwnRows { component, rows, weights }: OwnRows<'_>) {
        self.add(set, rows, weights_of(rows, self.n_columns, weights), component);
    }

    fn add(&mut self, set: InstructionSet, rows: &[Lanes], left: Side<'_>, first: usize) {
        let n = self.n_columns + 1;
        let right = Side { blocks: rows, stride: n, first: 0, n };
        DotProducts { left, right, n_blocks: rows.len() / n }.add_to(set, &mut self.sums[first * n..], n);
    }
}

impl Moments for PoissonMoments {
    fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
    }

    fn scale(&mut self, factor: f64) {
        self.sums.iter_mut().for_each(|sum| *sum *= factor);
    }

    fn add_scaled(&mut self, other: &Self, factor: f64) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += factor * b);
    }

    fn weight(&self, component: usize) -> f64 {
        self.sums[component * (self.n_columns + 1) + self.n_columns]
    }
}
