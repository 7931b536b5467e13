//! Computes Mahalanobis distances of a block of rows to the components.

use super::{Arithmetic, Kernel, Lanes};
use crate::rows::LANES;

/// Squares past this are cut off, so that the farthest row still has a finite log-density.
const LARGEST_SQUARE: f64 = 1e300;

/// `constant − |A x + b|²` for one component and the rows of one block.
///
/// `A` is lower triangular, packed row after row. Cost: D(D+1)/2 + D multiply-adds a row.
pub(crate) struct Whiten<'a> {
    /// The block, one `Lanes` for each of the D columns.
    pub block: &'a [Lanes],
    /// A, packed: D(D+1)/2 numbers.
    pub factor: &'a [f64],
    /// b: D numbers.
    pub offset: &'a [f64],
    /// What the square is subtracted from.
    pub constant: f64,
    /// The result.
    pub out: &'a mut Lanes,
}

impl Kernel for Whiten<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n_columns = self.block.len();
        let mut square = [0.0; LANES];
        let mut rest = self.factor;
        let mut i = 0;
        // Two rows of A at a time: each column of the block is loaded once for both.
        while i + 1 < n_columns {
            let (first, tail) = rest.split_at(i + 1);
            let (second, tail) = tail.split_at(i + 2);
            rest = tail;
            let mut y = [self.offset[i]; LANES];
            let mut z = [self.offset[i + 1]; LANES];
            for ((x, &a), &b) in self.block.iter().zip(first).zip(second) {
                for lane in 0..LANES {
                    y[lane] = A::mul_add(a, x[lane], y[lane]);
                    z[lane] = A::mul_add(b, x[lane], z[lane]);
                }
            }
            let (x, b) = (&self.block[i + 1], second[i + 1]);
            for lane in 0..LANES {
                z[lane] = A::mul_add(b, x[lane], z[lane]);
                square[lane] = A::mul_add(y[lane], y[lane], square[lane]);
                square[lane] = A::mul_add(z[lane], z[lane], square[lane]);
            }
            i += 2;
        }
        if i < n_columns {
            let mut y = [self.offset[i]; LANES];
            for (x, &a) in self.block.iter().zip(rest) {
                for lane in 0..LANES {
                    y[lane] = A::mul_add(a, x[lane], y[lane]);
                }
            }
            for lane in 0..LANES {
                square[lane] = A::mul_add(y[lane], y[lane], square[lane]);
            }
        }
        for (out, square) in self.out.iter_mut().zip(square) {
            *out = self.constant - if square < LARGEST_SQUARE { square } else { LARGEST_SQUARE };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::*;

    proptest! {
        #[test]
        fn matches_the_scalar_twin(
            n_columns in 1usize..40,
            values in prop::collection::vec(-3.0..3.0f64, 40 * LANES + 40 * 41 / 2 + 40),
        ) {
            let (lanes, rest) = values.split_at(40 * LANES);
            let (lanes, _) = lanes.as_chunks::<LANES>();
            let (factor, offset) = rest.split_at(40 * 41 / 2);
            let block = &lanes[..n_columns];
            let factor = &factor[..n_columns * (n_columns + 1) / 2];
            let mut out = [0.0; LANES];
            InstructionSet::detect().run(Whiten { block, factor, offset: &offset[..n_columns], constant: 1.5, out: &mut out });
            for lane in 0..LANES {
                let mut square = 0.0;
                for i in 0..n_columns {
                    let row = &factor[i * (i + 1) / 2..][..=i];
                    let y: f64 = offset[i] + row.iter().enumerate().map(|(j, a)| a * block[j][lane]).sum::<f64>();
                    square += y * y;
                }
                prop_assert!((out[lane] - (1.5 - square)).abs() <= 1e-12 * (1.0 + square));
            }
        }
    }
}
