//! Computes Mahalanobis distances of a block of rows to the components, in either precision.

use std::ops::{Deref, DerefMut};

use super::{Arithmetic, Kernel};

/// A number type that distances are computed in.
pub(crate) trait Number: Copy {
    /// 0.
    const ZERO: Self;
    /// `a · b + c`.
    fn mul_add<A: Arithmetic>(a: Self, b: Self, c: Self) -> Self;
    /// `a − b`, for a square b that may have left the range of the type.
    fn less_square(a: Self, b: Self) -> Self;
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
    // Two rows of A at a time: each column of the block is loaded once for both.
    while i + 1 < n_columns {
        let (first, tail) = rest.split_at(i + 1);
        let (second, tail) = tail.split_at(i + 2);
        rest = tail;
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
        i += 2;
    }
    if i < n_columns {
        let mut y = [offset[i]; W];
        for (x, &a) in block.iter().zip(rest) {
            for lane in 0..W {
                y[lane] = T::mul_add::<A>(a, x[lane], y[lane]);
            }
        }
        for lane in 0..W {
            square[lane] = T::mul_add::<A>(y[lane], y[lane], square[lane]);
        }
    }
    square
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{InstructionSet, LANES, Lanes};
    use super::*;

    proptest! {
        #[test]
        fn matches_the_scalar_twin(
            n_columns in 1usize..40,
            values in prop::collection::vec(-3.0..3.0f64, 40 * LANES + 40 * 41 + 80),
        ) {
            let (lanes, rest) = values.split_at(40 * LANES);
            let block: Vec<Lanes> = lanes.as_chunks().0[..n_columns].iter().map(|&lanes| Lanes(lanes)).collect();
            let (factors, offsets) = rest.split_at(40 * 41);
            let size = n_columns * (n_columns + 1) / 2;
            let constants = [1.5, -0.5];
            let mut out = [Lanes::all(0.0); 2];
            let (factors, offsets) = (&factors[..2 * size], &offsets[..2 * n_columns]);
            InstructionSet::detect().run(Whiten { block: &block, factors, offsets, constants: &constants, out: &mut out });
            for (k, out) in out.iter().enumerate() {
                for lane in 0..LANES {
                    let mut square = 0.0;
                    for i in 0..n_columns {
                        let row = &factors[k * size + i * (i + 1) / 2..][..=i];
                        let y: f64 = row.iter().enumerate().map(|(j, a)| a * block[j][lane]).sum();
                        square += (y + offsets[k * n_columns + i]).powi(2);
                    }
                    prop_assert!((out[lane] - (constants[k] - square)).abs() <= 1e-12 * (1.0 + square));
                }
            }
        }
    }
}
