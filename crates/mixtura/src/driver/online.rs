//! Online learning: updates a model with each batch of rows, using statistics that gradually forget.

use serde::{Deserialize, Serialize};

use super::event::{Event, record};
use super::procedure::{Procedure, Steps};
use super::update::{EMPTY_SHARE, kinds_of, mixing_weights};
use super::{Algorithm, Options};
use crate::family::{Family, Fate, Floor, Moments};
use crate::pass::{Assignment, Pass};
use crate::random::{Address, Purpose};
use crate::sweep::{Engine, Source, check_rows};
use crate::{Error, Mixture};

/// How much each batch counts: γ_t = (t + offset)^−decay for batch t = 2, 3, …; the first batch counts fully.
///
/// The sum of the gains must diverge and the sum of their squares converge, so a decay in (1/2, 1] forgets the start
/// and still settles (Cappé and Moulines 2009). With decay 0 and offset 0, only the latest batch counts.
///
/// Deserializing applies [`Gains::check`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Gains {
    /// From 0 to 1; default 0.6.
    pub decay: f64,
    /// At least 0; default 0.
    pub offset: f64,
}

/// Gains as deserialized.
#[derive(Deserialize)]
#[serde(rename = "Gains")]
struct Unchecked {
    decay: f64,
    offset: f64,
}

impl TryFrom<Unchecked> for Gains {
    type Error = Error;

    fn try_from(Unchecked { decay, offset }: Unchecked) -> Result<Self, Error> {
        let gains = Self { decay, offset };
        gains.check()?;
        Ok(gains)
    }
}

impl Default for Gains {
    fn default() -> Self {
        Self { decay: 0.6, offset: 0.0 }
    }
}

impl Gains {
    /// Checks that all values are in range.
    pub fn check(&self) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&self.decay) {
            let value = self.decay.to_string();
            return Err(Error::Option { option: "decay", expected: "a number from 0 to 1", value });
        }
        if !(self.offset.is_finite() && self.offset >= 0.0) {
            let value = self.offset.to_string();
            return Err(Error::Option { option: "offset", expected: "a finite number of at least 0", value });
        }
        Ok(())
    }

    /// γ_t of batch t, counted from 1.
    pub fn gain(&self, batch: u64) -> f64 {
        if batch <= 1 { 1.0 } else { (batch as f64 + self.offset).powf(-self.decay) }
    }
}

/// A mixture that learns from batches: s ← (1 − γ)·s + γ·(mean statistics of the batch), then the maximum-likelihood
/// model of s (Cappé and Moulines 2009). Each batch is read once.
///
/// ```
/// use mixtura::driver::{Gains, Online, Problem};
/// use mixtura::{Algorithm, FullGaussian, Options, Rows, Source, Start};
///
/// let batch = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let source = Source::of(&batch)?;
/// let options = Options::default().algorithm(Algorithm::Em);
/// let problem = Problem::<FullGaussian, _>::new(&source, 2, Start::KmeansPlusPlus, options.clone())?;
/// let mut online = Online::new(problem.first_model(0)?, problem.floor().clone());
/// for _ in 0..5 {
///     online.learn(&source, &options, &Gains::default())?;
/// }
/// assert_eq!(online.n_batches(), 5);
/// assert!((online.model().components.mean(0)[0] - 0.1).abs() < 1e-6);
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Online<F: Family> {
    model: Mixture<F>,
    floor: Floor,
    /// Statistics per unit of weight.
    mean: Option<F::Moments>,
    n_batches: u64,
    events: Vec<Event>,
}

impl<F: Family> Online<F> {
    /// A learner that has seen no batches.
    pub fn new(model: Mixture<F>, floor: Floor) -> Self {
        Self { model, floor, mean: None, n_batches: 0, events: Vec::new() }
    }

    /// A learner that continues from a model obtained from `n_batches` batches, so that new batches count for less.
    pub fn resumed(model: Mixture<F>, floor: Floor, n_batches: u64) -> Self {
        let mean = Some(model.components.expected_moments(&model.weights));
        Self { mean, n_batches, ..Self::new(model, floor) }
    }

    /// The current model.
    pub fn model(&self) -> &Mixture<F> {
        &self.model
    }

    /// Number of batches seen.
    pub fn n_batches(&self) -> u64 {
        self.n_batches
    }

    /// What happened so far; rounds are batches.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Learns from a batch with EM, SEM or CEM; returns the batch's mean log-likelihood under the previous model. A
    /// component that has no rows or singular statistics is left unchanged. Cost: one round.
    pub fn learn<E: Engine>(&mut self, source: &Source<E>, options: &Options, gains: &Gains) -> Result<f64, Error> {
        options.check()?;
        gains.check()?;
        source.check_width(self.model.components.n_columns())?;
        check_rows::<F, E>(source.engine())?;
        let pass = Pass::new(source, self.model.clone(), self.assignment(options)?)?;
        let tally = source.sweep(&Pass { precision: options.precision, ..pass })?;
        let batch = self.n_batches + 1;
        let gain = gains.gain(batch);
        let mut mean = tally.moments.clone();
        mean.scale(gain / tally.weight);
        if let Some(before) = &self.mean {
            mean.add_scaled(before, 1.0 - gain);
        }
        let fate = |k: usize| if mean.weight(k) <= EMPTY_SHARE { Fate::Keep } else { Fate::Estimate };
        let fates: Vec<Fate> = (0..self.model.n_components()).map(fate).collect();
        let (components, outcomes) = self.model.components.maximize(&mean, &fates, &self.floor);
        for (k, (fate, outcome)) in fates.iter().zip(&outcomes).enumerate() {
            kinds_of(fate, *outcome).for_each(|kind| record(&mut self.events, kind, Some(k), batch));
        }
        let weights = mixing_weights(&mean, 1.0, &fates);
        self.model = Mixture { weights, components };
        self.mean = Some(mean);
        self.n_batches = batch;
        Ok(tally.mean_ln_likelihood())
    }

    fn assignment(&self, options: &Options) -> Result<Assignment, Error> {
        if matches!(options.algorithm, Algorithm::Saem | Algorithm::Auto) {
            let value = options.algorithm.to_string().to_lowercase();
            return Err(Error::Option { option: "the algorithm for batches", expected: "em, sem or cem", value });
        }
        let address = Address { seed: options.seed, restart: 0, round: self.n_batches, purpose: Purpose::Label };
        Ok(Procedure::<F>::new(options).assignment(address))
    }
}
