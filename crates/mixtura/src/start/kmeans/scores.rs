//! Compares 16 rows with all centres: the inner loops of k-means.

#![allow(clippy::inline_always, reason = "a kernel must become part of the function compiled for the instruction set")]

use super::points::Real;
use crate::kernels::{Arithmetic, Kernel, LANES, Lanes};

/// ‖x‖² of each row of a block.
pub(super) struct SquaredNorms<'a> {
    pub(super) block: &'a [Lanes],
}

impl Kernel for SquaredNorms<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Lanes {
        let mut norms = [0.0; LANES];
        for x in self.block {
            for lane in 0..LANES {
                norms[lane] = A::mul_add(x[lane], x[lane], norms[lane]);
            }
        }
        Lanes(norms)
    }
}

/// Squared distances max(0, ‖c‖² − 2x·c + ‖x‖²) of the rows of a block to one centre, or the closest so far.
pub(super) struct Distances<'a, T> {
    pub(super) block: &'a [Lanes],
    pub(super) centre: &'a [f64],
    /// ‖c‖².
    pub(super) norm: f64,
    /// ‖x‖².
    pub(super) squares: Lanes,
    /// The closest so far.
    pub(super) closest: Lanes,
    /// Overwritten and returned.
    pub(super) rounded: [T; LANES],
}

impl<T: Real> Kernel for Distances<'_, T> {
    type Output = [T; LANES];

    #[inline(always)]
    fn run<A: Arithmetic>(mut self) -> [T; LANES] {
        let mut product = [0.0; LANES];
        for (x, &c) in self.block.iter().zip(self.centre) {
            add_product::<A>(x, c, &mut product);
        }
        for lane in 0..LANES {
            let distance = (self.norm - 2.0 * product[lane]) + self.squares[lane];
            let distance = if distance > 0.0 { distance } else { 0.0 };
            let closest = self.closest[lane];
            // `closest` already has this precision, so rounding after the comparison gives the same result.
            self.rounded[lane] = T::round(if closest < distance { closest } else { distance });
        }
        self.rounded
    }
}

/// Adds to the potential of each of several centres what the rows of a block contribute: their weighted distances, or
/// the closest so far.
pub(super) struct Potentials<'a> {
    pub(super) block: &'a [Lanes],
    /// D numbers for each centre.
    pub(super) centres: &'a [f64],
    /// The closest so far.
    pub(super) closest: Lanes,
    pub(super) weights: Lanes,
    /// For each centre, a sum in each lane.
    pub(super) sums: &'a mut [Lanes],
}

impl Kernel for Potentials<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let Self { block, closest, .. } = self;
        let squares = SquaredNorms { block }.run::<A>();
        for (centre, sums) in self.centres.chunks_exact(block.len()).zip(self.sums) {
            let norm = centre.iter().map(|c| c * c).sum();
            let least = Distances { block, centre, norm, squares, closest, rounded: [0.0; LANES] }.run::<A>();
            for lane in 0..LANES {
                sums[lane] += self.weights[lane] * least[lane];
            }
        }
    }
}

/// For each row of a block, the two smallest scores among all centres, and the centre with the smallest.
///
/// Cost: D multiply-adds per row and centre.
pub(super) struct TwoNearest<'a> {
    pub(super) block: &'a [Lanes],
    /// D numbers for each centre.
    pub(super) centres: &'a [f64],
    /// ‖c‖² of each centre.
    pub(super) norms: &'a [f64],
}

/// For each of 16 rows: scores are ‖c‖² − 2x·c; of equal scores, the first centre is the nearest.
pub(super) struct Nearest {
    pub(super) first: [f64; LANES],
    /// ∞ if there is only one centre.
    pub(super) second: [f64; LANES],
    /// Number of the nearest centre, as a float so that it can be selected along with the scores.
    pub(super) label: [f64; LANES],
}

/// The same with the distances of the rows.
pub(super) struct Gaps<'a>(pub(super) TwoNearest<'a>);

impl Kernel for Gaps<'_> {
    type Output = (Nearest, Lanes);

    /// How much farther the second nearest centre is than the nearest.
    #[inline(always)]
    fn run<A: Arithmetic>(self) -> (Nearest, Lanes) {
        let squares = SquaredNorms { block: self.0.block }.run::<A>();
        let nearest = self.0.run::<A>();
        let mut gaps = [0.0; LANES];
        for lane in 0..LANES {
            let length = |score: f64| {
                let square = score + squares[lane];
                (if square > 0.0 { square } else { 0.0 }).sqrt()
            };
            gaps[lane] = length(nearest.second[lane]) - length(nearest.first[lane]);
        }
        (nearest, Lanes(gaps))
    }
}

impl Kernel for TwoNearest<'_> {
    type Output = Nearest;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Nearest {
        let n = self.block.len();
        let mut nearest =
            Nearest { first: [f64::INFINITY; LANES], second: [f64::INFINITY; LANES], label: [0.0; LANES] };
        let (pairs, rest) = self.norms.as_chunks::<2>();
        let mut k = 0;
        for norms in pairs {
            // Two at a time, so that each column of the block is loaded once.
            let centres = &self.centres[k * n..][..2 * n];
            let (mut product, mut other) = ([0.0; LANES], [0.0; LANES]);
            for (d, x) in self.block.iter().enumerate() {
                add_product::<A>(x, centres[d], &mut product);
                add_product::<A>(x, centres[n + d], &mut other);
            }
            nearest.take(k, norms[0], &product);
            nearest.take(k + 1, norms[1], &other);
            k += 2;
        }
        for &norm in rest {
            let mut product = [0.0; LANES];
            for (x, &c) in self.block.iter().zip(&self.centres[k * n..]) {
                add_product::<A>(x, c, &mut product);
            }
            nearest.take(k, norm, &product);
        }
        nearest
    }
}

impl Nearest {
    #[inline(always)]
    fn take(&mut self, k: usize, norm: f64, product: &[f64; LANES]) {
        let k = k as f64;
        for lane in 0..LANES {
            let score = norm - 2.0 * product[lane];
            let is_nearer = score < self.first[lane];
            let other = if is_nearer { self.first[lane] } else { score };
            self.second[lane] = if other < self.second[lane] { other } else { self.second[lane] };
            self.label[lane] = if is_nearer { k } else { self.label[lane] };
            self.first[lane] = if is_nearer { score } else { self.first[lane] };
        }
    }
}

#[inline(always)]
fn add_product<A: Arithmetic>(x: &[f64; LANES], c: f64, product: &mut [f64; LANES]) {
    for lane in 0..LANES {
        product[lane] = A::mul_add(x[lane], c, product[lane]);
    }
}
