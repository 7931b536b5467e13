//! Computes Mahalanobis distances of a block of rows to several components at a time, in wide registers.
//!
//! Four components have enough sums that none waits for another, and each number of the block is loaded
//! once for all of them.

use std::ops::{DerefMut, Range};

use super::vector::Vector;
use super::whiten::Number;
use super::{Arithmetic, Kernel};

/// Components whose coordinates are computed side by side in wide registers.
const GROUP: usize = 4;

/// Factors and offsets of several components in the order in which [`WhitenGroups`] uses them, as many
/// numbers as before.
///
/// For every few components, and for every two rows of A of each: their entries of b, then column by column
/// those of A, of the last column only the second row's. If the number of rows is odd, the first is stored
/// alone.
pub(crate) fn grouped<T: Number>(n_columns: usize, factors: &[T], offsets: &[T]) -> Vec<T> {
    let size = n_columns * (n_columns + 1) / 2;
    let n_components = offsets.len() / n_columns;
    let mut numbers = Vec::with_capacity(factors.len() + offsets.len());
    for first in (0..n_components).step_by(GROUP) {
        let components = first..n_components.min(first + GROUP);
        let mut push = |rows: Range<usize>| {
            for i in rows.clone() {
                numbers.extend(components.clone().map(|k| offsets[k * n_columns + i]));
            }
            for j in 0..rows.end {
                for i in rows.start.max(j)..rows.end {
                    numbers.extend(components.clone().map(|k| factors[k * size + i * (i + 1) / 2 + j]));
                }
            }
        };
        if !n_columns.is_multiple_of(2) {
            push(0..1);
        }
        (n_columns % 2..n_columns).step_by(2).for_each(|i| push(i..i + 2));
    }
    numbers
}

/// `constant − |A x + b|²` for several components and the rows of some blocks: [`Whiten`](super::Whiten), bit
/// for bit, several components at a time.
pub(crate) struct WhitenGroups<'a, L, T> {
    /// Blocks of `stride` lanes each, of which the first D are columns.
    pub blocks: &'a [L],
    /// Lanes from one block to the next.
    pub stride: usize,
    /// D.
    pub n_columns: usize,
    /// A and b of all components, as [`grouped`] puts them.
    pub parameters: &'a [T],
    /// As in [`Whiten`](super::Whiten).
    pub constants: &'a [T],
    /// The result, for each component of each block.
    pub out: &'a mut [L],
}

/// With more columns than this, A of a few components leaves the L1 cache: then several blocks use two of its rows before
/// the next two are read.
pub(crate) const TALL: usize = 48;

impl<L: DerefMut<Target = [T; W]>, T: Number, const W: usize> Kernel for WhitenGroups<'_, L, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let Self { blocks, stride, n_columns: n, parameters, constants, out } = self;
        let size = GROUP * (n + n * (n + 1) / 2);
        if n > TALL && out.len() > constants.len() {
            for (g, parameters) in parameters.chunks(size).enumerate() {
                let first = g * GROUP;
                match constants.len() - first {
                    1 => whiten_tall::<A, L, T, W, 1, 2>((blocks, stride, n), parameters, (constants, first), out),
                    2 => whiten_tall::<A, L, T, W, 2, 4>((blocks, stride, n), parameters, (constants, first), out),
                    3 => whiten_tall::<A, L, T, W, 3, 6>((blocks, stride, n), parameters, (constants, first), out),
                    _ => whiten_tall::<A, L, T, W, GROUP, { 2 * GROUP }>(
                        (blocks, stride, n),
                        parameters,
                        (constants, first),
                        out,
                    ),
                }
            }
            return;
        }
        for (block, out) in blocks.chunks(stride).zip(out.chunks_mut(constants.len())) {
            let block = &block[..n];
            let groups = parameters.chunks(size).zip(constants.chunks(GROUP));
            for ((parameters, constants), out) in groups.zip(out.chunks_mut(GROUP)) {
                match out.len() {
                    1 => whiten_group::<A, L, T, W, 1, 2>(block, parameters, constants, out),
                    2 => whiten_group::<A, L, T, W, 2, 4>(block, parameters, constants, out),
                    3 => whiten_group::<A, L, T, W, 3, 6>(block, parameters, constants, out),
                    _ => whiten_group::<A, L, T, W, GROUP, { 2 * GROUP }>(block, parameters, constants, out),
                }
            }
        }
    }
}

/// G components from `first` on, for all blocks; until the end, `out` holds squares.
#[inline(always)]
fn whiten_tall<A, L, T, const W: usize, const G: usize, const TWO: usize>(
    (blocks, stride, n): (&[L], usize, usize),
    parameters: &[T],
    (constants, first): (&[T], usize),
    out: &mut [L],
) where
    A: Arithmetic,
    L: DerefMut<Target = [T; W]>,
    T: Number,
{
    let mut rest = parameters;
    let mut done = 0;
    while done < n {
        // One row of A, or two.
        let n_rows = if done == 0 && !n.is_multiple_of(2) { 1 } else { 2 };
        let (rows, tail) = rest.split_at(if n_rows == 1 { 2 * G } else { TWO * (done + 2) + G });
        rest = tail;
        for (block, out) in blocks.chunks(stride).zip(out.chunks_mut(constants.len())) {
            let out = &mut out[first..first + G];
            let mut squares = [[T::Half::<A>::all(T::ZERO); 2]; G];
            if done > 0 {
                for g in 0..G {
                    squares[g] = halves::<A, T>(&out[g][..]);
                }
            }
            squares = if n_rows == 1 {
                add_first_row::<A, L, T, W, G>(block, rows, squares)
            } else {
                add_two_rows::<A, L, T, W, G, TWO>(block, done, rows, squares)
            };
            for g in 0..G {
                let out: &mut [T; W] = &mut out[g];
                squares[g][0].store(out);
                squares[g][1].store(&mut out[W / 2..]);
            }
        }
        done += n_rows;
    }
    for out in out.chunks_mut(constants.len()) {
        for (out, &constant) in out[first..first + G].iter_mut().zip(&constants[first..]) {
            **out = out.map(|square| T::less_square(constant, square));
        }
    }
}

/// G components; TWO is 2G, the number of their coordinates in two rows.
#[inline(always)]
fn whiten_group<A, L, T, const W: usize, const G: usize, const TWO: usize>(
    block: &[L],
    parameters: &[T],
    constants: &[T],
    out: &mut [L],
) where
    A: Arithmetic,
    L: DerefMut<Target = [T; W]>,
    T: Number,
{
    let n = block.len();
    let mut squares = [[T::Half::<A>::all(T::ZERO); 2]; G];
    let mut rest = parameters;
    if !n.is_multiple_of(2) {
        let (row, tail) = rest.split_at(2 * G);
        rest = tail;
        squares = add_first_row::<A, L, T, W, G>(block, row, squares);
    }
    for i in (n % 2..n).step_by(2) {
        let (rows, tail) = rest.split_at(TWO * (i + 2) + G);
        rest = tail;
        squares = add_two_rows::<A, L, T, W, G, TWO>(block, i, rows, squares);
    }
    for g in 0..G {
        let (mut square, constant) = ([T::ZERO; W], constants[g]);
        squares[g][0].store(&mut square);
        squares[g][1].store(&mut square[W / 2..]);
        *out[g] = square.map(|square| T::less_square(constant, square));
    }
}

/// Adds the squares of the first coordinate, if it stands alone, given its entries of b and A.
#[inline(always)]
fn add_first_row<A, L, T, const W: usize, const G: usize>(
    block: &[L],
    row: &[T],
    mut squares: [[T::Half<A>; 2]; G],
) -> [[T::Half<A>; 2]; G]
where
    A: Arithmetic,
    L: DerefMut<Target = [T; W]>,
    T: Number,
{
    let y = coordinates::<A, L, T, W, G>(&block[..1], row);
    for g in 0..G {
        squares[g] = add_squares::<A, T>(y[g], squares[g]);
    }
    squares
}

/// Adds the squares of coordinates i and i + 1, given their entries of b and A.
#[inline(always)]
fn add_two_rows<A, L, T, const W: usize, const G: usize, const TWO: usize>(
    block: &[L],
    i: usize,
    rows: &[T],
    mut squares: [[T::Half<A>; 2]; G],
) -> [[T::Half<A>; 2]; G]
where
    A: Arithmetic,
    L: DerefMut<Target = [T; W]>,
    T: Number,
{
    let (rows, last) = rows.split_at(TWO * (i + 2));
    let mut y = coordinates::<A, L, T, W, TWO>(&block[..=i], rows);
    let x = halves::<A, T>(&block[i + 1][..]);
    for g in 0..G {
        y[G + g] = add_product::<A, T>(last[g], x, y[G + g]);
        squares[g] = add_squares::<A, T>(y[G + g], add_squares::<A, T>(y[g], squares[g]));
    }
    squares
}

/// C coordinates of A x + b, given their entries of b and then of A column by column.
#[inline(always)]
fn coordinates<A, L, T, const W: usize, const C: usize>(block: &[L], numbers: &[T]) -> [[T::Half<A>; 2]; C]
where
    A: Arithmetic,
    L: DerefMut<Target = [T; W]>,
    T: Number,
{
    let (offsets, entries) = numbers.as_chunks::<C>().0.split_first().expect("invariant: b comes first");
    let mut y = [[T::Half::<A>::all(T::ZERO); 2]; C];
    for c in 0..C {
        y[c] = [T::Half::<A>::all(offsets[c]); 2];
    }
    for (x, entries) in block.iter().zip(entries) {
        let x = halves::<A, T>(&x[..]);
        for c in 0..C {
            y[c] = add_product::<A, T>(entries[c], x, y[c]);
        }
    }
    y
}

/// The two halves of a block's rows.
#[inline(always)]
fn halves<A: Arithmetic, T: Number>(lanes: &[T]) -> [T::Half<A>; 2] {
    let (first, second) = lanes.split_at(lanes.len() / 2);
    [T::Half::<A>::load(first), T::Half::<A>::load(second)]
}

/// `y + entry · x`.
#[inline(always)]
fn add_product<A: Arithmetic, T: Number>(entry: T, x: [T::Half<A>; 2], y: [T::Half<A>; 2]) -> [T::Half<A>; 2] {
    let entry = T::Half::<A>::all(entry);
    [entry.mul_add(x[0], y[0]), entry.mul_add(x[1], y[1])]
}

/// Adds the squares of a coordinate.
#[inline(always)]
fn add_squares<A: Arithmetic, T: Number>(y: [T::Half<A>; 2], squares: [T::Half<A>; 2]) -> [T::Half<A>; 2] {
    [y[0].mul_add(y[0], squares[0]), y[1].mul_add(y[1], squares[1])]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::narrow::NARROW_LANES;
    use super::super::whiten::tests::numbers;
    use super::super::{InstructionSet, LANES, Lanes, NarrowLanes, Whiten};
    use super::*;

    /// Checks groups against [`Whiten`] with every level of instructions, in registers and in arrays.
    fn check<L, T, const W: usize>(
        n_components: usize,
        n: usize,
        (blocks, zero): (&[L], &L),
        mut numbers: impl FnMut(usize) -> Vec<T>,
    ) -> Result<(), TestCaseError>
    where
        L: DerefMut<Target = [T; W]> + PartialEq + std::fmt::Debug + Clone,
        T: Number,
    {
        // Behind the columns of a block is something else.
        let stride = n + 1;
        let n_blocks = blocks.len() / stride;
        let (factors, offsets) = (&numbers(n_components * n * (n + 1) / 2), &numbers(n_components * n));
        let (constants, parameters) = (&numbers(n_components), &grouped(n, factors, offsets));
        for fused in InstructionSet::fused() {
            let mut expected = vec![zero.clone(); n_blocks * n_components];
            for (block, out) in blocks.chunks(stride).zip(expected.chunks_mut(n_components)) {
                fused.run(Whiten { block: &block[..n], factors, offsets, constants, out });
            }
            for set in [InstructionSet::detect(), InstructionSet::baseline()] {
                let mut out = vec![zero.clone(); n_blocks * n_components];
                set.run_wide(WhitenGroups { blocks, stride, n_columns: n, parameters, constants, out: &mut out });
                prop_assert_eq!(&out, &expected);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn groups_have_the_bits_of_components_one_by_one(
            n in 1usize..=64, n_components in 1usize..=20, n_blocks in 1usize..=3, seed in any::<u64>(),
        ) {
            let (mut one, n_lanes) = (numbers(seed), n_blocks * (n + 1));
            let wide = || Lanes(std::array::from_fn::<_, LANES, _>(|_| one()));
            let blocks: Vec<Lanes> = std::iter::repeat_with(wide).take(n_lanes).collect();
            check(n_components, n, (&blocks, &Lanes::all(0.0)), |n| (0..n).map(|_| one()).collect())?;
            let narrow = || NarrowLanes(std::array::from_fn::<_, NARROW_LANES, _>(|_| one() as f32));
            let blocks: Vec<NarrowLanes> = std::iter::repeat_with(narrow).take(n_lanes).collect();
            check(n_components, n, (&blocks, &NarrowLanes::all(0.0)), |n| (0..n).map(|_| one() as f32).collect())?;
        }
    }
}
