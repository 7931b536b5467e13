//! Computes the steepest coordinates of a whitened row in double precision, for log-densities in single precision.

use super::{Arithmetic, Kernel, LANES, Lanes, NARROW_LANES, NarrowLanes};

/// A coordinate of A x + b that single precision would round too much.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SteepRow {
    /// The row of A, up to its diagonal.
    pub entries: Vec<f64>,
    /// The entry of b.
    pub offset: f64,
}

/// Subtracts the squares of a component's steep coordinates from its log-densities.
pub(crate) struct SubtractSteep<'a> {
    /// The columns of two blocks.
    pub blocks: [&'a [Lanes]; 2],
    /// The coordinates.
    pub rows: &'a [SteepRow],
    /// The component's log-densities without these coordinates, for the rows of both blocks.
    pub out: &'a mut NarrowLanes,
}

impl Kernel for SubtractSteep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let [first, second] = self.blocks;
        let mut square = [0.0; NARROW_LANES];
        for row in self.rows {
            // Both blocks at a time: fewer sums would wait for each other.
            let mut y = [row.offset; NARROW_LANES];
            for ((&entry, first), second) in row.entries.iter().zip(first).zip(second) {
                for lane in 0..LANES {
                    y[lane] = A::mul_add(entry, first[lane], y[lane]);
                    y[LANES + lane] = A::mul_add(entry, second[lane], y[LANES + lane]);
                }
            }
            for lane in 0..NARROW_LANES {
                square[lane] = A::mul_add(y[lane], y[lane], square[lane]);
            }
        }
        for lane in 0..NARROW_LANES {
            self.out.0[lane] -= square[lane] as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::super::whiten::tests::numbers;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn steep_coordinates_match_the_scalar_twin(n in 1usize..=40, n_rows in 0usize..=5, seed in any::<u64>()) {
            let mut numbers = numbers(seed);
            let mut block = || (0..n).map(|_| Lanes(std::array::from_fn(|_| numbers()))).collect::<Vec<_>>();
            let blocks = [block(), block()];
            let rows: Vec<SteepRow> = (0..n_rows)
                .map(|i| SteepRow { entries: (0..n - i % n).map(|_| 1e6 * numbers()).collect(), offset: numbers() })
                .collect();
            let joint: [f32; NARROW_LANES] = std::array::from_fn(|_| numbers() as f32);
            let mut out = NarrowLanes(joint);
            let set = InstructionSet::detect();
            set.run(SubtractSteep { blocks: [&blocks[0], &blocks[1]], rows: &rows, out: &mut out });
            for lane in 0..NARROW_LANES {
                let x = |j: usize| blocks[lane / LANES][j][lane % LANES];
                let y = |row: &SteepRow| row.offset + row.entries.iter().enumerate().map(|(j, a)| a * x(j)).sum::<f64>();
                let square: f64 = rows.iter().map(|row| y(row).powi(2)).sum();
                let expected = f64::from(joint[lane]) - square;
                // Two roundings to single precision, and sums of n + 1 terms of up to 1e6 in double precision.
                let size = square.abs() + 1.0;
                let error = 2.0 * f64::from(f32::EPSILON) * size + 1e-15 * 1e6 * (n * n) as f64 * size.sqrt();
                prop_assert!((f64::from(out.0[lane]) - expected).abs() <= error);
            }
        }
    }
}
