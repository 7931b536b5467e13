//! Computes powers and logarithms of two by polynomials, so that every machine gives the same bits.

use super::{Arithmetic, Lanes, dispatch::Fused};

/// Below this exponent a power of two always counts as zero: its bits would not be those of a normal number.
pub(crate) const LEAST_EXPONENT: f64 = -1000.0;

/// Coefficients of 2^f on [−½, ½], by interpolation at Chebyshev nodes; relative error below 2e-17
/// before rounding. Even and odd powers apart, to shorten the chain of dependent operations.
const EXP2_EVEN: [f64; 6] = [
    1.0,
    0.240_226_506_959_101_58,
    0.009_618_129_107_587_256,
    0.000_154_035_304_637_243_53,
    1.321_543_253_591_237_5e-6,
    7.074_194_297_288_521e-9,
];
const EXP2_ODD: [f64; 6] = [
    std::f64::consts::LN_2,
    0.055_504_108_664_821_625,
    0.001_333_355_814_640_647,
    1.525_273_384_155_677_3e-5,
    1.017_805_708_773_394_1e-7,
    4.455_817_908_336_064_5e-10,
];

/// Coefficients of log₂((1+s)/(1−s))/s in powers of s² for m = (1+s)/(1−s) in [√½, √2], by
/// interpolation at Chebyshev nodes; relative error below 2e-17 before rounding.
const LOG2: [f64; 8] = [
    2.885_390_081_777_926_8,
    0.961_796_693_925_989_8,
    0.577_078_016_345_520_3,
    0.412_198_585_840_900_5,
    0.320_598_534_913_959_84,
    0.262_334_352_504_183,
    0.220_913_084_231_176_8,
    0.213_658_956_943_192_7,
];

/// Adding this rounds a number of moderate size to an integer, which then stands in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// 2^x for x ≤ 0 (or moderately positive); 0 for x < `least`, which is at least −1000. Error below 1 ulp.
#[inline(always)]
pub(crate) fn exp2<A: Arithmetic>(x: f64, least: f64) -> f64 {
    // Clamped first, so that the discarded branch computes with finite numbers.
    let clamped = if x > least { x } else { least };
    let shifted = clamped + ROUND;
    let f = clamped - (shifted - ROUND);
    let f2 = f * f;
    let mut even = EXP2_EVEN[5];
    let mut odd = EXP2_ODD[5];
    for i in (0..5).rev() {
        even = A::mul_add(even, f2, EXP2_EVEN[i]);
        odd = A::mul_add(odd, f2, EXP2_ODD[i]);
    }
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let value = A::mul_add(odd, f, even) * power;
    if x >= least { value } else { 0.0 }
}

/// log₂ x for positive normal x. Error below 2 ulp of the larger of the result and 1.
#[inline(always)]
pub(crate) fn log2<A: Arithmetic>(x: f64) -> f64 {
    // m in [√½, √2): subtracting the bits of √½ carries into the exponent just above it.
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits();
    let exponent_bits = bits.wrapping_sub(SQRT_HALF_BITS) & 0xfff0_0000_0000_0000;
    let m = f64::from_bits(bits.wrapping_sub(exponent_bits));
    // The exponent as a float, through the mantissa bits of ROUND: no integer conversion needed.
    let exponent = f64::from_bits((exponent_bits >> 52).wrapping_add(0x4330_0000_0000_0000)) - 4_503_599_627_370_496.0;
    let exponent = if exponent >= 2048.0 { exponent - 4096.0 } else { exponent };
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let mut series = LOG2[7];
    for i in (0..7).rev() {
        series = A::mul_add(series, s2, LOG2[i]);
    }
    A::mul_add(series, s, exponent)
}

/// Natural logarithm by the same polynomial as in the pass, for constants that enter it.
pub(crate) fn scalar_ln(x: f64) -> f64 {
    std::f64::consts::LN_2 * log2::<Fused>(x)
}

/// 2^x in every lane, 0 where x is below `least`.
#[inline(always)]
pub(crate) fn exp2_lanes<A: Arithmetic>(x: &Lanes, least: f64) -> Lanes {
    let mut out = *x;
    for lane in out.iter_mut() {
        *lane = exp2::<A>(*lane, least);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::dispatch::Separate;
    use super::*;

    proptest! {
        #[test]
        fn exp2_is_within_two_ulp_of_the_standard_library(x in -990.0..3.0f64) {
            let expected = x.exp2();
            prop_assert!((exp2::<Fused>(x, LEAST_EXPONENT) - expected).abs() <= 2.0 * f64::EPSILON * expected);
            prop_assert!((exp2::<Separate>(x, LEAST_EXPONENT) - expected).abs() <= 4.0 * f64::EPSILON * expected);
        }

        #[test]
        fn log2_is_close_to_the_standard_library(x in prop_oneof![1e-300..1e300f64, 0.5..2.0f64, 1.0..1e4f64]) {
            let expected = x.log2();
            let error = 2.0 * f64::EPSILON * expected.abs().max(1.0);
            prop_assert!((log2::<Fused>(x) - expected).abs() <= error);
            prop_assert!((log2::<Separate>(x) - expected).abs() <= 2.0 * error);
        }
    }

    #[test]
    fn whole_powers_are_exact_and_the_far_tail_is_zero() {
        for n in -999..=10 {
            assert_eq!(exp2::<Fused>(f64::from(n), LEAST_EXPONENT), 2f64.powi(n));
            assert_eq!(log2::<Fused>(2f64.powi(n)), f64::from(n));
        }
        assert_eq!(exp2::<Fused>(f64::NEG_INFINITY, LEAST_EXPONENT), 0.0);
        assert_eq!(exp2::<Fused>(-1e300, LEAST_EXPONENT), 0.0);
    }
}
