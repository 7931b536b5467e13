//! Random draws, addressed by seed, restart, round, purpose and row, so that they do not depend on execution order.

use std::convert::Infallible;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng, TryRng};
use serde::{Deserialize, Serialize};

use crate::kernels::{InstructionSet, LANES, Lanes, UNIFORM_BLOCKS, UNIFORM_NUMBERS, Uniforms, in_unit_interval};

/// A generator of random numbers for one item; see [`Address::item`].
#[derive(Debug)]
pub struct Generator(ChaCha8Rng);

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(out)
    }
}

/// What a draw is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Purpose {
    /// The label of a row in a round of SEM.
    Label = 1,
    /// The split of a row's count over components in a round of SEM.
    Split = 2,
    /// The rows used by a start.
    Sample = 3,
    /// The random choices of a start.
    Start = 4,
    /// The row that an empty component is moved to.
    Reseed = 5,
    /// Rows drawn from a model.
    Row = 6,
    /// The parameters of an artificial mixture.
    Parameters = 7,
    /// Whether a row is in a sample that starts compete on.
    Race = 8,
    /// The random choices when components are moved.
    Move = 9,
}

/// The address of a set of draws.
///
/// ```
/// use mixtura::random::{Address, Purpose};
///
/// let address = Address { seed: 7, restart: 0, round: 3, purpose: Purpose::Label };
/// // Row 1000 gets the same number whether or not its neighbours are drawn.
/// let mut uniform = [0.0; 16];
/// address.uniforms_into(992, &mut uniform);
/// assert_eq!(uniform[8], address.uniform(1000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The user's seed.
    pub seed: u64,
    /// Number of the restart, from 0.
    pub restart: u64,
    /// Number of the round, from 0.
    pub round: u64,
    /// What the draws are for.
    pub purpose: Purpose,
}

impl Address {
    /// The address itself is the key of the counter generator.
    fn key(&self) -> [u8; 32] {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&self.restart.to_le_bytes());
        key[16..24].copy_from_slice(&self.round.to_le_bytes());
        key[24] = self.purpose as u8;
        key
    }

    fn generator(&self) -> ChaCha8Rng {
        ChaCha8Rng::from_seed(self.key())
    }

    /// A separate generator for item `item`, for any number of draws.
    pub fn item(&self, item: u64) -> Generator {
        let mut generator = self.generator();
        // Stream 0 is used by `uniforms_into`, one number per row.
        generator.set_stream(item.wrapping_add(1));
        Generator(generator)
    }

    /// The uniform number in [0, 1) of a row.
    pub fn uniform(&self, row: u64) -> f64 {
        let mut generator = self.generator();
        generator.set_word_pos(2 * u128::from(row));
        in_unit_interval(generator.next_u64())
    }

    /// The uniform numbers in [0, 1) of consecutive rows.
    pub fn uniforms_into(&self, first_row: u64, out: &mut [f64]) {
        let mut generator = self.generator();
        generator.set_word_pos(2 * u128::from(first_row));
        for out in out {
            *out = in_unit_interval(generator.next_u64());
        }
    }

    /// The uniform numbers of consecutive blocks of rows.
    pub(crate) fn uniform_blocks_into(&self, set: InstructionSet, mut first_row: u64, mut out: &mut [Lanes]) {
        let n_numbers = UNIFORM_NUMBERS as u64;
        if first_row.is_multiple_of(n_numbers) {
            let (words, key) = (self.key(), &mut [0; 8]);
            let (words, _) = words.as_chunks::<4>();
            key.iter_mut().zip(words).for_each(|(key, &word)| *key = u32::from_le_bytes(word));
            let (several, rest) = out.as_chunks_mut::<UNIFORM_BLOCKS>();
            for out in several {
                set.run(Uniforms { key, first: first_row / n_numbers, out });
                first_row += (UNIFORM_BLOCKS * LANES) as u64;
            }
            out = rest;
        }
        for lanes in out {
            self.uniforms_into(first_row, &mut lanes[..]);
            first_row += LANES as u64;
        }
    }
}

/// A uniform number in [0, 1) with 53 random bits.
pub fn uniform(generator: &mut Generator) -> f64 {
    in_unit_interval(generator.next_u64())
}

/// A uniform integer below `n`, without bias.
pub fn below(generator: &mut Generator, n: usize) -> usize {
    assert!(n > 0, "invariant: something to choose from");
    let n = n as u64;
    // Reject the part of the range that does not divide evenly (Lemire 2019, without his shortcut).
    let limit = u64::MAX - u64::MAX % n;
    loop {
        let x = generator.next_u64();
        if x < limit {
            return (x % n) as usize;
        }
    }
}

/// Chooses among alternatives in proportion to their weights, which sum to about 1.
///
/// A uniform number u selects the first alternative at which u becomes negative when the weights are subtracted one by
/// one. Cumulative sums find it in O(log K). If u is so close to one of the sums that rounding decides, the weights are
/// subtracted.
pub(crate) struct Choice<'a> {
    weights: &'a [f64],
    sums: Vec<f64>,
}

impl<'a> Choice<'a> {
    pub(crate) fn new(weights: &'a [f64]) -> Self {
        let mut sum = 0.0;
        let add = |weight: &f64| {
            sum += weight;
            sum
        };
        Self { weights, sums: weights.iter().map(add).collect() }
    }

    /// The alternative selected by a uniform number in [0, 1).
    pub(crate) fn of(&self, uniform: f64) -> usize {
        // The error of each of K subtractions and K additions of numbers up to 1 is less than half an epsilon.
        let error = 2.0 * f64::EPSILON * (self.sums.len() as f64 + 2.0);
        let found = self.sums.partition_point(|&sum| sum <= uniform);
        let is_above = found == 0 || uniform >= self.sums[found - 1] + error;
        let is_below = self.sums.get(found).is_some_and(|&sum| uniform + error < sum);
        if is_above && is_below { found } else { self.by_subtracting(uniform) }
    }

    fn by_subtracting(&self, uniform: f64) -> usize {
        let mut rest = uniform;
        let found = self.weights.iter().position(|&weight| {
            rest -= weight;
            rest < 0.0
        });
        // Rounding may leave the sum of the weights just below 1.
        found.or_else(|| self.weights.iter().rposition(|&weight| weight > 0.0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_the_address_and_not_on_the_order() {
        let base = Address { seed: 1, restart: 0, round: 0, purpose: Purpose::Label };
        let others = [
            Address { seed: 2, ..base },
            Address { restart: 1, ..base },
            Address { round: 1, ..base },
            Address { purpose: Purpose::Split, ..base },
        ];
        for other in others {
            assert_ne!(base.uniform(5), other.uniform(5));
        }
        let mut all = [0.0; 100];
        base.uniforms_into(0, &mut all);
        for row in [99, 0, 50, 51] {
            assert_eq!(all[row], base.uniform(row as u64));
        }
        assert_ne!(uniform(&mut base.item(0)), uniform(&mut base.item(1)));
    }

    #[test]
    fn a_choice_by_sums_is_the_choice_by_subtracting() {
        for n in [1usize, 2, 7, 1000] {
            let weights: Vec<f64> = (0..n).map(|i| if i % 5 == 3 { 0.0 } else { 1.0 + (i % 7) as f64 }).collect();
            let total: f64 = weights.iter().sum();
            let weights: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
            let choice = Choice::new(&weights);
            // Uniform numbers, and numbers within a few roundings of the sums.
            let near = |&sum: &f64| (-3..=3).map(move |i| sum + f64::from(i) * 0.5f64.powi(53));
            let uniforms = (0..999).map(|i| f64::from(i) / 999.0).chain(choice.sums.iter().flat_map(near));
            for u in uniforms.filter(|u| (0.0..1.0).contains(u)) {
                assert_eq!(choice.of(u), choice.by_subtracting(u), "{n} {u}");
            }
        }
    }

    #[test]
    fn uniform_numbers_are_uniform() {
        // Pearson's statistic over 64 cells, 65,536 draws; χ²(63) exceeds 115 with probability < 0.0001.
        let address = Address { seed: 3, restart: 0, round: 0, purpose: Purpose::Label };
        let mut counts = [0u32; 64];
        let mut draws = vec![0.0; 65_536];
        address.uniforms_into(0, &mut draws);
        for u in draws {
            counts[(u * 64.0) as usize] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1024.0).powi(2) / 1024.0).sum();
        assert!(chi2 < 115.0, "{chi2}");
    }
}
