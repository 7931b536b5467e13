//! Brings rows from anywhere in a chunk side by side.

#![allow(clippy::inline_always, reason = "a kernel must become part of the function compiled for the instruction set")]

use super::points::Real;
use crate::kernels::{Arithmetic, InstructionSet, Kernel, LANES, Lanes, TwoFours, Vector};

/// Rows and columns that are transposed at a time in wide registers.
const SQUARE: usize = 8;

/// Gathers rows side by side, minus an offset, rounded to the precision of the data; `picks` says which row goes to
/// which lane.
pub(super) fn gather<T: Real>(
    set: InstructionSet,
    rows: &[T],
    offset: &[f64],
    picks: [usize; LANES],
    block: &mut [Lanes],
) {
    if set.is_wide() && offset.len() >= SQUARE {
        set.run(InSquares { rows, offset, picks, block });
    } else {
        one_by_one(rows, offset, picks, block);
    }
}

/// Intentionally not a kernel: with AVX-512, the compiler would turn these stores into scatters, which are slow.
#[inline(never)]
fn one_by_one<T: Real>(rows: &[T], offset: &[f64], picks: [usize; LANES], block: &mut [Lanes]) {
    let n_columns = offset.len();
    for (lane, pick) in picks.into_iter().enumerate() {
        let row = &rows[pick * n_columns..][..n_columns];
        for ((out, value), offset) in block.iter_mut().zip(row).zip(offset) {
            out[lane] = T::round(value.to_f64() - offset).to_f64();
        }
    }
}

/// The same for at least eight columns, transposed in registers.
struct InSquares<'a, T> {
    rows: &'a [T],
    offset: &'a [f64],
    picks: [usize; LANES],
    block: &'a mut [Lanes],
}

impl<T: Real> Kernel for InSquares<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.offset.len();
        for column in (0..n).step_by(SQUARE) {
            // The last columns again where fewer are left.
            let column = column.min(n - SQUARE);
            let offset = A::Eight::load(&self.offset[column..]);
            let out: &mut [Lanes; SQUARE] = self.block[column..].first_chunk_mut().expect("invariant: enough columns");
            for lane in (0..LANES).step_by(SQUARE) {
                let mut square = [A::Eight::all(0.0); SQUARE];
                for i in 0..SQUARE {
                    let begin = self.picks[lane + i] * n + column;
                    let row: &[T; SQUARE] = self.rows[begin..].first_chunk().expect("invariant: whole rows");
                    let mut numbers = [0.0; SQUARE];
                    for j in 0..SQUARE {
                        numbers[j] = row[j].to_f64();
                    }
                    A::Eight::load(&numbers).sub(offset).store(&mut numbers);
                    for number in &mut numbers {
                        *number = T::round(*number).to_f64();
                    }
                    square[i] = A::Eight::load(&numbers);
                }
                let square = A::Eight::transposed(square);
                for i in 0..SQUARE {
                    square[i].store(&mut out[i][lane..]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<T: Real>(rows: &[T], offset: &[f64], picks: [usize; LANES]) -> Result<(), TestCaseError> {
        let n = offset.len();
        let (mut plain, mut squares) = (vec![Lanes::all(0.0); n], vec![Lanes::all(1.0); n]);
        one_by_one(rows, offset, picks, &mut plain);
        gather(InstructionSet::detect(), rows, offset, picks, &mut squares);
        prop_assert_eq!(&plain, &squares);
        if n >= SQUARE {
            let mut arrays = vec![Lanes::all(1.0); n];
            InstructionSet::baseline().run(InSquares { rows, offset, picks, block: &mut arrays });
            prop_assert_eq!(&plain, &arrays);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn rows_gathered_in_registers_are_those_gathered_one_by_one(
            n in 1usize..=33, values in prop::collection::vec(-1.0..1.0f64, 33 * 41),
            picks in prop::array::uniform16(0usize..40),
        ) {
            let (offset, rows) = values.split_at(33);
            let (offset, rows) = (&offset[..n], &rows[..40 * n]);
            check(rows, offset, picks)?;
            check(&rows.iter().map(|&x| x as f32).collect::<Vec<_>>(), offset, picks)?;
        }
    }
}
