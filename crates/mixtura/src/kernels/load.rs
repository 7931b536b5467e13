//! Brings stored rows into blocks: widened, transposed, minus an offset.

use super::dispatch::block_by_block;
use super::vector::{TwoFours, Vector};
use super::{Arithmetic, Kernel, LANES, Lanes};
use crate::rows::Scalar;

/// `out = stored − offset`, a column at a time.
pub(crate) struct Centre<'a, T> {
    /// The block as it is stored.
    pub stored: &'a [[T; LANES]],
    /// What is subtracted from each column.
    pub offset: &'a [f64],
    /// The block.
    pub out: &'a mut [Lanes],
}

impl<T: Scalar> Kernel for Centre<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        for ((out, stored), &offset) in self.out.iter_mut().zip(self.stored).zip(self.offset) {
            block_by_block();
            out.0 = stored.map(|value| value.to_f64() - offset);
        }
    }
}

/// `out = rowsᵀ − offset`, a row at a time.
pub(crate) struct Transpose<'a, T> {
    /// Up to `LANES` rows, one after the other.
    pub rows: &'a [T],
    /// What is subtracted from each column.
    pub offset: &'a [f64],
    /// The block.
    pub out: &'a mut [Lanes],
}

impl<T: Scalar> Kernel for Transpose<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(mut self) {
        let n = self.offset.len();
        if A::IS_WIDE && n >= SQUARE && self.rows.len() >= n * LANES {
            return self.in_squares::<A>();
        }
        for (lane, row) in self.rows.chunks_exact(n).enumerate().take(LANES) {
            for ((out, &value), &offset) in self.out.iter_mut().zip(row).zip(self.offset) {
                // Elsewhere compilers do well by themselves.
                if A::IS_WIDE {
                    block_by_block();
                }
                out[lane] = value.to_f64() - offset;
            }
        }
    }
}

/// Rows and columns that are transposed at a time in wide registers.
const SQUARE: usize = 8;

impl<T: Scalar> Transpose<'_, T> {
    /// A whole block of at least eight columns.
    #[inline(always)]
    fn in_squares<A: Arithmetic>(&mut self) {
        let n = self.offset.len();
        for column in (0..n).step_by(SQUARE) {
            // The last columns again where fewer are left.
            let column = column.min(n - SQUARE);
            let offset: &[f64; SQUARE] = self.offset[column..].first_chunk().expect("invariant: enough columns");
            let out: &mut [Lanes; SQUARE] = self.out[column..].first_chunk_mut().expect("invariant: enough columns");
            for lane in (0..LANES).step_by(SQUARE) {
                let mut square = [A::Eight::all(0.0); SQUARE];
                for i in 0..SQUARE {
                    let row: &[T; SQUARE] =
                        self.rows[(lane + i) * n + column..].first_chunk().expect("invariant: whole rows");
                    let mut numbers = [0.0; SQUARE];
                    for j in 0..SQUARE {
                        numbers[j] = row[j].to_f64();
                    }
                    square[i] = A::Eight::load(&numbers);
                }
                let square = A::Eight::transposed(square);
                for i in 0..SQUARE {
                    square[i].sub(A::Eight::all(offset[i])).store(&mut out[i][lane..]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{InstructionSet, dispatch::Fused, vector::Plain};
    use super::*;

    /// Arrays that count as registers, so that the register code is tested on every machine.
    #[derive(Clone, Copy)]
    struct Arrays;

    impl Arithmetic for Arrays {
        const IS_WIDE: bool = true;
        type Eight = Plain<Fused, f64, 8>;
        type Sixteen = Plain<Fused, f32, 16>;

        fn mul_add(a: f64, b: f64, c: f64) -> f64 {
            Fused::mul_add(a, b, c)
        }

        fn mul_add_narrow(a: f32, b: f32, c: f32) -> f32 {
            Fused::mul_add_narrow(a, b, c)
        }
    }

    fn check<T: Scalar>(n: usize, rows: &[T], offset: &[f64]) -> Result<(), TestCaseError> {
        let mut expected = vec![Lanes::all(0.0); n];
        for (i, value) in rows.iter().enumerate() {
            expected[i % n][i / n] = value.to_f64() - offset[i % n];
        }
        let mut out = vec![Lanes::all(0.0); n];
        Transpose { rows, offset, out: &mut out }.run::<Arrays>();
        prop_assert_eq!(&out, &expected);
        for set in InstructionSet::fused().into_iter().chain([InstructionSet::baseline()]) {
            let mut out = vec![Lanes::all(0.0); n];
            set.run(Transpose { rows, offset, out: &mut out });
            prop_assert_eq!(&out, &expected);
            if rows.len() == n * LANES {
                let stored: Vec<[T; LANES]> = (0..n).map(|d| std::array::from_fn(|lane| rows[lane * n + d])).collect();
                let mut out = vec![Lanes::all(0.0); n];
                set.run(Centre { stored: &stored, offset, out: &mut out });
                prop_assert_eq!(&out, &expected);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn loading_matches_its_scalar_twin(
            n in 1usize..=40, n_rows in prop_oneof![Just(LANES), 0..LANES],
            values in prop::collection::vec(-1.0..1.0f64, 40 * (LANES + 1)),
        ) {
            let (offset, rows) = values.split_at(40);
            let (offset, rows) = (&offset[..n], &rows[..n * n_rows]);
            check(n, rows, offset)?;
            check(n, &rows.iter().map(|&x| x as f32).collect::<Vec<_>>(), offset)?;
        }
    }
}
