//! Computes Mahalanobis distances of a block of rows to the components.

use super::{Arithmetic, Kernel, LANES, Lanes};

/// Squares past this are cut off, so that the farthest row still has a finite log-density.
const LARGEST_SQUARE: f64 = 1e300;

/// `constant − |A x + b|²` for several components and the rows of one block.
///
/// `A` is lower triangular, packed row after row. Cost: D(D+1)/2 + D multiply-adds a row and component.
pub(crate) struct Whiten<'a> {
    /// The block, one `Lanes` for each of the D columns.
    pub block: &'a [Lanes],
    /// A of each component, packed: D(D+1)/2 numbers.
    pub factors: &'a [f64],
    /// b of each component: D numbers.
    pub offsets: &'a [f64],
    /// What the square is subtracted from, for each component.
    pub constants: &'a [f64],
    /// The result, for each component.
    pub out: &'a mut [Lanes],
}

impl Kernel for Whiten<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.block.len();
        let factors = self.factors.chunks_exact(n * (n + 1) / 2);
        let parameters = factors.zip(self.offsets.chunks_exact(n)).zip(self.constants);
        for (((factor, offset), &constant), out) in parameters.zip(self.out) {
            let square = squared_norm::<A>(self.block, factor, offset);
            for lane in 0..LANES {
                out[lane] = constant - if square[lane] < LARGEST_SQUARE { square[lane] } else { LARGEST_SQUARE };
            }
        }
    }
}

/// |A x + b|² for the rows of a block.
#[inline(always)]
fn squared_norm<A: Arithmetic>(block: &[Lanes], factor: &[f64], offset: &[f64]) -> [f64; LANES] {
    let n_columns = block.len();
    let mut square = [0.0; LANES];
    let mut rest = factor;
    let mut i = 0;
    // Two rows of A at a time: each column of the block is loaded once for both.
    while i + 1 < n_columns {
        let (first, tail) = rest.split_at(i + 1);
        let (second, tail) = tail.split_at(i + 2);
        rest = tail;
        let mut y = [offset[i]; LANES];
        let mut z = [offset[i + 1]; LANES];
        for ((x, &a), &b) in block.iter().zip(first).zip(second) {
            for lane in 0..LANES {
                y[lane] = A::mul_add(a, x[lane], y[lane]);
                z[lane] = A::mul_add(b, x[lane], z[lane]);
            }
        }
        let (x, b) = (&block[i + 1], second[i + 1]);
        for lane in 0..LANES {
            z[lane] = A::mul_add(b, x[lane], z[lane]);
            square[lane] = A::mul_add(y[lane], y[lane], square[lane]);
            square[lane] = A::mul_add(z[lane], z[lane], square[lane]);
        }
        i += 2;
    }
    if i < n_columns {
        let mut y = [offset[i]; LANES];
        for (x, &a) in block.iter().zip(rest) {
            for lane in 0..LANES {
                y[lane] = A::mul_add(a, x[lane], y[lane]);
            }
        }
        for lane in 0..LANES {
            square[lane] = A::mul_add(y[lane], y[lane], square[lane]);
        }
    }
    square
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
