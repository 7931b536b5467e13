//! Merges the results of chunks in an order that depends only on chunk numbers.

use serde::{Deserialize, Serialize};

use crate::Error;

/// Results over different rows that can be merged.
pub trait Merge: Send {
    /// Adds the result over the rows that follow.
    fn merge(&mut self, later: &Self);

    /// The same for a result that is no longer needed, so that its parts can be moved.
    fn absorb(&mut self, later: &mut Self) {
        self.merge(later);
    }
}

/// Results of some chunks, merged as far as possible.
///
/// The result over all n chunks is a binary tree: its left half contains the largest power of two of chunks that is
/// less than n, and so on in both halves. Results may arrive in any order; two neighbours are merged as soon as they
/// form a node. At most 2 log₂ n nodes per gap are pending.
///
/// ```
/// use mixtura::sweep::{Merge, Tree};
///
/// #[derive(Debug, PartialEq)]
/// struct Shape(String);
/// impl Merge for Shape {
///     fn merge(&mut self, later: &Self) {
///         self.0 = format!("({} {})", self.0, later.0);
///     }
/// }
///
/// let mut tree = Tree::new();
/// for chunk in [4, 2, 0, 1, 3] {
///     tree.add(chunk, Shape(chunk.to_string()))?;
/// }
/// assert_eq!(tree.finish()?.unwrap().0, "(((0 1) (2 3)) 4)");
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tree<T> {
    /// In chunk order; no two overlap.
    nodes: Vec<Node<T>>,
}

/// The merged result of 2^level chunks; the number of the first one is a multiple of 2^level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Node<T> {
    first: u64,
    level: u32,
    value: T,
}

impl<T> Node<T> {
    fn end(&self) -> u64 {
        self.first + (1 << self.level)
    }
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T: Merge> Tree<T> {
    /// No results yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the result of one chunk. Adding a chunk twice is an error.
    pub fn add(&mut self, chunk: u64, value: T) -> Result<(), Error> {
        self.add_node(chunk, 0, value)
    }

    /// Adds all results of another tree, which must cover other chunks.
    pub fn join(&mut self, other: Self) -> Result<(), Error> {
        other.nodes.into_iter().try_for_each(|node| self.add_node(node.first, node.level, node.value))
    }

    /// The result over all chunks from 0 on; `None` if there are none. A gap is an error.
    pub fn finish(self) -> Result<Option<T>, Error> {
        let mut expected = 0;
        for node in &self.nodes {
            if node.first != expected {
                return Err(Error::MissingChunk { chunk: expected });
            }
            expected = node.end();
        }
        let mut nodes = self.nodes.into_iter().rev().map(|node| node.value);
        let last = nodes.next();
        Ok(last.map(|last| {
            nodes.fold(last, |mut right, mut left| {
                left.absorb(&mut right);
                left
            })
        }))
    }

    pub(super) fn add_node(&mut self, first: u64, level: u32, value: T) -> Result<(), Error> {
        let mut node = Node { first, level, value };
        let mut at = self.nodes.partition_point(|other| other.first < first);
        let is_before = at == 0 || self.nodes[at - 1].end() <= first;
        let is_after = self.nodes.get(at).is_none_or(|next| node.end() <= next.first);
        if !(is_before && is_after) {
            return Err(Error::RepeatedChunk { chunk: first });
        }
        loop {
            let is_left = (node.first >> node.level) % 2 == 0;
            let sibling = if is_left { Some(at) } else { at.checked_sub(1) };
            let sibling = sibling.filter(|&sibling| {
                self.nodes.get(sibling).is_some_and(|other| {
                    other.level == node.level
                        && if is_left { node.end() == other.first } else { other.end() == node.first }
                })
            });
            let Some(sibling) = sibling else { break };
            let other = self.nodes.remove(sibling);
            let (mut left, mut right) = if is_left { (node, other) } else { (other, node) };
            left.value.absorb(&mut right.value);
            left.level += 1;
            (node, at) = (left, sibling);
        }
        self.nodes.insert(at, node);
        Ok(())
    }
}

/// The nodes that a range of chunks consists of, from left to right: first chunk and level of each.
pub(super) fn nodes_of(mut first: u64, end: u64) -> Vec<(u64, u32)> {
    let mut nodes = Vec::new();
    while first < end {
        let aligned = if first == 0 { u32::MAX } else { first.trailing_zeros() };
        let level = aligned.min((end - first).ilog2());
        nodes.push((first, level));
        first += 1 << level;
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Merge for String {
        fn merge(&mut self, later: &Self) {
            *self = format!("({self} {later})");
        }
    }

    /// The tree as described by the module, built recursively.
    fn shape(first: usize, n: usize) -> String {
        if n == 1 {
            return first.to_string();
        }
        let left = n.next_power_of_two() / 2;
        format!("({} {})", shape(first, left), shape(first + left, n - left))
    }

    #[test]
    fn chunks_in_any_order_make_the_same_tree() {
        for n in 1..40_u64 {
            for step in [1, 7, 11, 13] {
                if (1..n).any(|i| i * step % n == 0) {
                    continue;
                }
                let mut tree = Tree::new();
                (0..n).for_each(|i| tree.add(i * step % n, (i * step % n).to_string()).unwrap());
                assert_eq!(tree.finish().unwrap().unwrap(), shape(0, n as usize), "{n} {step}");
            }
        }
    }

    #[test]
    fn pieces_cut_anywhere_between_chunks_make_the_same_tree() {
        let piece = |range: std::ops::Range<u64>| {
            let mut tree = Tree::new();
            range.for_each(|chunk| tree.add(chunk, chunk.to_string()).unwrap());
            tree
        };
        for cut in 0..=21 {
            let mut tree = piece(cut..21);
            tree.join(piece(0..cut)).unwrap();
            assert_eq!(tree.finish().unwrap().unwrap(), shape(0, 21));
        }
    }

    #[test]
    fn gaps_and_repeats_are_errors() {
        let mut tree = Tree::new();
        (0..5).filter(|&chunk| chunk != 3).for_each(|chunk| tree.add(chunk, chunk.to_string()).unwrap());
        assert_eq!(tree.add(1, String::new()), Err(Error::RepeatedChunk { chunk: 1 }));
        assert_eq!(tree.finish(), Err(Error::MissingChunk { chunk: 3 }));
        assert_eq!(Tree::<String>::new().finish(), Ok(None));
    }

    #[test]
    fn a_range_is_made_of_aligned_nodes() {
        assert_eq!(nodes_of(0, 13), [(0, 3), (8, 2), (12, 0)]);
        assert_eq!(nodes_of(5, 13), [(5, 0), (6, 1), (8, 2), (12, 0)]);
        assert_eq!(nodes_of(3, 3), []);
    }
}
