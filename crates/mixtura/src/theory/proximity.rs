//! Computes the quantities in the theorems: spreads, responsibilities, and variances of SEM's update.

use crate::family::{Family, Fate, Floor, Moments};
use crate::pass::{Assignment, DeviationsPass, Pass, centre_of};
use crate::sweep::{Engine, Source, check_rows};
use crate::{Error, Mixture};

/// The quantities in the theorems, for given rows and a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Proximity<F: Family> {
    /// N.
    pub n_rows: usize,
    /// Δ_d, largest minus smallest value of each column (equation 5 of the paper).
    pub spread: Vec<f64>,
    /// r_k = Σ_n p_nk.
    pub responsibility: Vec<f64>,
    /// Σ_n p_nk(1 − p_nk): the variance of the number of rows that SEM assigns to a component.
    pub doubt: Vec<f64>,
    /// τ_kd = √Σ_n p_nk(1 − p_nk)(x_n − μ_k)_d², K·D numbers (equation 6).
    pub tau: Vec<f64>,
    /// ρ_kij = √Σ_n p_nk(1 − p_nk)((x_n − μ_k)(x_n − μ_k)ᵀ − Σ_k)_ij², K·D·D numbers (equation 7); only for full
    /// covariance matrices.
    pub rho: Option<Vec<f64>>,
    /// EM's update without a floor. If a covariance is singular, only its variances, or the previous covariance if
    /// there are none.
    pub update: Mixture<F>,
    /// The covariance matrices of EM's update, singular or not; only for full covariance matrices.
    pub covariances: Option<Vec<f64>>,
    /// Mean log-likelihood of the model, in nats per row.
    pub mean_ln_likelihood: f64,
}

/// One standard deviation of SEM's update around EM's, to first order: the typical size of a deviation.
#[derive(Debug, Clone, PartialEq)]
pub struct Typical {
    /// √Σ_n p(1 − p)/N of each component.
    pub weight: Vec<f64>,
    /// τ/r, K·D numbers.
    pub mean: Vec<f64>,
    /// ρ/r, K·D·D numbers; only for full covariance matrices.
    pub covariance: Option<Vec<f64>>,
}

impl<F: Family> Proximity<F> {
    /// Reads the rows twice: for EM's update, then for the variances around it.
    ///
    /// Cost: the first sweep is a round of EM. The second evaluates the same densities and, instead of statistics,
    /// takes three operations per row, component and pair of columns, because ρ needs fourth moments around each
    /// component's own mean; without full covariances, three per column. In total about three rounds of EM
    /// (`examples/rounds.rs` with `bounds`; 2.8 to 3.1 for D = 10, 27, 50). Memory as for a fit. The result has the
    /// same bits for any number of threads.
    pub fn measure<E: Engine>(source: &Source<E>, model: &Mixture<F>) -> Result<Self, Error> {
        if source.summary().weighted {
            return Err(Error::Weighted { what: "bounds" });
        }
        check_rows::<F, E>(source.engine())?;
        let (summary, n_components) = (source.summary(), model.n_components());
        let tally = source.sweep(&Pass::new(source, model.clone(), Assignment::Soft)?)?;
        let responsibility: Vec<f64> = (0..n_components).map(|k| tally.moments.weight(k)).collect();
        // A component without rows has no update.
        let fates: Vec<Fate> =
            responsibility.iter().map(|&r| if r > 0.0 { Fate::Estimate } else { Fate::Keep }).collect();
        let (components, _) = model.components.maximize(&tally.moments, &fates, &Floor::of::<F>(summary, 0.0, 0.0));
        let weights = responsibility.iter().map(|r| r / tally.weight).collect();
        let covariances = F::sample_covariances(&tally.moments).map(|covariances| finite(covariances, &responsibility));
        let spread: Vec<f64> = summary.maximum.iter().zip(&summary.minimum).map(|(max, min)| max - min).collect();
        let unit: Vec<f64> = spread.iter().map(|&spread| power_of_two(spread)).collect();
        let pass = DeviationsPass {
            model: model.clone(),
            centre: centre_of::<F, E>(source),
            means: components.centres(),
            covariances,
            unit,
        };
        let deviations = source.sweep(&pass)?;
        let (n, unit) = (spread.len(), &pass.unit);
        let tau = (0..n_components)
            .flat_map(|k| (0..n).map(move |d| (k, d)))
            .map(|(k, d)| deviations.sum(k, n, d).sqrt() * unit[d])
            .collect();
        let rho = pass.covariances.is_some().then(|| {
            let entries = (0..n_components).flat_map(|k| (0..n * n).map(move |at| (k, at / n, at % n)));
            entries.map(|(k, i, j)| deviations.sum(k, i.max(j), i.min(j)).sqrt() * unit[i] * unit[j]).collect()
        });
        Ok(Self {
            n_rows: summary.n_rows,
            spread,
            doubt: (0..n_components).map(|k| deviations.sum(k, n, n)).collect(),
            responsibility,
            tau,
            rho,
            update: Mixture { weights, components },
            covariances: pass.covariances,
            mean_ln_likelihood: tally.mean_ln_likelihood(),
        })
    }

    /// K.
    pub fn n_components(&self) -> usize {
        self.responsibility.len()
    }

    /// D.
    pub fn n_columns(&self) -> usize {
        self.spread.len()
    }

    /// The typical size of a deviation: standard deviations, whereas the theorems give guarantees.
    pub fn typical(&self) -> Typical {
        let over_r = |of: &Vec<f64>| -> Vec<f64> {
            let each = of.len() / self.n_components();
            of.iter().enumerate().map(|(at, x)| ratio(*x, self.responsibility[at / each])).collect()
        };
        Typical {
            weight: self.doubt.iter().map(|doubt| doubt.sqrt() / self.n_rows as f64).collect(),
            mean: over_r(&self.tau),
            covariance: self.rho.as_ref().map(over_r),
        }
    }
}

/// 0 for a component without rows.
fn ratio(deviation: f64, responsibility: f64) -> f64 {
    if deviation == 0.0 { 0.0 } else { deviation / responsibility }
}

/// Covariances of components without rows are 0/0; they are set to 0.
fn finite(mut covariances: Vec<f64>, responsibility: &[f64]) -> Vec<f64> {
    let size = covariances.len() / responsibility.len();
    for (matrix, _) in covariances.chunks_exact_mut(size).zip(responsibility).filter(|(_, r)| **r == 0.0) {
        matrix.fill(0.0);
    }
    covariances
}

/// The power of two at or below a positive number; 1 for 0. Dividing by it is exact.
fn power_of_two(x: f64) -> f64 {
    if x > 0.0 { x.log2().floor().exp2() } else { 1.0 }
}
