//! A reference implementation for every family: textbook density and maximum, one number at a time.

use std::f64::consts::TAU;

use mixtura::family::Family;
use mixtura::{DiagonalGaussian, FullGaussian, Mixture, Poisson, Rows, SphericalGaussian, TiedGaussian};

use crate::reference;

/// A family with its reference implementation.
pub(super) trait Subject: Family {
    /// A mixture of three overlapping components.
    fn example(n_columns: usize, seed: u64) -> Mixture<Self>;
    /// ln p(x | θ_k).
    fn ln_density(&self, component: usize, row: &[f64]) -> f64;
    /// Weights and components that maximize the likelihood of rows with given memberships.
    fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<Self>;
    /// The same mixture with one parameter changed by a fraction of itself.
    fn moved(model: &Mixture<Self>, direction: usize, share: f64) -> Mixture<Self> {
        let parameters = model.components.parameters();
        let mut moved: Vec<Vec<f64>> = parameters.iter().map(|values| values.to_vec()).collect();
        let which = direction % moved.len();
        let at = direction / moved.len() % moved[which].len();
        let sign = if direction.is_multiple_of(7) { -1.0 } else { 1.0 };
        moved[which][at] += sign * share * (0.1 + moved[which][at].abs());
        let components = Self::from_parameters(model.components.n_columns(), moved).unwrap();
        Mixture { weights: model.weights.clone(), components }
    }
    /// Points that cover a one-dimensional density evenly, and the distance between them.
    fn grid(_model: &Mixture<Self>) -> (Vec<f64>, f64) {
        ((0..800).map(|i| f64::from(i) * 0.1 - 40.0).collect(), 0.1)
    }
}

/// Pseudo-random numbers in [0, 1); the same seed gives the same numbers.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn example_weights() -> Vec<f64> {
    vec![0.5, 0.3, 0.2]
}

fn example_means(n_columns: usize, seed: u64) -> Vec<f64> {
    let mut numbers = numbers(seed);
    (0..3 * n_columns).map(|_| 12.0 * numbers() - 6.0).collect()
}

/// B·Bᵀ + 1 for some B.
fn example_covariance(n: usize, seed: u64) -> Vec<f64> {
    let mut numbers = numbers(seed);
    let b: Vec<f64> = (0..n * n).map(|_| 2.0 * numbers() - 1.0).collect();
    let mut covariance = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            covariance[i * n + j] =
                (0..n).map(|l| b[i * n + l] * b[j * n + l]).sum::<f64>() + f64::from(u8::from(i == j));
        }
    }
    covariance
}

/// Weight, mean and covariance of the rows with given memberships in a component.
fn moments(rows: &Rows<'_>, memberships: &[Vec<f64>], component: usize) -> (f64, Vec<f64>, Vec<f64>) {
    let one: Vec<Vec<f64>> = memberships.iter().map(|row| vec![row[component]]).collect();
    let weight = one.iter().map(|row| row[0]).sum();
    let maximum = reference::maximum(rows, &one);
    (weight, maximum.components.mean(0).to_vec(), maximum.components.covariance(0).to_vec())
}

fn all_moments(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let n_components = memberships[0].len();
    let each: Vec<_> = (0..n_components).map(|k| moments(rows, memberships, k)).collect();
    let total = rows.n_rows() as f64;
    (
        each.iter().map(|(weight, ..)| weight / total).collect(),
        each.iter().flat_map(|(_, mean, _)| mean.clone()).collect(),
        each.into_iter().map(|(_, _, covariance)| covariance).collect(),
    )
}

/// The diagonal of a square matrix.
fn diagonal(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n).map(|d| matrix[d * n + d]).collect()
}

impl Subject for FullGaussian {
    fn example(n_columns: usize, seed: u64) -> Mixture<Self> {
        let covariances = (0..3).flat_map(|k| example_covariance(n_columns, seed + k)).collect();
        let components = Self::new(n_columns, example_means(n_columns, seed), covariances).unwrap();
        Mixture::new(example_weights(), components).unwrap()
    }

    fn ln_density(&self, component: usize, row: &[f64]) -> f64 {
        reference::ln_density(row, self.mean(component), self.covariance(component))
    }

    fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<Self> {
        reference::maximum(rows, memberships)
    }

    /// Matrices stay symmetric.
    fn moved(model: &Mixture<Self>, direction: usize, share: f64) -> Mixture<Self> {
        let components = &model.components;
        let n = components.n_columns();
        let mut means: Vec<f64> = components.centres();
        let mut covariances: Vec<f64> = (0..3).flat_map(|k| components.covariance(k).to_vec()).collect();
        move_one(&mut means, &mut covariances, n, direction, share);
        Mixture { weights: model.weights.clone(), components: Self::new(n, means, covariances).unwrap() }
    }
}

/// Moves a mean, or an entry of a symmetric matrix together with its transpose.
fn move_one(means: &mut [f64], matrices: &mut [f64], n: usize, direction: usize, share: f64) {
    let sign = if direction.is_multiple_of(7) { -1.0 } else { 1.0 };
    if direction.is_multiple_of(2) {
        means[direction / 2 % means.len()] += sign * share;
        return;
    }
    let at = direction / 2 % matrices.len();
    let (matrix, i, j) = (at / (n * n) * n * n, at % (n * n) / n, at % n);
    matrices[matrix + i * n + j] += sign * share;
    if i != j {
        matrices[matrix + j * n + i] += sign * share;
    }
}

impl Subject for TiedGaussian {
    fn example(n_columns: usize, seed: u64) -> Mixture<Self> {
        let covariance = example_covariance(n_columns, seed);
        let components = Self::new(n_columns, example_means(n_columns, seed), covariance).unwrap();
        Mixture::new(example_weights(), components).unwrap()
    }

    fn ln_density(&self, component: usize, row: &[f64]) -> f64 {
        reference::ln_density(row, self.mean(component), self.covariance())
    }

    fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<Self> {
        let (weights, means, covariances) = all_moments(rows, memberships);
        let entry = |at: usize| weights.iter().zip(&covariances).map(|(weight, matrix)| weight * matrix[at]).sum();
        let covariance = (0..covariances[0].len()).map(entry).collect();
        Mixture { weights, components: Self::new(rows.n_columns(), means, covariance).unwrap() }
    }

    fn moved(model: &Mixture<Self>, direction: usize, share: f64) -> Mixture<Self> {
        let n = model.components.n_columns();
        let (mut means, mut covariance) = (model.components.centres(), model.components.covariance().to_vec());
        move_one(&mut means, &mut covariance, n, direction, share);
        Mixture { weights: model.weights.clone(), components: Self::new(n, means, covariance).unwrap() }
    }
}

fn normal(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((x - mean).powi(2) / variance + (TAU * variance).ln())
}

impl Subject for DiagonalGaussian {
    fn example(n_columns: usize, seed: u64) -> Mixture<Self> {
        let variances = (0..3).flat_map(|k| diagonal(&example_covariance(n_columns, seed + k), n_columns)).collect();
        let components = Self::new(n_columns, example_means(n_columns, seed), variances).unwrap();
        Mixture::new(example_weights(), components).unwrap()
    }

    fn ln_density(&self, component: usize, row: &[f64]) -> f64 {
        let parameters = self.mean(component).iter().zip(self.variances(component));
        row.iter().zip(parameters).map(|(&x, (&mean, &variance))| normal(x, mean, variance)).sum()
    }

    fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<Self> {
        let (weights, means, covariances) = all_moments(rows, memberships);
        let variances = covariances.iter().flat_map(|matrix| diagonal(matrix, rows.n_columns())).collect();
        Mixture { weights, components: Self::new(rows.n_columns(), means, variances).unwrap() }
    }
}

impl Subject for SphericalGaussian {
    fn example(n_columns: usize, seed: u64) -> Mixture<Self> {
        let variances = (0..3).map(|k| example_covariance(n_columns, seed + k)[0]).collect();
        let components = Self::new(n_columns, example_means(n_columns, seed), variances).unwrap();
        Mixture::new(example_weights(), components).unwrap()
    }

    fn ln_density(&self, component: usize, row: &[f64]) -> f64 {
        let variance = self.variances(component)[0];
        row.iter().zip(self.mean(component)).map(|(&x, &mean)| normal(x, mean, variance)).sum()
    }

    fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<Self> {
        let n = rows.n_columns();
        let (weights, means, covariances) = all_moments(rows, memberships);
        let variances = covariances.iter().map(|matrix| diagonal(matrix, n).iter().sum::<f64>() / n as f64).collect();
        Mixture { weights, components: Self::new(n, means, variances).unwrap() }
    }
}

impl Subject for Poisson {
    fn example(n_columns: usize, seed: u64) -> Mixture<Self> {
        let mut numbers = numbers(seed);
        let rates = (0..3 * n_columns).map(|_| 0.3 + 20.0 * numbers()).collect();
        Mixture::new(example_weights(), Self::new(n_columns, rates).unwrap()).unwrap()
    }

    fn ln_density(&self, component: usize, row: &[f64]) -> f64 {
        let ln_factorial = |x: f64| (1..=x as u64).map(|i| (i as f64).ln()).sum::<f64>();
        row.iter().zip(self.rates(component)).map(|(&x, rate)| x * rate.ln() - rate - ln_factorial(x)).sum()
    }

    fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<Self> {
        let (mut weights, mut rates) = (Vec::new(), Vec::new());
        for k in 0..memberships[0].len() {
            let weight: f64 = memberships.iter().map(|row| row[k]).sum();
            let sum = |d: usize| (0..rows.n_rows()).map(|n| memberships[n][k] * rows.row(n)[d]).sum::<f64>();
            rates.extend((0..rows.n_columns()).map(|d| sum(d) / weight));
            weights.push(weight / rows.n_rows() as f64);
        }
        Mixture { weights, components: Self::new(rows.n_columns(), rates).unwrap() }
    }

    fn grid(_model: &Mixture<Self>) -> (Vec<f64>, f64) {
        ((0..120).map(f64::from).collect(), 1.0)
    }
}
