//! The reference implementation of the algorithms: no blocks, no optimizations, whole N×K arrays.

use mixtura::{FullGaussian, Mixture, Rows};

/// Log-density of a row under one component, by Cholesky factorization and forward substitution.
pub(crate) fn ln_density(row: &[f64], mean: &[f64], covariance: &[f64]) -> f64 {
    let n = mean.len();
    let mut factor = vec![0.0; n * n];
    let mut square = 0.0;
    let mut ln_determinant_half = 0.0;
    let mut y = vec![0.0; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|l| factor[i * n + l] * factor[j * n + l]).sum();
            let rest = covariance[i * n + j] - dot;
            factor[i * n + j] = if i == j { rest.sqrt() } else { rest / factor[j * n + j] };
        }
        let dot: f64 = (0..i).map(|l| factor[i * n + l] * y[l]).sum();
        y[i] = (row[i] - mean[i] - dot) / factor[i * n + i];
        square += y[i] * y[i];
        ln_determinant_half += factor[i * n + i].ln();
    }
    -0.5 * square - ln_determinant_half - 0.5 * n as f64 * std::f64::consts::TAU.ln()
}

/// Posteriors (N rows of K) and the mean log-likelihood.
pub(crate) fn posteriors(rows: &Rows<'_>, model: &Mixture<FullGaussian>) -> (Vec<Vec<f64>>, f64) {
    let (mut likelihood, mut total) = (0.0, 0.0);
    let posteriors = (0..rows.n_rows())
        .map(|n| {
            let row = rows.row(n);
            let joint: Vec<f64> = (0..model.n_components())
                .map(|k| {
                    model.weights[k].ln() + ln_density(&row, model.components.mean(k), model.components.covariance(k))
                })
                .collect();
            let max = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = joint.iter().map(|l| (l - max).exp()).sum();
            likelihood += rows.weight(n) * (max + sum.ln());
            total += rows.weight(n);
            joint.iter().map(|l| (l - max).exp() / sum).collect()
        })
        .collect();
    (posteriors, likelihood / total)
}

/// Maximum of the complete-data likelihood for given memberships (Proposition 1 of the paper).
pub(crate) fn maximum(rows: &Rows<'_>, memberships: &[Vec<f64>]) -> Mixture<FullGaussian> {
    let n_columns = rows.n_columns();
    let n_components = memberships[0].len();
    let all: Vec<Vec<f64>> = (0..rows.n_rows()).map(|n| rows.row(n)).collect();
    let total: f64 = (0..rows.n_rows()).map(|n| rows.weight(n)).sum();
    let (mut weights, mut means, mut covariances) = (vec![], vec![], vec![]);
    for k in 0..n_components {
        let weight = |n: usize| rows.weight(n) * memberships[n][k];
        let r: f64 = (0..all.len()).map(weight).sum();
        let mean: Vec<f64> =
            (0..n_columns).map(|d| (0..all.len()).map(|n| weight(n) * all[n][d]).sum::<f64>() / r).collect();
        for i in 0..n_columns {
            for j in 0..n_columns {
                let sum: f64 = (0..all.len()).map(|n| weight(n) * (all[n][i] - mean[i]) * (all[n][j] - mean[j])).sum();
                covariances.push(sum / r);
            }
        }
        weights.push(r / total);
        means.extend(mean);
    }
    Mixture { weights, components: FullGaussian::new(n_columns, means, covariances).unwrap() }
}

/// EM from a model: mean log-likelihoods of all models, starting with the initial one, and the last model.
pub(crate) fn em(rows: &Rows<'_>, initial: &Mixture<FullGaussian>, rounds: usize) -> (Vec<f64>, Mixture<FullGaussian>) {
    let mut model = initial.clone();
    let mut likelihoods = Vec::new();
    for _ in 0..rounds {
        let (posteriors, likelihood) = posteriors(rows, &model);
        likelihoods.push(likelihood);
        model = maximum(rows, &posteriors);
    }
    likelihoods.push(posteriors(rows, &model).1);
    (likelihoods, model)
}
