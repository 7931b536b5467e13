//! Computes log-densities and draws in single precision, and certifies that double precision would
//! have drawn the same. The bounds are derived in `docs/certified-draws.md`.

use std::ops::{Deref, DerefMut};

use super::dispatch::align_stack;
use super::elementary::log2;
use super::{Arithmetic, Kernel, LANES, Lanes};

/// Rows side by side in single precision: two blocks, which fill as many registers as one in double.
pub(crate) const NARROW_LANES: usize = 2 * LANES;

/// One single-precision number for each row of two blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct NarrowLanes(pub(crate) [f32; NARROW_LANES]);

impl NarrowLanes {
    /// The same number for every row.
    pub(crate) const fn all(value: f32) -> Self {
        Self([value; NARROW_LANES])
    }
}

impl Deref for NarrowLanes {
    type Target = [f32; NARROW_LANES];

    #[inline(always)]
    fn deref(&self) -> &[f32; NARROW_LANES] {
        &self.0
    }
}

impl DerefMut for NarrowLanes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32; NARROW_LANES] {
        &mut self.0
    }
}

/// The rows of two blocks in both precisions, D columns each.
#[derive(Clone, Copy)]
pub struct NarrowRows<'a> {
    pub(crate) single: &'a [NarrowLanes],
    pub(crate) double: [&'a [Lanes]; 2],
}

/// Half the distance from 1 to the next number: the unit roundoff u.
pub(crate) const ROUNDOFF: f32 = f32::EPSILON / 2.0;
/// Components this many bits below the best one are too light to matter to a draw.
pub(crate) const RELEVANT_BITS: f32 = 40.0;

/// Below this exponent a weight counts as zero in single precision: well under what is relevant.
pub(crate) const NARROW_LEAST_EXPONENT: f32 = -64.0;

/// The largest error of a share, relative to C(1 − C), for which the bound's own assumptions hold: it implies E ≤ 1.
const LARGEST_RELATIVE_ERROR: f32 = 3.0;

/// Bits that any log-density may be off, so that none that is relevant falls below
/// [`NARROW_LEAST_EXPONENT`] and none that is not rises above the largest.
const LARGEST_ERROR: f32 = 10.0;

/// Rounds two blocks to single precision and finds the length of each row in units of the columns' scales,
/// rounded up.
pub(crate) struct Narrow<'a> {
    /// The D columns of the first block.
    pub first: &'a [Lanes],
    /// The D columns of the second block.
    pub second: &'a [Lanes],
    /// 1 / scale of each column.
    pub inverse_scales: &'a [f32],
    /// The result, a `NarrowLanes` for each column.
    pub out: &'a mut [NarrowLanes],
}

impl Kernel for Narrow<'_> {
    type Output = NarrowLanes;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> NarrowLanes {
        let mut square = [0.0f32; NARROW_LANES];
        let blocks = self.first.iter().zip(self.second).zip(self.inverse_scales);
        for (((first, second), &inverse_scale), out) in blocks.zip(self.out) {
            let mut x = [0.0f32; NARROW_LANES];
            for lane in 0..LANES {
                x[lane] = first[lane] as f32;
                x[LANES + lane] = second[lane] as f32;
            }
            for lane in 0..NARROW_LANES {
                let scaled = x[lane] * inverse_scale;
                square[lane] = A::mul_add_narrow(scaled, scaled, square[lane]);
            }
            out.0 = x;
        }
        // Rounding of at most a few hundred terms, with room to spare.
        NarrowLanes(square.map(|square| square.sqrt() * 1.001))
    }
}

/// What bounds the errors of single-precision log-densities.
#[derive(Debug, Clone, Copy)]
pub struct ErrorBound {
    /// The largest slope of a component: the error of A x + b for a row of length 1, for one rounding in a
    /// multiply-add.
    pub(crate) slope: f32,
    /// Length of a row whose error is as large as that of b, at most, whatever the component.
    pub(crate) reach: f32,
    /// γ: relative error of a sum of D + 3 rounded terms, for one rounding in a multiply-add.
    pub(crate) gamma: f32,
    /// Roundings in a multiply-add.
    pub(crate) n_roundings: f32,
    /// What was taken off all constants, in bits.
    pub(crate) common: f64,
}

impl ErrorBound {
    /// The same bound for arithmetic that rounds a multiply-add this many times.
    pub(crate) fn with_roundings(self, n: usize) -> Self {
        Self { n_roundings: n as f32, ..self }
    }

    /// E: how many bits a log-density may be off whose square is at most `square`, given the error of
    /// A x + b.
    #[inline(always)]
    fn bits(self, square: f32, error: f32) -> f32 {
        let root = square.sqrt();
        let of_square = (2.0 * root + error) * error + self.n_roundings * self.gamma * (root + error) * (root + error);
        of_square + 3.0 * square * ROUNDOFF
    }
}

/// A label for each row, drawn in single precision, and what is known of it.
pub(crate) struct NarrowDrawn {
    /// The labels.
    pub labels: [u32; NARROW_LANES],
    /// 1 for a row that is not certain to have the label of double precision, else 0.
    pub unsure: [u32; NARROW_LANES],
    /// log₂ of the mixture density, 0 for a row that is not certain.
    pub log2_density: [f64; NARROW_LANES],
}

/// Draws a component for each row from single-precision log-densities, with its certificate.
pub(crate) struct NarrowDraw<'a> {
    /// Log-densities of each component; overwritten by weights.
    pub joint: &'a mut [NarrowLanes],
    /// Error of A x + b of each component, for a row of length 1.
    pub slopes: &'a [f32],
    /// Length of each row, rounded up.
    pub radius: &'a NarrowLanes,
    /// Uniform numbers of the two blocks.
    pub uniforms: [&'a Lanes; 2],
    /// How many components there are, with those left out because they cannot count.
    pub n_components: usize,
    /// Whether the very first component is among those at hand: if not, a number near zero might draw it.
    pub has_first: bool,
    /// What bounds the error of the log-densities.
    pub bound: ErrorBound,
}

impl Kernel for NarrowDraw<'_> {
    type Output = NarrowDrawn;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> NarrowDrawn {
        align_stack();
        let (max, zero) = largest(self.joint);
        let (total, steepest) = weigh::<A>(self.joint, self.slopes, &max);
        let relative = self.relative_error(&max, &steepest);
        let n_components = self.n_components as f32;
        let summing = (5.0 * n_components + 8.0) * ROUNDOFF + n_components * 1.5e-11;
        let mut low = [0.0f32; NARROW_LANES];
        let mut high = [0.0f32; NARROW_LANES];
        for half in 0..2 {
            for lane in 0..LANES {
                let at = half * LANES + lane;
                let threshold = self.uniforms[half][lane] as f32 * total[at];
                // C(1 − C) is at most ¼. The largest weight is 1, and a cumulative sum has it or lacks it, so either the
                // sum or the rest is at most total − 1.
                let (quarter, others) = (0.25 * total[at], total[at] - 1.0);
                let movable = if others < quarter { others } else { quarter };
                let margin = relative[at] * movable + summing * total[at];
                low[at] = threshold - margin;
                high[at] = threshold + margin;
            }
        }
        let mut cumulative = [0.0f32; NARROW_LANES];
        let mut passed_low = [0u32; NARROW_LANES];
        let mut passed_high = [0u32; NARROW_LANES];
        for weights in self.joint.iter() {
            for lane in 0..NARROW_LANES {
                cumulative[lane] += weights.0[lane];
                passed_low[lane] += u32::from(cumulative[lane] <= low[lane]);
                passed_high[lane] += u32::from(cumulative[lane] <= high[lane]);
            }
        }
        let mut log2_density = [0.0; NARROW_LANES];
        for lane in 0..NARROW_LANES {
            log2_density[lane] = f64::from(max[lane]) + log2::<A>(f64::from(total[lane])) + self.bound.common;
        }
        let mut unsure = [0u32; NARROW_LANES];
        for lane in 0..NARROW_LANES {
            // Written so that a NaN anywhere is not certain, and without branches.
            #[allow(clippy::needless_bitwise_bool)]
            let is_certain = (passed_low[lane] == passed_high[lane])
                & (relative[lane] <= LARGEST_RELATIVE_ERROR)
                & (zero[lane] == 0.0)
                & (self.has_first | (low[lane] >= 0.0));
            unsure[lane] = u32::from(!is_certain);
            log2_density[lane] = if is_certain { log2_density[lane] } else { 0.0 };
        }
        NarrowDrawn { labels: passed_low, unsure, log2_density }
    }
}

impl NarrowDraw<'_> {
    /// The error of a share C relative to C(1 − C), for each row; infinite if components may be mistaken.
    #[inline(always)]
    fn relative_error(&self, max: &[f32; NARROW_LANES], steepest: &[f32; NARROW_LANES]) -> [f32; NARROW_LANES] {
        let bound = self.bound;
        let mut relative = [0.0; NARROW_LANES];
        for lane in 0..NARROW_LANES {
            let distance = bound.n_roundings * (self.radius.0[lane] + bound.reach);
            // Whatever the component, if it is relevant it has been given a weight.
            let farthest = 2.0 - NARROW_LEAST_EXPONENT - max[lane];
            let is_sound = bound.bits(farthest, bound.slope * distance) <= LARGEST_ERROR;
            // No relevant component has a larger square than this, nor a larger constant.
            let square = RELEVANT_BITS + 1.0 - max[lane];
            let bits = bound.bits(square, steepest[lane] * distance) + (RELEVANT_BITS + 6.0) * ROUNDOFF;
            // 4^E − 1 ≤ 1.387 E + 1.614 E² for E ≤ 1; what is beyond covers the rounding of the bound itself.
            relative[lane] = if is_sound { (1.39 + 1.62 * bits) * bits } else { f32::INFINITY };
        }
        relative
    }
}

/// The largest log-density of each row, and 0 if all of them are numbers.
#[inline(always)]
fn largest(joint: &[NarrowLanes]) -> ([f32; NARROW_LANES], [f32; NARROW_LANES]) {
    let mut max = [f32::NEG_INFINITY; NARROW_LANES];
    let mut zero = [0.0f32; NARROW_LANES];
    for joint in joint {
        for lane in 0..NARROW_LANES {
            max[lane] = if joint.0[lane] > max[lane] { joint.0[lane] } else { max[lane] };
            // 0 for a number or −∞ (a component of no weight), NaN for +∞ or NaN; one that came up stays.
            let finite = if joint.0[lane] < f32::MIN { f32::MIN } else { joint.0[lane] };
            zero[lane] += finite * 0.0;
        }
    }
    (max, zero)
}

/// Replaces log-densities by 2^(ℓ − max), zero where that is far below; returns their sums and the
/// largest slope of a component that has a weight.
#[inline(always)]
fn weigh<A: Arithmetic>(
    joint: &mut [NarrowLanes],
    slopes: &[f32],
    max: &[f32; NARROW_LANES],
) -> ([f32; NARROW_LANES], [f32; NARROW_LANES]) {
    let mut total = [0.0f32; NARROW_LANES];
    let mut steepest = [0.0f32; NARROW_LANES];
    for (joint, &slope) in joint.iter_mut().zip(slopes) {
        let mut weights = joint.0;
        for lane in 0..NARROW_LANES {
            weights[lane] = exp2::<A>(weights[lane] - max[lane]);
            total[lane] += weights[lane];
            let slope = if weights[lane] > 0.0 { slope } else { 0.0 };
            steepest[lane] = if slope > steepest[lane] { slope } else { steepest[lane] };
        }
        joint.0 = weights;
    }
    (total, steepest)
}

/// Coefficients of 2^f on [−½, ½], by interpolation at Chebyshev nodes, rounded to single precision;
/// relative error below 2e-8 before rounding.
#[allow(clippy::excessive_precision)]
const EXP2: [f32; 7] =
    [1.0, std::f32::consts::LN_2, 0.240_226_51, 0.055_503_27, 0.009_618_057, 0.001_340_042_8, 0.000_154_614_45];

/// 2^x for x ≤ 0; 0 for x < −64. Relative error below 3 units of roundoff.
#[inline(always)]
fn exp2<A: Arithmetic>(x: f32) -> f32 {
    const LEAST: f32 = NARROW_LEAST_EXPONENT;
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23
    let clamped = if x > LEAST { x } else { LEAST };
    let shifted = clamped + ROUND;
    let f = clamped - (shifted - ROUND);
    let mut value = EXP2[6];
    for i in (0..6).rev() {
        value = A::mul_add_narrow(value, f, EXP2[i]);
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x >= LEAST { value * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::dispatch::Fused;
    use super::*;

    proptest! {
        #[test]
        fn narrow_exp2_is_within_its_bound(x in -63.9..0.0f32) {
            let expected = f64::from(x).exp2();
            prop_assert!((f64::from(exp2::<Fused>(x)) - expected).abs() <= 4.0 * f64::from(ROUNDOFF) * expected);
        }
    }
}
