//! Follows rows that come in batches: statistics that forget, and a model after every batch.

use serde::{Deserialize, Serialize};

use super::event::{Event, record};
use super::update::{EMPTY_SHARE, kinds_of, mixing_weights};
use super::{Algorithm, Options};
use crate::family::{Family, Fate, Floor, Moments};
use crate::pass::{Assignment, Pass};
use crate::random::{Address, Purpose};
use crate::sweep::{Engine, Source, check_rows};
use crate::{Error, Mixture};

/// How much each batch counts: γ_t = (t + offset)^−decay for batch t = 2, 3, …; the first counts fully.
///
/// The steps' sum must diverge and that of their squares converge, so that a decay in (1/2, 1] forgets the
/// start and still settles (Cappé and Moulines 2009). A decay of 0 with an offset of 0 forgets at once.
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
    /// Refuses values out of range.
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

    /// γ_t for a batch, counted from 1.
    pub fn gain(&self, batch: u64) -> f64 {
        if batch <= 1 { 1.0 } else { (batch as f64 + self.offset).powf(-self.decay) }
    }
}

/// A mixture that learns from batches: s ← (1 − γ)·s + γ·(the batch's mean statistics), then the model of
/// s (Cappé and Moulines 2009). A batch is gone through once, whatever its size.
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
    /// Statistics of one unit of weight.
    mean: Option<F::Moments>,
    n_batches: u64,
    events: Vec<Event>,
}

impl<F: Family> Online<F> {
    /// Before the first batch.
    pub fn new(model: Mixture<F>, floor: Floor) -> Self {
        Self { model, floor, mean: None, n_batches: 0, events: Vec::new() }
    }

    /// After so many batches that gave this model: what comes next counts for less.
    pub fn resumed(model: Mixture<F>, floor: Floor, n_batches: u64) -> Self {
        let mean = Some(model.components.expected_moments(&model.weights));
        Self { mean, n_batches, ..Self::new(model, floor) }
    }

    /// The model so far.
    pub fn model(&self) -> &Mixture<F> {
        &self.model
    }

    /// Batches gone through.
    pub fn n_batches(&self) -> u64 {
        self.n_batches
    }

    /// What happened on the way; rounds are batches.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Learns from a batch, with EM, SEM or CEM; returns the batch's mean log-likelihood under the model as
    /// it was. A component without rows, or of singular statistics, is left as it is. Cost: one round.
    pub fn learn<E: Engine>(&mut self, source: &Source<E>, options: &Options, gains: &Gains) -> Result<f64, Error> {
        options.check()?;
        gains.check()?;
        check_rows::<F, E>(source)?;
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
        match options.algorithm {
            Algorithm::Em => Ok(Assignment::Soft),
            Algorithm::Cem => Ok(Assignment::Hard),
            Algorithm::Sem => Ok(Assignment::Sampled(Address {
                seed: options.seed,
                restart: 0,
                round: self.n_batches,
                purpose: Purpose::Label,
            })),
            Algorithm::Saem | Algorithm::Auto => {
                let value = format!("{:?}", options.algorithm).to_lowercase();
                Err(Error::Option { option: "the algorithm for batches", expected: "em, sem or cem", value })
            }
        }
    }
}
