//! Brings stored rows into blocks: widened, side by side, less an offset.

use super::dispatch::block_by_block;
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
    fn run<A: Arithmetic>(self) {
        for (lane, row) in self.rows.chunks_exact(self.offset.len()).enumerate().take(LANES) {
            for ((out, &value), &offset) in self.out.iter_mut().zip(row).zip(self.offset) {
                out[lane] = value.to_f64() - offset;
            }
        }
    }
}
