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
            let each = || rows.clone().flat_map(|i| components.clone().map(move |k| (k, i)));
            numbers.extend(each().map(|(k, i)| offsets[k * n_columns + i]));
            for j in 0..rows.end {
                numbers.extend(each().filter(|&(_, i)| j <= i).map(|(k, i)| factors[k * size + i * (i + 1) / 2 + j]));
            }
        };
        if !n_columns.is_multiple_of(2) {
            push(0..1);
        }
        (n_columns % 2..n_columns).step_by(2).for_each(|i| push(i..i + 2));
    }
    numbers
}

/// `constant − |A x + b|²` for several components and the rows of one block: [`Whiten`](super::Whiten), bit
/// for bit, several components at a time.
pub(crate) struct WhitenGroups<'a, L, T> {
    /// As in [`Whiten`](super::Whiten).
    pub block: &'a [L],
    /// A and b of all components, as [`grouped`] puts them.
    pub parameters: &'a [T],
    /// As in [`Whiten`](super::Whiten).
    pub constants: &'a [T],
    /// As in [`Whiten`](super::Whiten).
    pub out: &'a mut [L],
}

impl<L: DerefMut<Target = [T; W]>, T: Number, const W: usize> Kernel for WhitenGroups<'_, L, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.block.len();
        let groups = self.parameters.chunks(GROUP * (n + n * (n + 1) / 2)).zip(self.constants.chunks(GROUP));
        for ((parameters, constants), out) in groups.zip(self.out.chunks_mut(GROUP)) {
            match out.len() {
                1 => whiten_group::<A, L, T, W, 1, 2>(self.block, parameters, constants, out),
                2 => whiten_group::<A, L, T, W, 2, 4>(self.block, parameters, constants, out),
                3 => whiten_group::<A, L, T, W, 3, 6>(self.block, parameters, constants, out),
                _ => whiten_group::<A, L, T, W, GROUP, { 2 * GROUP }>(self.block, parameters, constants, out),
            }
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
        let y = coordinates::<A, L, T, W, G>(&block[..1], row);
        for g in 0..G {
            squares[g] = add_squares::<A, T>(y[g], squares[g]);
        }
    }
    for i in (n % 2..n).step_by(2) {
        let (rows, tail) = rest.split_at(TWO * (i + 2));
        let (last, tail) = tail.split_at(G);
        rest = tail;
        let mut y = coordinates::<A, L, T, W, TWO>(&block[..=i], rows);
        let x = halves::<A, T>(&block[i + 1][..]);
        for g in 0..G {
            y[G + g] = add_product::<A, T>(last[g], x, y[G + g]);
            squares[g] = add_squares::<A, T>(y[G + g], add_squares::<A, T>(y[g], squares[g]));
        }
    }
    for g in 0..G {
        let (mut square, constant) = ([T::ZERO; W], constants[g]);
        squares[g][0].store(&mut square);
        squares[g][1].store(&mut square[W / 2..]);
        *out[g] = square.map(|square| T::less_square(constant, square));
    }
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
        (block, zero): (&[L], &L),
        mut numbers: impl FnMut(usize) -> Vec<T>,
    ) -> Result<(), TestCaseError>
    where
        L: DerefMut<Target = [T; W]> + PartialEq + std::fmt::Debug + Clone,
        T: Number,
    {
        let n = block.len();
        let (factors, offsets) = (&numbers(n_components * n * (n + 1) / 2), &numbers(n_components * n));
        let (constants, parameters) = (&numbers(n_components), &grouped(n, factors, offsets));
        for fused in InstructionSet::fused() {
            let mut expected = vec![zero.clone(); n_components];
            fused.run(Whiten { block, factors, offsets, constants, out: &mut expected });
            for set in [InstructionSet::detect(), InstructionSet::baseline()] {
                let mut out = vec![zero.clone(); n_components];
                set.run_wide(WhitenGroups { block, parameters, constants, out: &mut out });
                prop_assert_eq!(&out, &expected);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn groups_have_the_bits_of_components_one_by_one(
            n in 1usize..=64, n_components in 1usize..=20, seed in any::<u64>(),
        ) {
            let mut one = numbers(seed);
            let block: Vec<Lanes> = (0..n).map(|_| Lanes(std::array::from_fn::<_, LANES, _>(|_| one()))).collect();
            check(n_components, (&block, &Lanes::all(0.0)), |n| (0..n).map(|_| one()).collect())?;
            let narrow = || NarrowLanes(std::array::from_fn::<_, NARROW_LANES, _>(|_| one() as f32));
            let block: Vec<NarrowLanes> = std::iter::repeat_with(narrow).take(n).collect();
            check(n_components, (&block, &NarrowLanes::all(0.0)), |n| (0..n).map(|_| one() as f32).collect())?;
        }
    }
}
