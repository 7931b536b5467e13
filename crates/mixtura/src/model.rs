//! Mixture models: weights and components, and predictions from them.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::family::{Family, Sampler};
use crate::pass::{Evaluator, Pass};
use crate::random::{Address, Choice, Purpose, uniform};
use crate::sweep::{Engine, Threads, check_rows};
use crate::{Error, Rows};

/// Maximum deviation from 1 of the sum of a given model's weights.
const WEIGHT_SLACK: f64 = 1e-6;

/// A mixture: p(x) = Σ_k w_k p(x | θ_k).
///
/// ```
/// use mixtura::{FullGaussian, Mixture, Rows};
///
/// let components = FullGaussian::new(1, vec![-2.0, 2.0], vec![1.0, 1.0])?;
/// let model = Mixture::new(vec![0.5, 0.5], components)?;
/// let rows = Rows::from_slice(&[-1.0, 3.0], 1)?;
/// assert_eq!(model.labels(&rows)?, [0, 1]);
///
/// let posterior = model.posteriors(&rows)?;
/// assert!((posterior[0] - 1.0 / (1.0 + (-4.0f64).exp())).abs() < 1e-15);
///
/// let density = 0.5 * (-0.5f64).exp() * (1.0 + (-4.0f64).exp()) / std::f64::consts::TAU.sqrt();
/// assert!((model.ln_densities(&rows)?[0] - density.ln()).abs() < 1e-14);
/// # Ok::<(), mixtura::Error>(())
/// ```
///
/// Deserializing applies the checks of [`Mixture::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "", try_from = "Unchecked<F>")]
pub struct Mixture<F: Family> {
    /// Mixing weights: K numbers of at least 0 that sum to 1.
    pub weights: Vec<f64>,
    /// The components' parameters.
    pub components: F,
}

/// A mixture as deserialized.
#[derive(Deserialize)]
#[serde(bound = "", rename = "Mixture")]
struct Unchecked<F: Family> {
    weights: Vec<f64>,
    components: F,
}

impl<F: Family> TryFrom<Unchecked<F>> for Mixture<F> {
    type Error = Error;

    fn try_from(Unchecked { weights, components }: Unchecked<F>) -> Result<Self, Error> {
        Self::new(weights, components)
    }
}

/// The component of a row, and how well the row fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classified {
    /// The most probable component, from 0.
    pub label: u32,
    /// Its posterior.
    pub probability: f64,
    /// The row's log-density under the mixture, in nats.
    pub ln_density: f64,
}

/// How well a model explains rows, with criteria that penalize the number of parameters; lower is better for all three.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Number of rows.
    pub rows: usize,
    /// Mean log-likelihood per unit of weight, in nats.
    #[serde(rename = "mean_log_likelihood")]
    pub mean_ln_likelihood: f64,
    /// Log-likelihood of all rows, in nats.
    #[serde(rename = "log_likelihood")]
    pub ln_likelihood: f64,
    /// Akaike's criterion: −2 ln L + 2p.
    pub aic: f64,
    /// Schwarz's criterion: −2 ln L + p ln N, N the total weight.
    pub bic: f64,
    /// Integrated completed likelihood: BIC − 2 Σ ln max_k p(k | x) (Biernacki et al. 2000, with best labels).
    pub icl: f64,
}

/// Criteria that balance the likelihood and the number of parameters; lower is better.
///
/// ```
/// use mixtura::Criteria;
///
/// let criteria = Criteria::new(-100.0, 5, 1.0f64.exp());
/// assert_eq!((criteria.aic, criteria.bic), (210.0, 205.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Akaike's criterion: −2 ln L + 2p.
    pub aic: f64,
    /// Schwarz's criterion: −2 ln L + p ln N, N the total weight.
    pub bic: f64,
}

impl Criteria {
    /// The criteria for a log-likelihood, the model's number of free parameters, and the total weight of the rows.
    pub fn new(ln_likelihood: f64, n_free_parameters: usize, total_weight: f64) -> Self {
        let p = n_free_parameters as f64;
        Self { aic: -2.0 * ln_likelihood + 2.0 * p, bic: -2.0 * ln_likelihood + p * total_weight.ln() }
    }
}

impl<F: Family> Mixture<F> {
    /// A mixture with given weights and components, if they are valid.
    pub fn new(weights: Vec<f64>, components: F) -> Result<Self, Error> {
        let model = Self { weights, components };
        model.check_weights()?;
        let sum: f64 = model.weights.iter().sum();
        if (sum - 1.0).abs() > WEIGHT_SLACK {
            return Err(Error::MixingWeights { detail: format!("their sum is {sum}") });
        }
        model.components.check()?;
        Ok(model)
    }

    /// Rejects weights that are not one finite number of at least 0 for each component. Anyone may have changed them.
    pub(crate) fn check_weights(&self) -> Result<(), Error> {
        let (n_found, n_expected) = (self.weights.len(), self.components.n_components());
        if n_found != n_expected {
            return Err(Error::Length { what: "weights", n_found, n_expected, of: "components" });
        }
        let is_wrong = |weight: f64| !(weight.is_finite() && weight >= 0.0);
        match self.weights.iter().position(|&weight| is_wrong(weight)) {
            None => Ok(()),
            Some(k) => {
                let detail = format!("the weight of component {k} is {}", self.weights[k]);
                Err(Error::MixingWeights { detail })
            }
        }
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.weights.len()
    }

    /// Number of free parameters, including mixing weights.
    pub fn n_free_parameters(&self) -> usize {
        self.n_components() - 1 + self.components.n_free_parameters()
    }

    /// The most probable component of each row, from 0.
    pub fn labels(&self, rows: &Rows<'_>) -> Result<Vec<u32>, Error> {
        self.evaluator()?.labels(rows)
    }

    /// The posterior of every component for each row: K numbers per row.
    pub fn posteriors(&self, rows: &Rows<'_>) -> Result<Vec<f64>, Error> {
        self.evaluator()?.posteriors(rows)
    }

    /// The log-density of each row, in nats.
    pub fn ln_densities(&self, rows: &Rows<'_>) -> Result<Vec<f64>, Error> {
        self.evaluator()?.ln_densities(rows)
    }

    /// For each row, the most probable component, its posterior, and the row's log-density.
    ///
    /// ```
    /// use mixtura::{FullGaussian, Mixture, Rows};
    ///
    /// let model = Mixture::new(vec![0.5, 0.5], FullGaussian::new(1, vec![-2.0, 2.0], vec![1.0, 1.0])?)?;
    /// let rows = Rows::from_slice(&[-1.0, 3.0], 1)?;
    /// let classified = model.classify(&rows)?;
    /// assert_eq!((classified[0].label, classified[1].label), (0, 1));
    /// assert_eq!(classified[1].probability, model.posteriors(&rows)?[3]);
    /// assert_eq!(classified[1].ln_density, model.ln_densities(&rows)?[1]);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn classify(&self, rows: &Rows<'_>) -> Result<Vec<Classified>, Error> {
        self.evaluator()?.classify(rows)
    }

    /// Prepares to evaluate rows in several calls.
    pub fn evaluator(&self) -> Result<Evaluator<'_>, Error> {
        Evaluator::new(self)
    }

    /// Log-likelihood and criteria for all rows, in one pass.
    ///
    /// ```
    /// use mixtura::{FullGaussian, Mixture, Rows};
    ///
    /// let model = Mixture::new(vec![1.0], FullGaussian::new(1, vec![0.0], vec![1.0])?)?;
    /// let score = model.score(&Rows::from_slice(&[0.0, 0.0], 1)?)?;
    /// assert!((score.ln_likelihood + std::f64::consts::TAU.ln()).abs() < 1e-14);
    /// assert_eq!(score.aic, -2.0 * score.ln_likelihood + 4.0);
    /// assert_eq!(score.icl, score.bic); // with one component, labels are certain
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn score(&self, rows: &Rows<'_>) -> Result<Score, Error> {
        self.score_with(&Threads::new(rows))
    }

    /// Log-likelihood and criteria for all rows of an engine, in one pass, which may be stopped.
    pub fn score_with<E: Engine>(&self, engine: &E) -> Result<Score, Error> {
        self.check_weights()?;
        check_rows::<F, E>(engine)?;
        let tally = engine.sweep(&Pass::evaluating(self.clone()))?;
        let Criteria { aic, bic } = Criteria::new(tally.ln_likelihood, self.n_free_parameters(), tally.weight);
        Ok(Score {
            rows: tally.n_rows as usize,
            mean_ln_likelihood: tally.mean_ln_likelihood(),
            ln_likelihood: tally.ln_likelihood,
            aic,
            bic,
            icl: bic - 2.0 * tally.ln_best_posterior,
        })
    }

    /// Draws rows `range` of the infinite sequence given by a seed, with their components: row-major values, and a
    /// label for each row.
    ///
    /// ```
    /// use mixtura::{FullGaussian, Mixture};
    ///
    /// let model = Mixture::new(vec![1.0], FullGaussian::new(1, vec![5.0], vec![0.01])?)?;
    /// let (all, _) = model.sample(0..100, 7)?;
    /// let (some, labels) = model.sample(40..50, 7)?;
    /// assert_eq!(some, all[40..50]);
    /// assert_eq!(labels, [0; 10]);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn sample(&self, range: Range<usize>, seed: u64) -> Result<(Vec<f64>, Vec<u32>), Error> {
        self.check_weights()?;
        let sampler = self.components.sampler()?;
        let n_columns = self.components.n_columns();
        let address = Address { seed, restart: 0, round: 0, purpose: Purpose::Row };
        let mut values = zeros(range.len().saturating_mul(n_columns))?;
        let mut labels = zeros(range.len())?;
        let choice = Choice::new(&self.weights);
        let draw = |(row, (values, label)): (usize, (&mut [f64], &mut u32))| {
            let mut generator = address.item(row as u64);
            *label = choice.of(uniform(&mut generator)) as u32;
            sampler.draw_into(*label as usize, &mut generator, values);
        };
        let rows = range.into_par_iter().zip(values.par_chunks_mut(n_columns).zip(&mut labels));
        rows.with_min_len(256).for_each(draw);
        Ok((values, labels))
    }

    /// The same mixture with its components in order of decreasing weight.
    #[must_use]
    pub fn sorted_by_weight(&self) -> Self {
        let mut order: Vec<usize> = (0..self.n_components()).collect();
        order.sort_by(|&a, &b| self.weights[b].total_cmp(&self.weights[a]));
        Self {
            weights: order.iter().map(|&old| self.weights[old]).collect(),
            components: self.components.reordered(&order),
        }
    }

    /// A point between the components, used as the centre of computations.
    pub(crate) fn centre(&self) -> Vec<f64> {
        self.components.centre(&self.weights)
    }
}

/// A vector of zeros, if there is memory for it.
fn zeros<T: Clone + Default>(n: usize) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    let n_bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
    values.try_reserve_exact(n).map_err(|_| Error::Memory { n_bytes })?;
    values.resize(n, T::default());
    Ok(values)
}
