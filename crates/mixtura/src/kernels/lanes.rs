//! One number for each row of a block: the unit that every kernel works on.

use std::ops::{Deref, DerefMut};

/// How many rows stand side by side in a block: the width of every kernel.
pub(crate) const LANES: usize = 16;

/// One number for each row of a block, aligned so that no vector crosses a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Lanes(pub(crate) [f64; LANES]);

impl Lanes {
    /// The same number for every row.
    pub(crate) const fn all(value: f64) -> Self {
        Self([value; LANES])
    }

    /// The sum over the rows: halves first, so that lanes are added side by side.
    #[inline(always)]
    pub(crate) fn sum(&self) -> f64 {
        let quarter = |i: usize| (self.0[i] + self.0[i + 8]) + (self.0[i + 4] + self.0[i + 12]);
        (quarter(0) + quarter(2)) + (quarter(1) + quarter(3))
    }
}

impl Deref for Lanes {
    type Target = [f64; LANES];

    #[inline(always)]
    fn deref(&self) -> &[f64; LANES] {
        &self.0
    }
}

impl DerefMut for Lanes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64; LANES] {
        &mut self.0
    }
}

/// All numbers of some blocks, one after the other.
pub(crate) fn flat(lanes: &[Lanes]) -> impl Iterator<Item = f64> + '_ {
    lanes.iter().flat_map(|lanes| lanes.0)
}
