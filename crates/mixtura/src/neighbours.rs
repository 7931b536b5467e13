//! Finds the nearest neighbour of each of many points with a k-d tree (Bentley 1975).
//!
//! Building costs O(n log n · D), a search O(log n · D) for small D and O(n · D) for large D. The tree does not change
//! a single bit of the result: the distance to a box is computed with the same operations as the distance to a point,
//! in the same order, and each is monotone under rounding. A box that is skipped therefore cannot contain a closer
//! point.

use std::ops::Range;

/// Maximum number of points in a box that is not divided further.
const LEAF: usize = 8;

/// Points in nested boxes.
pub(crate) struct Neighbours<'a> {
    points: &'a [f64],
    /// Divisor of the differences in each column.
    unit: &'a [f64],
    /// A size of each point.
    sizes: &'a [f64],
    /// Numbers of the points; those of a box are consecutive.
    order: Vec<u32>,
    nodes: Vec<Node>,
    /// For each node, its smallest and then its largest coordinates: 2·D numbers.
    boxes: Vec<f64>,
}

struct Node {
    /// The range of its points in `order`.
    points: Range<u32>,
    largest_size: f64,
    /// The two halves; `None` for a leaf.
    halves: Option<[u32; 2]>,
}

/// A search for the nearest other point.
struct Search<C> {
    point: usize,
    cost: C,
    is_equal_skipped: bool,
    least: f64,
}

impl<'a> Neighbours<'a> {
    /// Arranges points (n·D numbers) with given sizes.
    pub(crate) fn new(points: &'a [f64], unit: &'a [f64], sizes: &'a [f64]) -> Self {
        let n_points = points.len() / unit.len();
        let order = (0..n_points as u32).collect();
        let mut tree = Self { points, unit, sizes, order, nodes: Vec::new(), boxes: Vec::new() };
        tree.divide(0..n_points);
        tree
    }

    /// The smallest `cost(squared distance, larger size)` between a point and any other; infinite if there is no other.
    /// The cost must not decrease with the distance or increase with the size, including in floating point.
    pub(crate) fn smallest_cost(&self, point: usize, cost: impl Fn(f64, f64) -> f64) -> f64 {
        self.search(Search { point, cost, is_equal_skipped: false, least: f64::INFINITY })
    }

    /// The smallest squared distance between a point and any point at a different place; infinite if there is none.
    pub(crate) fn nearest_square(&self, point: usize) -> f64 {
        self.search(Search { point, cost: |square, _| square, is_equal_skipped: true, least: f64::INFINITY })
    }

    /// Creates the node of some points after those below it; returns its number.
    fn divide(&mut self, range: Range<usize>) -> u32 {
        let n = self.unit.len();
        let mut corners = [vec![f64::INFINITY; n], vec![f64::NEG_INFINITY; n]].concat();
        let mut largest_size = f64::NEG_INFINITY;
        for &point in &self.order[range.clone()] {
            for (d, &x) in self.point(point as usize).iter().enumerate() {
                corners[d] = corners[d].min(x);
                corners[n + d] = corners[n + d].max(x);
            }
            largest_size = largest_size.max(self.sizes[point as usize]);
        }
        let halves = (range.len() > LEAF).then(|| {
            let extent = |d: usize| (corners[n + d] - corners[d]) / self.unit[d];
            let widest = (0..n).max_by(|&a, &b| extent(a).total_cmp(&extent(b))).unwrap_or(0);
            let (points, middle) = (self.points, range.len() / 2);
            let coordinate = |point: u32| points[point as usize * n + widest];
            self.order[range.clone()]
                .select_nth_unstable_by(middle, |&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
            [self.divide(range.start..range.start + middle), self.divide(range.start + middle..range.end)]
        });
        self.nodes.push(Node { points: range.start as u32..range.end as u32, largest_size, halves });
        self.boxes.extend(corners);
        self.nodes.len() as u32 - 1
    }

    fn search(&self, mut search: Search<impl Fn(f64, f64) -> f64>) -> f64 {
        if let Some(root) = self.nodes.len().checked_sub(1) {
            self.visit(root as u32, 0.0, &mut search);
        }
        search.least
    }

    /// Examines the points of a node, whose squared distance is at least `square`, unless none of them can be the
    /// answer.
    fn visit(&self, node: u32, square: f64, search: &mut Search<impl Fn(f64, f64) -> f64>) {
        let Node { points, largest_size, halves } = &self.nodes[node as usize];
        let size = largest_size.max(self.sizes[search.point]);
        let is_skipped = search.is_equal_skipped && self.is_one_place(node, search.point);
        if (search.cost)(square, size) >= search.least || is_skipped {
            return;
        }
        if let Some(halves) = halves {
            let mut halves = halves.map(|half| (half, self.square_to_box(search.point, half)));
            if halves[1].1 < halves[0].1 {
                halves.swap(0, 1);
            }
            halves.into_iter().for_each(|(half, square)| self.visit(half, square, search));
            return;
        }
        for &other in &self.order[points.start as usize..points.end as usize] {
            let other = other as usize;
            let square = self.square(search.point, self.point(other));
            if other != search.point && !(search.is_equal_skipped && square == 0.0) {
                let size = self.sizes[search.point].max(self.sizes[other]);
                search.least = search.least.min((search.cost)(square, size));
            }
        }
    }

    fn point(&self, point: usize) -> &[f64] {
        let n = self.unit.len();
        &self.points[point * n..][..n]
    }

    fn corners(&self, node: u32) -> (&[f64], &[f64]) {
        let n = self.unit.len();
        self.boxes[node as usize * 2 * n..][..2 * n].split_at(n)
    }

    /// Whether all points of a node coincide with a point.
    fn is_one_place(&self, node: u32, point: usize) -> bool {
        let (least, greatest) = self.corners(node);
        least == self.point(point) && greatest == self.point(point)
    }

    fn square(&self, point: usize, other: &[f64]) -> f64 {
        let differences = self.point(point).iter().zip(other).map(|(a, b)| a - b);
        differences.zip(self.unit).map(|(difference, unit)| (difference / unit).powi(2)).sum()
    }

    fn square_to_box(&self, point: usize, node: u32) -> f64 {
        let (least, greatest) = self.corners(node);
        let differences = self.point(point).iter().zip(least.iter().zip(greatest)).map(|(x, (low, high))| {
            // To the nearer side; 0 inside.
            x - x.clamp(*low, *high)
        });
        differences.zip(self.unit).map(|(difference, unit)| (difference / unit).powi(2)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A grid with few values, so that points and distances repeat, and values of all magnitudes.
        #[test]
        fn the_tree_agrees_with_brute_force_to_the_last_bit(
            n in 1usize..5, n_points in 1usize..200, is_coarse in any::<bool>(), seed in any::<u64>(),
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let points: Vec<f64> =
                (0..n_points * n).map(|_| if is_coarse { (next() * 3.0).floor() } else { (next() - 0.5) * 10f64.powf(next() * 8.0) }).collect();
            let sizes: Vec<f64> = (0..n_points).map(|_| 0.1 + next()).collect();
            let unit: Vec<f64> = (0..n).map(|_| 0.5 + next()).collect();
            let tree = Neighbours::new(&points, &unit, &sizes);
            let cost = |square: f64, size: f64| square.sqrt() / size.sqrt();
            for i in 0..n_points {
                let (mut smallest_cost, mut nearest_square) = (f64::INFINITY, f64::INFINITY);
                for j in (0..n_points).filter(|&j| j != i) {
                    let square: f64 =
                        (0..n).map(|d| ((points[i * n + d] - points[j * n + d]) / unit[d]).powi(2)).sum();
                    smallest_cost = smallest_cost.min(cost(square, sizes[i].max(sizes[j])));
                    if square > 0.0 {
                        nearest_square = nearest_square.min(square);
                    }
                }
                prop_assert_eq!(tree.smallest_cost(i, cost).to_bits(), smallest_cost.to_bits());
                prop_assert_eq!(tree.nearest_square(i).to_bits(), nearest_square.to_bits());
            }
        }
    }

    /// The number of points examined makes the difference between n log n and n².
    #[test]
    fn many_equal_points_are_not_compared_one_by_one() {
        let points: Vec<f64> = (0..60_000).map(|i| f64::from(u8::from(i == 0))).collect();
        let sizes = vec![1.0; points.len()];
        let tree = Neighbours::new(&points, &[1.0], &sizes);
        let n_asked = std::cell::Cell::new(0usize);
        let cost = |square: f64, _: f64| {
            n_asked.set(n_asked.get() + 1);
            square
        };
        for point in 0..points.len() {
            assert_eq!(tree.smallest_cost(point, cost), if point == 0 { 1.0 } else { 0.0 });
            assert_eq!(tree.nearest_square(point), 1.0);
        }
        assert!(n_asked.get() < 100 * points.len(), "{}", n_asked.get());
    }
}
