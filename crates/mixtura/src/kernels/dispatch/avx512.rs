//! The vectors of AVX-512: each method is one instruction, or a few that move lanes.

use std::arch::x86_64::{self, __m512, __m512d};

use crate::kernels::vector::{TwoFours, Vector};

/// Eight numbers in a register.
#[derive(Clone, Copy)]
pub(super) struct Eight(__m512d);

/// Sixteen numbers in a register.
#[derive(Clone, Copy)]
pub(super) struct Sixteen(__m512);

/// Calls an intrinsic.
macro_rules! call {
    ($intrinsic:ident $(::<$constant:tt>)? ($($argument:expr),*)) => {
        // SAFETY: outside of this file only `FusedWide` names the types whose methods these are, and
        // only `avx512` names `FusedWide`: the instructions are there. Where an argument is a pointer,
        // the slice that it is of was cut to the length that is read or written.
        unsafe { x86_64::$intrinsic $(::<$constant>)? ($($argument),*) }
    };
}

impl Vector<f64> for Eight {
    #[inline(always)]
    fn all(number: f64) -> Self {
        Self(call!(_mm512_set1_pd(number)))
    }

    #[inline(always)]
    fn load(numbers: &[f64]) -> Self {
        Self(call!(_mm512_loadu_pd(numbers[..8].as_ptr())))
    }

    #[inline(always)]
    fn store(self, out: &mut [f64]) {
        call!(_mm512_storeu_pd(out[..8].as_mut_ptr(), self.0));
    }

    #[inline(always)]
    fn add(self, addend: Self) -> Self {
        Self(call!(_mm512_add_pd(self.0, addend.0)))
    }

    #[inline(always)]
    fn sub(self, subtrahend: Self) -> Self {
        Self(call!(_mm512_sub_pd(self.0, subtrahend.0)))
    }

    #[inline(always)]
    fn mul(self, factor: Self) -> Self {
        Self(call!(_mm512_mul_pd(self.0, factor.0)))
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(call!(_mm512_fmadd_pd(self.0, factor.0, addend.0)))
    }
}

/// Chooses quarters 0 and 2 of two vectors.
const EVEN: i32 = 0b10_00_10_00;
/// Chooses quarters 1 and 3 of two vectors.
const ODD: i32 = 0b11_01_11_01;

/// Two quarters of x, then two of y.
#[inline(always)]
fn quarters<const WHICH: i32>(x: Eight, y: Eight) -> Eight {
    Eight(call!(_mm512_shuffle_f64x2::<WHICH>(x.0, y.0)))
}

/// The first number of every quarter, of x and y alternately.
#[inline(always)]
fn low(x: Eight, y: Eight) -> Eight {
    Eight(call!(_mm512_unpacklo_pd(x.0, y.0)))
}

/// The second number of every quarter, of x and y alternately.
#[inline(always)]
fn high(x: Eight, y: Eight) -> Eight {
    Eight(call!(_mm512_unpackhi_pd(x.0, y.0)))
}

/// Every quarter of four vectors, one vector for each.
#[inline(always)]
fn columns(a: Eight, b: Eight, c: Eight, d: Eight) -> [Eight; 4] {
    let (even, other_even) = (quarters::<EVEN>(a, b), quarters::<EVEN>(c, d));
    let (odd, other_odd) = (quarters::<ODD>(a, b), quarters::<ODD>(c, d));
    [
        quarters::<EVEN>(even, other_even),
        quarters::<EVEN>(odd, other_odd),
        quarters::<ODD>(even, other_even),
        quarters::<ODD>(odd, other_odd),
    ]
}

/// The sums of every four of these vectors: of a's and b's first fours, of their second fours, then of c and d.
#[inline(always)]
fn sums_of_fours(a: Eight, b: Eight, c: Eight, d: Eight) -> Eight {
    // Of every four 0 + 2 and 1 + 3, then both together.
    let ac = quarters::<EVEN>(a, c).add(quarters::<ODD>(a, c));
    let bd = quarters::<EVEN>(b, d).add(quarters::<ODD>(b, d));
    low(ac, bd).add(high(ac, bd))
}

impl TwoFours for Eight {
    #[inline(always)]
    fn twice(four: &[f64]) -> Self {
        let four = call!(_mm256_loadu_pd(four[..4].as_ptr()));
        Self(call!(_mm512_broadcast_f64x4(four)))
    }

    #[inline(always)]
    fn pair(first: &[f64], second: &[f64]) -> Self {
        let (first, second) =
            (call!(_mm256_loadu_pd(first[..4].as_ptr())), call!(_mm256_loadu_pd(second[..4].as_ptr())));
        let first = call!(_mm512_castpd256_pd512(first));
        Self(call!(_mm512_insertf64x4::<1>(first, second)))
    }

    #[inline(always)]
    fn transposed(vectors: [Self; 8]) -> [Self; 8] {
        let [a, b, c, d, e, f, g, h] = vectors;
        let [i, k, m, o] = columns(low(a, b), low(c, d), low(e, f), low(g, h));
        let [j, l, n, p] = columns(high(a, b), high(c, d), high(e, f), high(g, h));
        [i, j, k, l, m, n, o, p]
    }

    #[inline(always)]
    fn sums(of: [[Self; 2]; 2]) -> [[f64; 4]; 2] {
        let [[a, b], [c, d]] = of;
        let mut sums = [[0.0; 4]; 2];
        sums_of_fours(a, b, c, d).store(sums.as_flattened_mut());
        sums
    }

    #[inline(always)]
    fn sums_of_eight(vectors: [Self; 8]) -> [Self; 2] {
        let [a, b, c, d, e, f, g, h] = vectors;
        let (first, second) = (sums_of_fours(a, b, c, d), sums_of_fours(e, f, g, h));
        [quarters::<EVEN>(first, second), quarters::<ODD>(first, second)]
    }
}

impl Vector<f32> for Sixteen {
    #[inline(always)]
    fn all(number: f32) -> Self {
        Self(call!(_mm512_set1_ps(number)))
    }

    #[inline(always)]
    fn load(numbers: &[f32]) -> Self {
        Self(call!(_mm512_loadu_ps(numbers[..16].as_ptr())))
    }

    #[inline(always)]
    fn store(self, out: &mut [f32]) {
        call!(_mm512_storeu_ps(out[..16].as_mut_ptr(), self.0));
    }

    #[inline(always)]
    fn add(self, addend: Self) -> Self {
        Self(call!(_mm512_add_ps(self.0, addend.0)))
    }

    #[inline(always)]
    fn sub(self, subtrahend: Self) -> Self {
        Self(call!(_mm512_sub_ps(self.0, subtrahend.0)))
    }

    #[inline(always)]
    fn mul(self, factor: Self) -> Self {
        Self(call!(_mm512_mul_ps(self.0, factor.0)))
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(call!(_mm512_fmadd_ps(self.0, factor.0, addend.0)))
    }
}
