//! Computes Mahalanobis distances of a block of rows to the components, in either precision.

use std::ops::{Deref, DerefMut, Sub};

use super::vector::Vector;
use super::{Arithmetic, Kernel};

/// A number type that distances are computed in.
pub(crate) trait Number: Copy + PartialOrd + Sub<Output = Self> {
    /// 0.
    const ZERO: Self;
    /// `a · b + c`.
    fn mul_add<A: Arithmetic>(a: Self, b: Self, c: Self) -> Self;
    /// `a − b`, for a square b that may have left the range of the type.
    fn less_square(a: Self, b: Self) -> Self;
    /// A vector of half a block's rows.
    type Half<A: Arithmetic>: Vector<Self>;
}

impl Number for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn mul_add<A: Arithmetic>(a: f64, b: f64, c: f64) -> f64 {
        A::mul_add(a, b, c)
    }

    /// Cut off, so that the farthest row still has a finite log-density.
    #[inline(always)]
    fn less_square(a: f64, b: f64) -> f64 {
        const LARGEST: f64 = 1e300;
        a - if b < LARGEST { b } else { LARGEST }
    }

    type Half<A: Arithmetic> = A::Eight;
}

impl Number for f32 {
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn mul_add<A: Arithmetic>(a: f32, b: f32, c: f32) -> f32 {
        A::mul_add_narrow(a, b, c)
    }

    /// As it comes: what is not a number sends the row to double precision.
    #[inline(always)]
    fn less_square(a: f32, b: f32) -> f32 {
        a - b
    }

    type Half<A: Arithmetic> = A::Sixteen;
}

/// `constant − |A x + b|²` for several components and the rows of one block.
///
/// `A` is lower triangular, packed row after row. Cost: D(D+1)/2 + D multiply-adds a row and component.
pub(crate) struct Whiten<'a, L, T> {
    /// The block, lanes for each of the D columns.
    pub block: &'a [L],
    /// A of each component, packed: D(D+1)/2 numbers.
    pub factors: &'a [T],
    /// b of each component: D numbers.
    pub offsets: &'a [T],
    /// What the square is subtracted from, for each component.
    pub constants: &'a [T],
    /// The result, for each component.
    pub out: &'a mut [L],
}

impl<L: DerefMut<Target = [T; W]>, T: Number, const W: usize> Kernel for Whiten<'_, L, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.block.len();
        let factors = self.factors.chunks_exact(n * (n + 1) / 2);
        let parameters = factors.zip(self.offsets.chunks_exact(n)).zip(self.constants);
        for (((factor, offset), &constant), out) in parameters.zip(self.out) {
            let square = squared_norm::<A, L, T, W>(self.block, factor, offset);
            **out = square.map(|square| T::less_square(constant, square));
        }
    }
}

/// The same, leaving out components that are too far from every row of the block to count.
///
/// A sum of squares only grows, rounded or not. So a component may be given up after a few of its
/// coordinates, and what is left out is just what [`Softmax`](super::Softmax) would make zero.
pub(crate) struct WhitenNear<'a, L, T> {
    /// As in [`Whiten`].
    pub block: &'a [L],
    /// As in [`Whiten`].
    pub factors: &'a [T],
    /// As in [`Whiten`].
    pub offsets: &'a [T],
    /// As in [`Whiten`].
    pub constants: &'a [T],
    /// For each component the exponent below which its share of a row counts as zero.
    pub least: &'a [T],
    /// At most the largest log-density of each row.
    pub largest: &'a L,
    /// Results of the components that are left, one after the other.
    pub out: &'a mut [L],
    /// Which components those are.
    pub near: &'a mut [u32],
}

impl<L: DerefMut<Target = [T; W]>, T: Number, const W: usize> Kernel for WhitenNear<'_, L, T> {
    /// How many components are left.
    type Output = usize;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> usize {
        let n = self.block.len();
        let n_factor = n * (n + 1) / 2;
        let largest = **self.largest;
        let mut n_near = 0;
        // The first two coordinates of every component, then two more of those that are left: a list
        // that shrinks costs less than a branch for each component that no machine can foresee.
        let (x, y) = (*self.block[0], *self.block[1.min(n - 1)]);
        let factors = self.factors.chunks_exact(n_factor).zip(self.offsets.chunks_exact(n));
        let parameters = factors.zip(self.constants.iter().zip(self.least));
        for (k, ((factor, offset), (&constant, &least))) in (0u32..).zip(parameters) {
            let mut square = [T::ZERO; W];
            let (a, d) = (factor[0], offset[0]);
            // Of a single column there is no second coordinate: it counts as zero.
            let (b, c, e) = if n > 1 { (factor[1], factor[2], offset[1]) } else { (T::ZERO, T::ZERO, T::ZERO) };
            for lane in 0..W {
                let first = T::mul_add::<A>(a, x[lane], d);
                let second = T::mul_add::<A>(c, y[lane], T::mul_add::<A>(b, x[lane], e));
                square[lane] = T::mul_add::<A>(second, second, T::mul_add::<A>(first, first, T::ZERO));
            }
            *self.out[n_near] = square;
            self.near[n_near] = k;
            n_near += usize::from(counts(constant, square, largest, least));
        }
        for i in (2..n).step_by(2) {
            let mut n_left = 0;
            for candidate in 0..n_near {
                let k = self.near[candidate];
                let at = k as usize;
                let rows = &self.factors[at * n_factor + i * (i + 1) / 2..(at + 1) * n_factor];
                let offset = &self.offsets[at * n..][..n];
                let square = *self.out[candidate];
                let square = if i + 1 < n {
                    add_two::<A, L, T, W>(self.block, &rows[..2 * i + 3], offset, i, square)
                } else {
                    add_last::<A, L, T, W>(self.block, rows, offset[i], square)
                };
                *self.out[n_left] = square;
                self.near[n_left] = k;
                n_left += usize::from(counts(self.constants[at], square, largest, self.least[at]));
            }
            n_near = n_left;
        }
        for (out, &k) in self.out.iter_mut().zip(&self.near[..n_near]) {
            let constant = self.constants[k as usize];
            **out = out.map(|square| T::less_square(constant, square));
        }
        n_near
    }
}

/// Whether `constant − square` counts in any row beside the largest value there.
#[inline(always)]
fn counts<T: Number, const W: usize>(constant: T, square: [T; W], largest: [T; W], least: T) -> bool {
    let mut any = false;
    for lane in 0..W {
        // Written so that what is no number counts.
        #[allow(clippy::neg_cmp_op_on_partial_ord)]
        let counts = !(T::less_square(constant, square[lane]) - largest[lane] < least);
        any |= counts;
    }
    any
}

/// |A x + b|² for the rows of a block.
#[inline(always)]
fn squared_norm<A: Arithmetic, L: Deref<Target = [T; W]>, T: Number, const W: usize>(
    block: &[L],
    factor: &[T],
    offset: &[T],
) -> [T; W] {
    let n_columns = block.len();
    let mut square = [T::ZERO; W];
    let mut rest = factor;
    let mut i = 0;
    while i + 1 < n_columns {
        let (rows, tail) = rest.split_at(2 * i + 3);
        rest = tail;
        square = add_two::<A, L, T, W>(block, rows, offset, i, square);
        i += 2;
    }
    if i < n_columns {
        square = add_last::<A, L, T, W>(block, rest, offset[i], square);
    }
    square
}

/// Adds the squares of coordinates i and i + 1 of A x + b, given those rows of A.
#[inline(always)]
fn add_two<A: Arithmetic, L: Deref<Target = [T; W]>, T: Number, const W: usize>(
    block: &[L],
    rows: &[T],
    offset: &[T],
    i: usize,
    mut square: [T; W],
) -> [T; W] {
    // Both at a time: each column of the block is loaded once.
    let (first, second) = rows.split_at(i + 1);
    let mut y = [offset[i]; W];
    let mut z = [offset[i + 1]; W];
    for ((x, &a), &b) in block.iter().zip(first).zip(second) {
        for lane in 0..W {
            y[lane] = T::mul_add::<A>(a, x[lane], y[lane]);
            z[lane] = T::mul_add::<A>(b, x[lane], z[lane]);
        }
    }
    let (x, b) = (&block[i + 1], second[i + 1]);
    for lane in 0..W {
        z[lane] = T::mul_add::<A>(b, x[lane], z[lane]);
        square[lane] = T::mul_add::<A>(y[lane], y[lane], square[lane]);
        square[lane] = T::mul_add::<A>(z[lane], z[lane], square[lane]);
    }
    square
}

/// Adds the square of the last coordinate of A x + b, given the last row of A.
#[inline(always)]
fn add_last<A: Arithmetic, L: Deref<Target = [T; W]>, T: Number, const W: usize>(
    block: &[L],
    row: &[T],
    offset: T,
    mut square: [T; W],
) -> [T; W] {
    let mut y = [offset; W];
    for (x, &a) in block.iter().zip(row) {
        for lane in 0..W {
            y[lane] = T::mul_add::<A>(a, x[lane], y[lane]);
        }
    }
    for lane in 0..W {
        square[lane] = T::mul_add::<A>(y[lane], y[lane], square[lane]);
    }
    square
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::{InstructionSet, LANES, Lanes};
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn matches_the_scalar_twin(
            n in 1usize..=64, n_components in 1usize..=40, seed in any::<u64>(), slack in -40.0..40.0f64,
        ) {
            let mut numbers = numbers(seed);
            let size = n * (n + 1) / 2;
            let block: Vec<Lanes> = (0..n).map(|_| Lanes(std::array::from_fn(|_| numbers()))).collect();
            let factors: Vec<f64> = (0..n_components * size).map(|_| numbers()).collect();
            let offsets: Vec<f64> = (0..n_components * n).map(|_| numbers()).collect();
            let constants: Vec<f64> = (0..n_components).map(|_| numbers()).collect();
            let (set, mut out) = (InstructionSet::detect(), vec![Lanes::all(0.0); n_components]);
            set.run(Whiten { block: &block, factors: &factors, offsets: &offsets, constants: &constants, out: &mut out });
            for (k, out) in out.iter().enumerate() {
                for lane in 0..LANES {
                    let mut square = 0.0;
                    for i in 0..n {
                        let row = &factors[k * size + i * (i + 1) / 2..][..=i];
                        let y: f64 = row.iter().enumerate().map(|(j, a)| a * block[j][lane]).sum();
                        square += (y + offsets[k * n + i]).powi(2);
                    }
                    prop_assert!((out[lane] - (constants[k] - square)).abs() <= 1e-12 * (1.0 + square));
                }
            }
            // The same bits for components that are left; those that are not count nowhere.
            let largest = Lanes(std::array::from_fn(|lane| out[lane % n_components][lane]));
            let least: Vec<f64> = (0..n_components).map(|_| slack + numbers()).collect();
            let (mut near, mut left) = (vec![0; n_components], vec![Lanes::all(0.0); n_components]);
            let n_near = set.run(WhitenNear {
                block: &block, factors: &factors, offsets: &offsets, constants: &constants,
                least: &least, largest: &largest, out: &mut left, near: &mut near,
            });
            let counts = |k: usize| (0..LANES).any(|lane| out[k][lane] - largest[lane] >= least[k]);
            let expected: Vec<u32> = (0..n_components as u32).filter(|&k| counts(k as usize)).collect();
            prop_assert_eq!(&near[..n_near], &expected);
            for (left, &k) in left.iter().zip(&near[..n_near]) {
                prop_assert_eq!(left, &out[k as usize]);
            }
        }
    }

    /// Numbers in [−1, 1), the same for the same seed.
    pub(in super::super) fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }
}
