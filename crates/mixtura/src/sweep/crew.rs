//! Runs a prepared sweep over a piece of rows in memory, on the threads of this machine.

use std::any::Any;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::tree::nodes_of;
use super::{CHUNK_BLOCKS, Merge, Piece, Prepared, Tree};
use crate::Error;

/// The threads of this process and their workspaces.
///
/// Runs on the current rayon pool; the number of threads does not change a single bit of the result. Memory: one
/// workspace per thread, and at most log₂ n results per thread that wait for their neighbours.
#[derive(Default)]
pub struct Crew<'a> {
    workspaces: Shelf,
    tallies: Shelf,
    stop: Option<Box<dyn Fn() -> bool + Send + Sync + 'a>>,
}

impl<'a> Crew<'a> {
    /// Ends sweeps early, with [`Error::Interrupted`], when `stop` returns true. All threads call it before every
    /// chunk, so it should be cheap, such as the load of an atomic flag.
    #[must_use]
    pub fn with_stop(self, stop: impl Fn() -> bool + Send + Sync + 'a) -> Self {
        Self { stop: Some(Box::new(stop)), ..self }
    }

    /// Whether work should end as soon as possible.
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop())
    }

    /// Runs a sweep over a piece.
    pub fn run<P: Prepared>(&self, sweep: &P, piece: Piece<'_>) -> Result<Tree<P::Tally>, Error> {
        self.run_chunks(sweep, piece, piece.first_chunk..piece.first_chunk + piece.n_chunks())
    }

    /// Runs a sweep over some chunks of a piece.
    pub(crate) fn run_chunks<P: Prepared>(
        &self,
        sweep: &P,
        piece: Piece<'_>,
        chunks: Range<u64>,
    ) -> Result<Tree<P::Tally>, Error> {
        let nodes = nodes_of(chunks.start, chunks.end);
        let values: Vec<Result<Box<P::Tally>, Error>> =
            nodes.par_iter().map(|&(first, level)| self.node(sweep, piece, first, level)).collect();
        let mut tree = Tree::new();
        for ((first, level), value) in nodes.into_iter().zip(values) {
            tree.add_node(first, level, *value?)?;
        }
        Ok(tree)
    }

    /// The merged result of 2^level chunks. If several chunks fail, the error of the first one is returned.
    fn node<P: Prepared>(&self, sweep: &P, piece: Piece<'_>, first: u64, level: u32) -> Result<Box<P::Tally>, Error> {
        if level == 0 {
            return self.chunk(sweep, piece, first);
        }
        let half = |first| move || self.node(sweep, piece, first, level - 1);
        let (left, right) = rayon::join(half(first), half(first + (1 << (level - 1))));
        let (mut left, mut right) = (left?, right?);
        left.absorb(&mut right);
        self.tallies.put(shape_of(piece), right);
        Ok(left)
    }

    fn chunk<P: Prepared>(&self, sweep: &P, piece: Piece<'_>, number: u64) -> Result<Box<P::Tally>, Error> {
        if self.is_stopped() {
            return Err(Error::Interrupted);
        }
        let shape = shape_of(piece);
        let workspace = self.workspaces.take(shape, |workspace| sweep.fits(workspace));
        let mut workspace = workspace.unwrap_or_else(|| Box::new(sweep.workspace(shape.n_blocks)));
        let tally = self.tallies.take(shape, |tally| sweep.clear(tally));
        let mut tally = tally.unwrap_or_else(|| Box::new(sweep.tally()));
        let done = sweep.add(&piece.chunk(number), &mut workspace, &mut tally);
        self.workspaces.put(shape, workspace);
        done.map(|()| tally)
    }
}

/// What workspaces and results are made for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Blocks in the longest chunk: for few rows with many columns, room for a whole chunk would be far larger than the
    /// rows.
    n_blocks: usize,
    n_columns: usize,
}

fn shape_of(piece: Piece<'_>) -> Shape {
    Shape { n_blocks: piece.rows.n_blocks().min(CHUNK_BLOCKS), n_columns: piece.rows.n_columns() }
}

/// Reusable objects. Those that do not fit when they are taken are dropped.
#[derive(Default)]
struct Shelf(Mutex<Vec<(Shape, Box<dyn Any + Send>)>>);

impl Shelf {
    /// Takes the last one, if it fits.
    fn take<T: 'static>(&self, shape: Shape, fits: impl FnOnce(&mut T) -> bool) -> Option<Box<T>> {
        let (made_for, last) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        let mut object = last.downcast::<T>().ok().filter(|_| made_for == shape)?;
        fits(&mut object).then_some(object)
    }

    fn put<T: Send + 'static>(&self, shape: Shape, object: Box<T>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((shape, object));
    }
}
