//! Test type 2 of the paper: the differences between the models after each round.

use mixtura_report::{Axis, Block, Choice, Figure, Mark, Section, Series, Table};

use super::{BOUND, Levels, Scene, by_start, digits, numbers, percent, shown_as};
use crate::Quantiles;
use crate::comparison::Differences;
use crate::quantiles::short;

/// A value of the paper is drawn as a line unless it would push the curves into less than this share of the figure.
const LEAST_SHARE: f64 = 0.2;

pub(crate) fn differences(scene: &Scene<'_>) -> Section {
    let Scene { comparison, summary, units, .. } = *scene;
    let text = format!(
        "Differences between SEM's and EM's components after the same number of rounds, in {units}: lines are medians \
         over SEM's runs, bands quartiles. \"By number\" compares components of the same number, as the paper does, so \
         that swapped components appear far apart. \"Matched\" compares each component with its match in the \
         assignment of smallest total distance."
    );
    let mut table = Table {
        caption: "Largest difference of any component over all starts and runs: in any round, and in the last".into(),
        heading: ["", "weight", "mean", "of Γ_μ", "covariance", "of Γ_Σ"].map(Into::into).into(),
        ..Table::default()
    };
    for (name, largest) in [("any round", &summary.largest_difference), ("last round", &summary.last_difference)] {
        for (how, parts) in [("by number", &largest.unmatched), ("matched", &largest.matched)] {
            table.rows.push(vec![
                format!("{name}, {how}"),
                digits(parts.weight),
                digits(parts.mean),
                percent(parts.mean / summary.gamma_mean),
                digits(parts.covariance),
                percent(parts.covariance / summary.gamma_covariance),
            ]);
        }
    }
    let choice = by_start(comparison, |number, start| {
        let option = |name: &str, short: &str, differences: &Differences, levels: Levels| {
            let suffix = format!("{short}-start-{}", number + 1);
            (name.to_string(), shown_as(difference_figures(scene, &suffix, number, differences, levels)))
        };
        let options = vec![
            option("by number", "unmatched", &start.unmatched, scene.levels),
            option("matched", "matched", &start.matched, Levels::default()),
        ];
        vec![Block::Choice(Choice { label: "components".into(), options, group: None })]
    });
    Section {
        heading: "Differences between the models".into(),
        blocks: vec![Block::Text(text), Block::Table(table), choice],
    }
}

/// What one of the three figures shows.
struct Part<'a> {
    name: &'a str,
    /// The quantity, as in the paper.
    symbol: &'a str,
    label: String,
    /// Largest possible difference, its symbol, and what percentages are of.
    gamma: (f64, &'a str),
    whole: &'a str,
    level: Option<f64>,
    values: &'a [Vec<Quantiles>],
}

/// The differences of weights, means and covariances, by component.
pub(crate) fn difference_figures(
    scene: &Scene<'_>,
    suffix: &str,
    number: usize,
    differences: &Differences,
    levels: Levels,
) -> Vec<Figure> {
    let Scene { summary, units, .. } = scene;
    let parts = [
        Part {
            name: "weights",
            symbol: "|w EM − w SEM|",
            label: "difference of weights".into(),
            gamma: (1.0, ""),
            whole: "weight",
            level: levels.weight,
            values: &differences.weight,
        },
        Part {
            name: "means",
            symbol: "‖μ EM − μ SEM‖",
            label: format!("distance of means, {units}"),
            gamma: (summary.gamma_mean, " Γ_μ"),
            whole: "Γ_μ",
            level: levels.mean,
            values: &differences.mean,
        },
        Part {
            name: "covariances",
            symbol: "‖Σ EM − Σ SEM‖",
            label: format!("Frobenius distance, squared {units}"),
            gamma: (summary.gamma_covariance, " Γ_Σ"),
            whole: "Γ_Σ",
            level: levels.covariance,
            values: &differences.covariance,
        },
    ];
    parts.iter().map(|part| part.figure(scene, suffix, number)).collect()
}

impl Part<'_> {
    fn figure(&self, scene: &Scene<'_>, suffix: &str, number: usize) -> Figure {
        let Self { name, symbol, label, gamma: (gamma, sign), whole, level, values } = self;
        // There is no difference before the first round.
        let rounds = &values[1..];
        let x = numbers(1, rounds.len());
        let series = |k: usize| {
            let each = |of: fn(&Quantiles) -> f64| rounds.iter().map(|round| of(&round[k])).collect::<Vec<f64>>();
            let marks = vec![
                Mark::band("quartiles", x.clone(), each(|q| q.lower_quartile), each(|q| q.upper_quartile)),
                Mark::line("median", x.clone(), each(|q| q.median)),
            ];
            let series = Series::new(&format!("component {k}"), k, marks);
            // Two components always differ by the same weight, and one line would hide the other.
            if (0..k).any(|other| coincide(rounds, other, k)) { series.dashed() } else { series }
        };
        let mut drawn: Vec<Series> = (0..values[0].len()).map(series).collect();
        let highest = rounds.iter().flatten().map(|five| five.upper_quartile).fold(0.0, f64::max);
        let mut title = format!("{symbol} after each round: {}", scene.place(number));
        if let Some(level) = *level {
            let text = format!("paper: at most {}{sign}", short(level / gamma));
            if highest >= LEAST_SHARE * level {
                drawn.push(Series::new("the paper's largest", BOUND, vec![Mark::level(&text, level)]).dashed());
            } else {
                title = format!("{title} ({text}, far above)");
            }
        }
        Figure::new(
            format!("{name}-{suffix}"),
            title,
            Axis::linear("round").rounds(),
            Axis::linear(label).from_zero().also(&format!("% of {whole}"), 100.0 / gamma),
            drawn,
        )
    }
}

/// Whether the medians of two components are the same in every round, up to rounding.
fn coincide(rounds: &[Vec<Quantiles>], a: usize, b: usize) -> bool {
    rounds.iter().all(|round| (round[a].median - round[b].median).abs() <= 1e-9 * round[a].median.abs().max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_with_the_same_differences_hid_each_other() {
        let rounds = |other: f64| vec![vec![Quantiles::of([0.25]), Quantiles::of([other])]; 3];
        assert!(coincide(&rounds(0.25 + 1e-15), 0, 1));
        assert!(!coincide(&rounds(0.26), 0, 1));
    }
}
