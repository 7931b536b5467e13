//! The Poisson family: independent counts in each column.

mod density;
mod moments;

use rand_distr::{Distribution, Poisson as PoissonDistribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::family::{CommonRows, Family, Fate, Floor, InstructionSet, Moments, Outcome, OwnRows, Sampler};
use crate::kernels::Lanes;
use crate::random::Generator;

pub use density::PoissonPrepared;
pub use moments::PoissonMoments;

/// K products of D Poisson distributions.
///
/// ```
/// use mixtura::family::Family;
/// use mixtura::{Mixture, Poisson, Rows};
///
/// let poisson = Poisson::new(2, vec![1.0, 4.0])?;
/// assert_eq!((poisson.n_free_parameters(), poisson.spreads()), (2, vec![1.0, 2.0]));
/// let model = Mixture::new(vec![1.0], poisson)?;
/// let density = model.ln_densities(&Rows::from_slice(&[2.0, 0.0], 2)?)?[0];
/// assert!((density - (-1.0 - 2.0f64.ln() - 4.0)).abs() < 1e-14);
///
/// let error = model.score(&Rows::from_slice(&[2.0, 0.5], 2)?).unwrap_err();
/// assert_eq!(error.to_string(), "row 1, column 2: value 0.5 is not a whole number of at least 0");
/// # Ok::<(), mixtura::Error>(())
/// ```
///
/// Deserializing applies the checks of [`Poisson::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Poisson {
    n_columns: usize,
    rates: Vec<f64>,
}

/// The parameters as deserialized.
#[derive(Deserialize)]
#[serde(rename = "Poisson")]
struct Unchecked {
    n_columns: usize,
    rates: Vec<f64>,
}

impl TryFrom<Unchecked> for Poisson {
    type Error = Error;

    fn try_from(Unchecked { n_columns, rates }: Unchecked) -> Result<Self, Error> {
        Self::new(n_columns, rates)
    }
}

impl Poisson {
    /// Components from K·D rates, each finite and at least 0.
    pub fn new(n_columns: usize, rates: Vec<f64>) -> Result<Self, Error> {
        if n_columns == 0 {
            return Err(Error::NoColumns);
        }
        if rates.is_empty() || !rates.len().is_multiple_of(n_columns) {
            return Err(Error::RaggedComponents { what: "rates", n_values: rates.len(), n_columns });
        }
        let components = Self { n_columns, rates };
        components.check()?;
        Ok(components)
    }

    /// The rates of a component: the mean of each column.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn rates(&self, component: usize) -> &[f64] {
        &self.rates[component * self.n_columns..][..self.n_columns]
    }
}

impl Family for Poisson {
    type Prepared = PoissonPrepared;
    type Moments = PoissonMoments;
    type Scratch = ();
    type Sampler = Self;

    const NAME: &'static str = "poisson";
    const STRUCTURE: Option<&'static str> = None;
    const VALUES: Option<&'static str> = Some("a whole number of at least 0");
    const CENTRED: bool = false;

    fn n_components(&self) -> usize {
        self.rates.len() / self.n_columns
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn n_free_parameters(&self) -> usize {
        self.rates.len()
    }

    fn fewest_rows(&self) -> f64 {
        1.0
    }

    fn centres(&self) -> Vec<f64> {
        self.rates.clone()
    }

    fn spreads(&self) -> Vec<f64> {
        self.rates.iter().map(|rate| rate.sqrt()).collect()
    }

    fn check(&self) -> Result<(), Error> {
        let is_bad = |rate: &f64| !(rate.is_finite() && *rate >= 0.0);
        if let Some((at, &value)) = self.rates.iter().enumerate().find(|(_, rate)| is_bad(rate)) {
            return Err(Error::Negative { component: at / self.n_columns, what: "rate", value });
        }
        Ok(())
    }

    fn admits(value: f64) -> bool {
        value >= 0.0 && value.fract() == 0.0
    }

    fn shapes(n_components: usize, n_columns: usize) -> Vec<(&'static str, Vec<usize>)> {
        vec![("rates", vec![n_components, n_columns])]
    }

    fn parameters(&self) -> Vec<&[f64]> {
        vec![&self.rates]
    }

    fn from_parameters(n_columns: usize, parameters: Vec<Vec<f64>>) -> Result<Self, Error> {
        Self::new(n_columns, parameters.concat())
    }

    fn prepare(&self, weights: &[f64], _centre: &[f64]) -> Result<PoissonPrepared, Error> {
        self.check()?;
        Ok(PoissonPrepared::new(self, weights))
    }

    fn scratch(&self, _n_blocks: usize) {}

    fn no_moments(&self) -> PoissonMoments {
        PoissonMoments::new(self.n_components(), self.n_columns)
    }

    fn expected_moments(&self, weights: &[f64]) -> PoissonMoments {
        PoissonMoments::expected(self.n_columns, &self.rates, weights)
    }

    fn reset_moments(_prepared: &PoissonPrepared, moments: &mut PoissonMoments) {
        moments.reset();
    }

    fn log2_joint_into(
        prepared: &PoissonPrepared,
        set: InstructionSet,
        block: &[Lanes],
        (): &mut (),
        out: &mut [Lanes],
    ) {
        prepared.log2_joint_into(set, block, out);
    }

    fn add_common(
        prepared: &PoissonPrepared,
        set: InstructionSet,
        rows: CommonRows<'_>,
        (): &mut (),
        moments: &mut PoissonMoments,
    ) {
        moments.add_common(prepared.n_components(), set, rows);
    }

    fn add_own(
        _prepared: &PoissonPrepared,
        set: InstructionSet,
        rows: OwnRows<'_>,
        (): &mut (),
        moments: &mut PoissonMoments,
    ) {
        moments.add_own(set, rows);
    }

    fn about(centres: &[f64], _unit: &[f64], floor: &Floor) -> Self {
        let least = floor.smallest_rate.iter().cycle();
        let rates = centres.iter().zip(least).map(|(centre, &least)| centre.max(least)).collect();
        Self { n_columns: floor.smallest_rate.len(), rates }
    }

    fn maximize(&self, moments: &PoissonMoments, fates: &[Fate], floor: &Floor) -> (Self, Vec<Outcome>) {
        let n = self.n_columns;
        let mut next = self.clone();
        let mut outcomes = vec![Outcome::Done; fates.len()];
        for (k, fate) in fates.iter().enumerate() {
            let estimated: Vec<f64> = match fate {
                Fate::Keep => continue,
                Fate::Reseed(row) => row.clone(),
                // Any row at all is enough to estimate the rates of a component.
                Fate::Estimate | Fate::Blend { .. } => {
                    moments.sums(k).iter().map(|sum| sum / moments.weight(k)).collect()
                }
            };
            for ((rate, estimated), &least) in next.rates[k * n..].iter_mut().zip(estimated).zip(&floor.smallest_rate) {
                if estimated < least && *fate == Fate::Estimate {
                    outcomes[k] = Outcome::Clipped;
                }
                *rate = estimated.max(least);
            }
        }
        (next, outcomes)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        Self { rates: order.iter().flat_map(|&old| self.rates(old)).copied().collect(), ..*self }
    }

    fn unmapped(&self, _offset: &[f64], _scale: &[f64]) -> Option<Self> {
        None
    }

    fn mapped(&self, _offset: &[f64], _scale: &[f64]) -> Option<Self> {
        None
    }

    fn sampler(&self) -> Result<Self, Error> {
        self.check()?;
        Ok(self.clone())
    }
}

impl Sampler for Poisson {
    fn draw_into(&self, component: usize, generator: &mut Generator, out: &mut [f64]) {
        for (out, &rate) in out.iter_mut().zip(self.rates(component)) {
            *out = if rate < ALL_WHOLE {
                // A rate of 0 always gives 0.
                PoissonDistribution::new(rate).map_or(0.0, |distribution| distribution.sample(generator))
            } else {
                draw_large(rate, generator)
            };
        }
    }
}

/// From here on, 2⁵³, every floating-point number is an integer, and adjacent numbers differ by 2 or more.
const ALL_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A draw for a rate of at least 2⁵³: the quantile λ + √λ·z + (z² − 1)/6 of a standard normal number z (Cornish and
/// Fisher 1938). The next term, (z − z³)/(72√λ), is below 1e-7 for |z| < 9, and adjacent numbers differ by 2 or more.
fn draw_large(rate: f64, generator: &mut Generator) -> f64 {
    let z: f64 = StandardNormal.sample(generator);
    (rate + (rate.sqrt() * z + (z * z - 1.0) / 6.0)).round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mixture;

    /// Mean and variance of 20,000 draws in units of the rate's standard deviation, seed 5. Ten statements at 4.2
    /// standard errors each: α = 10 · 2.7e-5 < 0.001.
    #[test]
    fn rates_above_2e19_drew_zeros() {
        const N: usize = 20_000;
        for rate in [1e12, 1e17, 1e19, 1e25, 1e30] {
            let model = Mixture::new(vec![1.0], Poisson::new(1, vec![rate]).unwrap()).unwrap();
            let (values, _) = model.sample(0..N, 5).unwrap();
            assert!(values.iter().all(|x| x.fract() == 0.0));
            let scaled: Vec<f64> = values.iter().map(|x| (x - rate) / rate.sqrt()).collect();
            let mean = scaled.iter().sum::<f64>() / N as f64;
            let variance = scaled.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (N - 1) as f64;
            assert!(mean.abs() < 4.2 / (N as f64).sqrt(), "{rate:e}: mean {mean}");
            assert!((variance - 1.0).abs() < 4.2 * (2.0 / N as f64).sqrt(), "{rate:e}: variance {variance}");
        }
        // Beyond 2¹⁰⁶, the standard deviation is less than half the distance between adjacent numbers: all draws equal
        // the rate.
        let model = Mixture::new(vec![1.0], Poisson::new(1, vec![1e100]).unwrap()).unwrap();
        assert!(model.sample(0..100, 5).unwrap().0.iter().all(|&x| x == 1e100));
    }
}
