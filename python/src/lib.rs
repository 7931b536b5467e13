//! The compiled part of the Python package: takes arrays, returns models and arrays.
//!
//! The estimators are written in Python, in the folder `mixtura` next to this one.

#![allow(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]

mod arguments;
mod compare;
mod data;
mod failure;
mod fit;
mod kmeans;
mod lagged;
mod model;
mod online;
mod pool;
mod summary;
mod watch;

use pyo3::prelude::*;

#[pymodule]
mod _mixtura {
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::failure::Collapsed;
    #[pymodule_export]
    use super::fit::{fit, fit_once, of_labels};
    #[pymodule_export]
    use super::kmeans::{
        KmeansRounds, KmeansSeeds, kmeans_assign, kmeans_distances, kmeans_mean, kmeans_squares, kmeans_sums,
    };
    #[pymodule_export]
    use super::model::{Model, bounds, generate};
    #[pymodule_export]
    use super::online::Online;
    #[pymodule_export]
    use super::pool::n_threads;
    #[pymodule_export]
    use super::summary::Summary;
}
