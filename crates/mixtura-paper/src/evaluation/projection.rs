//! Draws a random projection of rows and mixture components, like the first figures of the paper.

use mixtura::random::{Address, Purpose};
use mixtura::{Error, FullGaussian, Mixture, Rows, Source};
use mixtura_report::{Axis, Figure, Mark, Series};

use crate::comparison::page::EM;

/// Maximum number of rows drawn.
const MOST_POINTS: usize = 3000;
/// Number of corners of an ellipse.
const CORNERS: usize = 72;

/// The mixtures drawn in a projection.
#[derive(Debug, Clone, Copy)]
pub struct Ellipses<'a> {
    /// Drawn as areas, the heavier the more opaque, with the numbers of their components; in the colour of EM unless
    /// another one is outlined, which has that colour then.
    pub shaded: &'a Mixture<FullGaussian>,
    /// Its name in the legend.
    pub name: &'a str,
    /// Another one, drawn as outlines, with its name.
    pub outlined: Option<(&'a Mixture<FullGaussian>, &'a str)>,
}

/// Colours of rows and of a mixture that was not fitted.
const ROWS: usize = 6;
const TRUTH: usize = 2;

/// Opacity of the lightest and of the heaviest component.
const OPACITY: (f64, f64) = (0.05, 0.4);

/// Draws rows as dots and components as ellipses of one standard deviation, projected to a random plane.
pub fn projection(name: &str, title: &str, rows: &Rows<'_>, ellipses: Ellipses<'_>) -> Result<Figure, Error> {
    let n = rows.n_columns();
    let axes = random_plane(n);
    let project = |row: &[f64]| axes.each_ref().map(|axis| axis.iter().zip(row).map(|(a, x)| a * x).sum::<f64>());
    let address = Address { seed: 0, restart: 0, round: 0, purpose: Purpose::Sample };
    let sample = Source::of(rows)?.sample(MOST_POINTS, &mut address.item(0))?;
    let points: Vec<[f64; 2]> = (0..sample.n_rows()).map(|row| project(&sample.row(row))).collect();
    let dots = Mark::Points { x: points.iter().map(|p| p[0]).collect(), y: points.iter().map(|p| p[1]).collect() };
    let edge = |model: &Mixture<FullGaussian>, k: usize| {
        outline(project(model.components.mean(k)), projected(model.components.covariance(k), &axes))
    };
    let Ellipses { shaded, outlined, .. } = ellipses;
    let weights = || shaded.weights.iter().copied();
    let (lightest, heaviest) = (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
    let area = |k: usize| {
        let (x, y) = edge(shaded, k);
        let share = if heaviest > lightest { (shaded.weights[k] - lightest) / (heaviest - lightest) } else { 0.3 };
        Mark::Area { x, y, opacity: OPACITY.0 + share * (OPACITY.1 - OPACITY.0) }
    };
    let number = |k: usize| {
        let [x, y] = project(shaded.components.mean(k));
        Mark::Text { x, y, text: k.to_string() }
    };
    let colour = if outlined.is_some() { TRUTH } else { EM };
    let mut series = vec![
        Series::new("rows", ROWS, vec![dots]),
        Series::new(ellipses.name, colour, (0..shaded.n_components()).map(area).collect()),
    ];
    if let Some((model, name)) = outlined {
        let closed = |k: usize| {
            let (mut x, mut y) = edge(model, k);
            x.push(x[0]);
            y.push(y[0]);
            Mark::line("", x, y)
        };
        series.push(Series::new(name, EM, (0..model.n_components()).map(closed).collect()).dashed());
    }
    series.push(Series::new("component numbers", colour, (0..shaded.n_components()).map(number).collect()));
    let figure = Figure::new(
        name,
        title,
        Axis::linear("first projected coordinate"),
        Axis::linear("second projected coordinate"),
        series,
    );
    let figure = figure.equal_axes();
    Ok(if heaviest > lightest { figure.shades("weight", lightest, heaviest) } else { figure })
}

/// Two orthonormal vectors in a random direction, the same for each number of columns.
fn random_plane(n_columns: usize) -> [Vec<f64>; 2] {
    let address = Address { seed: 4, restart: 0, round: 0, purpose: Purpose::Parameters };
    let mut generator = address.item(n_columns as u64);
    let mut draw = || -> Vec<f64> {
        // Sums of uniform numbers are close enough to normal for a random direction.
        (0..n_columns).map(|_| (0..12).map(|_| mixtura::random::uniform(&mut generator)).sum::<f64>() - 6.0).collect()
    };
    let normalized = |vector: Vec<f64>| -> Vec<f64> {
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.into_iter().map(|x| x / length).collect()
    };
    let first = normalized(draw());
    if n_columns == 1 {
        return [first, vec![0.0]];
    }
    let second = draw();
    let along: f64 = first.iter().zip(&second).map(|(a, b)| a * b).sum();
    let second = normalized(second.iter().zip(&first).map(|(b, a)| b - along * a).collect());
    [first, second]
}

/// The covariance of a projection: its two variances and covariance.
fn projected(covariance: &[f64], axes: &[Vec<f64>; 2]) -> [f64; 3] {
    let n = axes[0].len();
    let form = |a: &[f64], b: &[f64]| -> f64 {
        (0..n).map(|i| a[i] * (0..n).map(|j| covariance[i * n + j] * b[j]).sum::<f64>()).sum()
    };
    [form(&axes[0], &axes[0]), form(&axes[1], &axes[1]), form(&axes[0], &axes[1])]
}

/// Points one standard deviation from a centre: centre + L·(cos, sin) for Σ = LLᵀ.
fn outline(centre: [f64; 2], [a, b, c]: [f64; 3]) -> (Vec<f64>, Vec<f64>) {
    let first = a.max(0.0).sqrt();
    let skew = if first > 0.0 { c / first } else { 0.0 };
    let second = (b - skew * skew).max(0.0).sqrt();
    let corner = |i: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / CORNERS as f64).sin_cos();
        (centre[0] + first * cos, centre[1] + skew * cos + second * sin)
    };
    (0..CORNERS).map(corner).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_orthonormal_and_ellipses_are_one_deviation_wide() {
        for n in [2, 3, 27] {
            let [a, b] = random_plane(n);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!(
                (dot(&a, &a) - 1.0).abs() < 1e-12 && (dot(&b, &b) - 1.0).abs() < 1e-12 && dot(&a, &b).abs() < 1e-12
            );
        }
        let (variances, centre) = ([4.0, 9.0, 3.0], [1.0, -1.0]);
        let (x, y) = outline(centre, variances);
        for (x, y) in x.iter().zip(&y) {
            // Every corner has Mahalanobis distance 1.
            let (x, y) = (x - 1.0, y + 1.0);
            let determinant = 4.0 * 9.0 - 9.0;
            let square = (9.0 * x * x - 2.0 * 3.0 * x * y + 4.0 * y * y) / determinant;
            assert!((square - 1.0).abs() < 1e-12);
        }
        let identity = projected(&[4.0, 0.0, 0.0, 9.0], &[vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert_eq!(identity, [4.0, 9.0, 0.0]);
    }
}
