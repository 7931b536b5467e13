//! Turns the log-densities of a block into posteriors, drawn labels or best labels.

use super::dispatch::{align_stack, block_by_block};
use super::elementary::{exp2_lanes, log2};
use super::{Arithmetic, Kernel, LANES, Lanes};

/// Replaces base-2 log-densities by `2^(ℓ − max)` and returns the mixture's base-2 log-density and
/// the sum of the replaced values, both for each row.
pub(crate) struct Softmax<'a> {
    /// A `Lanes` for each component.
    pub joint: &'a mut [Lanes],
    /// For each component the exponent below which its share of a row counts as zero.
    pub least: &'a [f64],
}

/// What [`Softmax`] says about the rows.
pub(crate) struct Evidence {
    /// log₂ of the mixture density.
    pub log2_density: Lanes,
    /// Sum over components of what stands in the buffer now; at least 1.
    pub sum: Lanes,
}

impl Kernel for Softmax<'_> {
    type Output = Evidence;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Evidence {
        align_stack();
        softmax::<A>(self.joint, self.least)
    }
}

/// What [`Softmax`] does.
#[inline(always)]
fn softmax<A: Arithmetic>(joint: &mut [Lanes], least: &[f64]) -> Evidence {
    let mut max = [f64::NEG_INFINITY; LANES];
    for joint in joint.iter() {
        for lane in 0..LANES {
            max[lane] = if joint[lane] > max[lane] { joint[lane] } else { max[lane] };
        }
    }
    let mut sum = [0.0; LANES];
    for (joint, &least) in joint.iter_mut().zip(least) {
        for lane in 0..LANES {
            joint[lane] -= max[lane];
        }
        *joint = exp2_lanes::<A>(joint, least);
        for lane in 0..LANES {
            sum[lane] += joint[lane];
        }
    }
    let mut log2_density = [0.0; LANES];
    for lane in 0..LANES {
        log2_density[lane] = max[lane] + log2::<A>(sum[lane]);
    }
    Evidence { log2_density: Lanes(log2_density), sum: Lanes(sum) }
}

/// Turns what [`Softmax`] left into shares of each row's weight.
pub(crate) struct Apportion<'a> {
    /// Unnormalised posteriors, a `Lanes` for each component.
    pub posterior: &'a [Lanes],
    /// Their sums.
    pub sum: &'a Lanes,
    /// Row weights.
    pub weight: &'a Lanes,
    /// The result.
    pub out: &'a mut [Lanes],
}

impl Kernel for Apportion<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let factor: [f64; LANES] = std::array::from_fn(|lane| self.weight[lane] / self.sum[lane]);
        for (posterior, out) in self.posterior.iter().zip(self.out) {
            block_by_block();
            out.0 = std::array::from_fn(|lane| posterior[lane] * factor[lane]);
        }
    }
}

/// Turns base-2 log-densities of several blocks into shares of each row's weight: [`Softmax`], then
/// [`Apportion`], bit for bit, in one call and in place.
pub(crate) struct Shares<'a> {
    /// A `Lanes` for each component, block after block; replaced by the shares.
    pub joint: &'a mut [Lanes],
    /// As in [`Softmax`].
    pub least: &'a [f64],
    /// Row weights of each block.
    pub weights: &'a [Lanes],
    /// log₂ of the mixture density, for each block.
    pub log2_density: &'a mut [[f64; LANES]],
}

impl Kernel for Shares<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        align_stack();
        let blocks = self.joint.chunks_exact_mut(self.least.len()).zip(self.weights);
        for ((joint, weight), log2_density) in blocks.zip(self.log2_density) {
            let evidence = softmax::<A>(joint, self.least);
            let factor: [f64; LANES] = std::array::from_fn(|lane| weight[lane] / evidence.sum[lane]);
            for share in joint {
                block_by_block();
                share.0 = std::array::from_fn(|lane| share[lane] * factor[lane]);
            }
            *log2_density = evidence.log2_density.0;
        }
    }
}

/// Draws a component for each row: the first whose cumulative weight exceeds `uniform · sum`.
///
/// `sum` must be the plain sum of `weights` in order, so that the last positive one always exceeds.
pub(crate) struct Draw<'a> {
    /// Unnormalised posteriors, a `Lanes` for each component.
    pub weights: &'a [Lanes],
    /// Their sums.
    pub sum: &'a Lanes,
    /// Uniform numbers in [0, 1).
    pub uniform: &'a Lanes,
}

impl Kernel for Draw<'_> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [u32; LANES] {
        let mut threshold = [0.0; LANES];
        let mut cumulative = [0.0; LANES];
        let mut passed = [0u64; LANES];
        for lane in 0..LANES {
            threshold[lane] = self.uniform[lane] * self.sum[lane];
        }
        for weights in self.weights {
            for lane in 0..LANES {
                cumulative[lane] += weights[lane];
                passed[lane] += u64::from(cumulative[lane] <= threshold[lane]);
            }
        }
        passed.map(|label| label as u32)
    }
}

/// The component with the largest value in each row, the first of equals.
pub(crate) struct Largest<'a> {
    /// A `Lanes` for each component.
    pub values: &'a [Lanes],
}

impl Kernel for Largest<'_> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [u32; LANES] {
        let mut best = [f64::NEG_INFINITY; LANES];
        let mut label = [0u64; LANES];
        for (k, values) in (0u64..).zip(self.values) {
            for lane in 0..LANES {
                let better = values[lane] > best[lane];
                label[lane] = if better { k } else { label[lane] };
                best[lane] = if better { values[lane] } else { best[lane] };
            }
        }
        label.map(|label| label as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{InstructionSet, LEAST_EXPONENT, flat};
    use super::*;

    fn block(values: &[f64], n: usize) -> Vec<Lanes> {
        values.as_chunks::<LANES>().0[..n].iter().map(|&lanes| Lanes(lanes)).collect()
    }

    proptest! {
        #[test]
        fn softmax_matches_the_scalar_twin(n in 1usize..40, values in prop::collection::vec(-900.0..900.0f64, 40 * LANES)) {
            let joint = block(&values, n);
            let mut weights = joint.clone();
            let least = vec![LEAST_EXPONENT; n];
            let evidence = InstructionSet::detect().run(Softmax { joint: &mut weights, least: &least });
            for lane in 0..LANES {
                let max = joint.iter().map(|l| l[lane]).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = joint.iter().map(|l| (l[lane] - max).exp2()).sum();
                prop_assert!((evidence.sum[lane] - sum).abs() <= 1e-13 * sum);
                prop_assert!((evidence.log2_density[lane] - (max + sum.log2())).abs() <= 1e-12 * max.abs().max(1.0));
                prop_assert_eq!(evidence.sum[lane], weights.iter().map(|w| w[lane]).sum::<f64>());
            }
            let mut shares = weights.clone();
            let (posterior, sum, weight) = (&weights[..], &evidence.sum, &Lanes::all(2.5));
            InstructionSet::detect().run(Apportion { posterior, sum, weight, out: &mut shares });
            for (share, posterior) in flat(&shares).zip(flat(&weights).zip(evidence.sum.iter().cycle())) {
                prop_assert!((share - 2.5 * posterior.0 / posterior.1).abs() <= 4.0 * f64::EPSILON * share);
            }
        }

        #[test]
        fn draws_and_maxima_match_their_scalar_twins(
            n in 1usize..40,
            values in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.0f64], 40 * LANES),
            uniform in prop::array::uniform16(prop_oneof![Just(0.0), Just(1.0 - f64::EPSILON / 2.0), 0.0..1.0f64]),
        ) {
            let mut weights = block(&values, n);
            weights[n / 2] = Lanes::all(0.5);
            let sum = Lanes(std::array::from_fn(|lane| weights.iter().map(|w| w[lane]).sum()));
            let uniform = Lanes(uniform);
            let set = InstructionSet::detect();
            let drawn = set.run(Draw { weights: &weights, sum: &sum, uniform: &uniform });
            let largest = set.run(Largest { values: &weights });
            for lane in 0..LANES {
                let mut cumulative = 0.0;
                let expected = weights.iter().position(|w| {
                    cumulative += w[lane];
                    cumulative > uniform[lane] * sum[lane]
                });
                prop_assert_eq!(Some(drawn[lane] as usize), expected);
                prop_assert!(weights[drawn[lane] as usize][lane] > 0.0);
                let max = weights.iter().map(|w| w[lane]).fold(0.0, f64::max);
                prop_assert_eq!(Some(largest[lane] as usize), weights.iter().position(|w| w[lane] == max));
            }
        }
    }
}
