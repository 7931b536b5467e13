//! The subcommands, one file each.

pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demonstrate;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod man;
pub(crate) mod paper;
pub(crate) mod per_row;
pub(crate) mod predict;
pub(crate) mod sample;
pub(crate) mod score;
pub(crate) mod show;
