//! Moves the origin of a fit to the rows, where they lie so far from 0 that means would lose digits.
//!
//! A mean is rounded to the last bit of its own size. At an offset of 1e11 that is 1.5e-5, which a direction at the
//! floor (3e-5 of a scale of 1) notices: EM then falls by the square of the two's ratio. So a fit subtracts the
//! centre, which has few digits and is subtracted from rows exactly, runs there, and is moved back once.

use crate::Mixture;
use crate::family::Family;
use crate::sweep::Summary;

/// A column whose centre lies more than so many scales from 0 is moved there. At that distance the rounding of a
/// mean, 1.1e-10 of the scale, costs a direction at the default floor 6e-12 nats.
const FAR: f64 = 1e6;

/// What to subtract from all rows, if any column lies far from 0.
pub(super) fn origin(summary: &Summary) -> Option<Vec<f64>> {
    let of_column = |(&centre, &scale): (&f64, &f64)| if centre.abs() > FAR * scale { centre } else { 0.0 };
    let origin: Vec<f64> = summary.centre.iter().zip(&summary.scale).map(of_column).collect();
    origin.iter().any(|&x| x != 0.0).then_some(origin)
}

/// A point in coordinates whose origin is there.
pub(super) fn less(point: &[f64], origin: Option<&[f64]>) -> Vec<f64> {
    match origin {
        None => point.to_vec(),
        Some(origin) => point.iter().zip(origin).map(|(x, origin)| x - origin).collect(),
    }
}

/// A model in coordinates whose origin is there; none if the family cannot be moved.
pub(super) fn moved<F: Family>(model: &Mixture<F>, origin: &[f64]) -> Option<Mixture<F>> {
    let components = model.components.mapped(origin, &vec![1.0; origin.len()])?;
    Some(Mixture { weights: model.weights.clone(), components })
}

/// A model in the data's own coordinates; none if it is there already.
pub(super) fn moved_back<F: Family>(model: &Mixture<F>, origin: Option<&[f64]>) -> Option<Mixture<F>> {
    let origin = origin?;
    let components = model.components.unmapped(origin, &vec![1.0; origin.len()])?;
    Some(Mixture { weights: model.weights.clone(), components })
}
