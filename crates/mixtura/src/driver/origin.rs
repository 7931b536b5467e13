//! Shifts the origin of a fit to the rows if they are so far from 0 that means would lose digits.
//!
//! A mean is rounded to the last bit of its magnitude. At an offset of 1e11 that is 1.5e-5, which matters in a
//! direction at the floor (3e-5 of a scale of 1): EM's likelihood then falls by the square of the ratio of the two. The
//! fit therefore subtracts the centre, which has few digits and is subtracted from rows exactly, runs on the result,
//! and shifts the final model back once.

use crate::Mixture;
use crate::family::Family;
use crate::sweep::Summary;

/// The origin is shifted if the centre of a column is more than this many scales from 0. At that distance, the rounding
/// of a mean is 1.1e-10 of the scale and costs 6e-12 nats in a direction at the default floor.
const FAR: f64 = 1e6;

/// The vector to subtract from all rows, if any column is far from 0.
pub(super) fn origin(summary: &Summary) -> Option<Vec<f64>> {
    let of_column = |(&centre, &scale): (&f64, &f64)| if centre.abs() > FAR * scale { centre } else { 0.0 };
    let origin: Vec<f64> = summary.centre.iter().zip(&summary.scale).map(of_column).collect();
    origin.iter().any(|&x| x != 0.0).then_some(origin)
}

/// A point in coordinates relative to `origin`.
pub(super) fn relative_to(point: &[f64], origin: Option<&[f64]>) -> Vec<f64> {
    match origin {
        None => point.to_vec(),
        Some(origin) => point.iter().zip(origin).map(|(x, origin)| x - origin).collect(),
    }
}

/// A model in coordinates relative to `origin`; `None` if the family cannot be shifted.
pub(super) fn moved<F: Family>(model: &Mixture<F>, origin: &[f64]) -> Option<Mixture<F>> {
    let components = model.components.mapped(origin, &vec![1.0; origin.len()])?;
    Some(Mixture { weights: model.weights.clone(), components })
}

/// A model in the data's own coordinates; `None` if it already is.
pub(super) fn moved_back<F: Family>(model: &Mixture<F>, origin: Option<&[f64]>) -> Option<Mixture<F>> {
    let origin = origin?;
    let components = model.components.unmapped(origin, &vec![1.0; origin.len()])?;
    Some(Mixture { weights: model.weights.clone(), components })
}
