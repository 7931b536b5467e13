//! The loops that touch rows: small, plain, and compiled for the machine they run on.
//!
//! A kernel works on `[f64; LANES]`, and its order of operations is part of its meaning: every
//! instruction set with fused multiply-add gives the same bits. Where thirty-two wide registers allow
//! larger tiles than the compiler makes by itself, a second kernel computes the same with explicit vectors
//! (`tiles.rs`, `groups.rs`).

// A kernel must become part of the function that was compiled for the instruction set.
#![allow(clippy::inline_always)]

mod axes;
mod deviations;
mod dispatch;
mod dots;
mod elementary;
mod gather;
mod groups;
mod lanes;
mod load;
mod narrow;
mod posterior;
mod products;
mod steep;
mod tiles;
mod triangles;
mod uniforms;
mod vector;
mod whiten;

pub(crate) use axes::{Linear, Squares, Stretch, Transform};
pub(crate) use deviations::SquaredDeviations;
pub use dispatch::InstructionSet;
pub(crate) use dispatch::{Arithmetic, Kernel, Separate, prefetch};
pub(crate) use dots::{DotProducts, Side};
pub(crate) use elementary::{LEAST_EXPONENT, scalar_ln};
pub(crate) use gather::{Consecutive, Distribute, Gather, SQUARE, n_squares};
pub(crate) use groups::{TALL, WhitenGroups, grouped};
pub use lanes::Lanes;
pub(crate) use lanes::{LANES, flat};
pub(crate) use load::{Centre, Transpose};
pub use narrow::{ErrorBound, NarrowLanes, NarrowRows};
pub(crate) use narrow::{NARROW_LANES, NARROW_LEAST_EXPONENT, Narrow, NarrowDraw, RELEVANT_BITS, ROUNDOFF};
pub(crate) use posterior::{Apportion, Draw, Evidence, Largest, Shares, Softmax};
pub(crate) use products::{Products, Scale, TotalWeights};
pub(crate) use steep::{SteepRow, SubtractSteep};
pub(crate) use tiles::{OuterProduct, OuterProducts};
pub(crate) use triangles::{BadPivot, Cholesky, InvertLower};
pub(crate) use uniforms::{UNIFORM_BLOCKS, UNIFORM_NUMBERS, Uniforms, in_unit_interval};
pub(crate) use vector::{TwoFours, Vector};
pub(crate) use whiten::{Whiten, WhitenNear};
