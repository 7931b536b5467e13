//! Test type 2 of the paper: the differences between the models after each round.

use mixtura_report::{Axis, Block, Choice, Figure, Mark, Section, Series, Table};

use super::{Levels, PAPER, Scene, by_start, digits, numbers, percent, two_digits};
use crate::Quantiles;
use crate::comparison::Differences;

/// A value of the paper is drawn as a line unless it would push the curves into less than this share of the figure.
const LEAST_SHARE: f64 = 0.2;
/// Number of components with colours of their own in a figure.
const MOST_COLOURED: usize = 3;
/// Their colours, and that of all others.
const COLOURS: [usize; 6] = [0, 5, 2, 7, 1, 4];
const OTHERS: usize = 6;

pub(crate) fn differences(scene: &Scene<'_>) -> Section {
    let Scene { comparison, summary, units, .. } = *scene;
    let text = format!(
        "Differences between SEM's and EM's components after the same number of rounds, in {units}: lines are medians \
         over SEM's runs, bands quartiles. {} \"By number\" compares components of the same number, as the paper does, so \
         that swapped components appear far apart. \"Matched\" compares each component with its match in the \
         assignment of smallest total distance.",
        grey_words(comparison.plan.n_components)
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
            let drawn = difference_figures(scene, &suffix, number, differences, levels);
            (name.to_string(), drawn.into_iter().map(Drawn::titled).map(Block::Figure).collect())
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

/// What the colours of a figure with this many components mean, if they need a word.
pub(crate) fn grey_words(n_components: usize) -> &'static str {
    if n_components > MOST_COLOURED {
        "In each figure, the three components with the largest difference (upper quartile) have colours; of the others, \
         only the medians are drawn, in grey."
    } else {
        ""
    }
}

/// A figure and a value of the paper that is far above it.
pub(crate) struct Drawn {
    pub figure: Figure,
    /// Such as "at most 0.02 Γ_μ"; `None` if it is drawn, or if the paper has none.
    pub beyond: Option<String>,
}

impl Drawn {
    /// The figure with everything in its title.
    fn titled(self) -> Figure {
        let Self { mut figure, beyond } = self;
        if let Some(value) = beyond {
            figure.title = format!("{} (paper: {value}, far above)", figure.title);
        }
        figure
    }
}

/// What one of the three figures shows.
struct Part<'a> {
    name: &'a str,
    /// The quantity, as in the paper.
    symbol: &'a str,
    label: String,
    /// Largest possible difference, its symbol, and the label of the axis with shares of it.
    gamma: (f64, &'a str),
    shares: &'a str,
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
) -> Vec<Drawn> {
    let Scene { summary, units, .. } = scene;
    let parts = [
        Part {
            name: "weights",
            symbol: "|w EM − w SEM|",
            label: "difference of weights".into(),
            gamma: (1.0, ""),
            shares: "percentage points",
            level: levels.weight,
            values: &differences.weight,
        },
        Part {
            name: "means",
            symbol: "‖μ EM − μ SEM‖",
            label: format!("distance of means, {units}"),
            gamma: (summary.gamma_mean, " Γ_μ"),
            shares: "% of Γ_μ",
            level: levels.mean,
            values: &differences.mean,
        },
        Part {
            name: "covariances",
            symbol: "‖Σ EM − Σ SEM‖",
            label: format!("Frobenius distance, squared {units}"),
            gamma: (summary.gamma_covariance, " Γ_Σ"),
            shares: "% of Γ_Σ",
            level: levels.covariance,
            values: &differences.covariance,
        },
    ];
    let mut known = Vec::new();
    parts.iter().map(|part| part.figure(scene, suffix, number, &mut known)).collect()
}

impl Part<'_> {
    /// The figure; `known` are the components that have a colour, so that they keep it from figure to figure.
    fn figure(&self, scene: &Scene<'_>, suffix: &str, number: usize, known: &mut Vec<usize>) -> Drawn {
        let Self { name, symbol, label, gamma: (gamma, sign), shares, level, .. } = self;
        let largest = largest_components(self.rounds());
        let mut drawn: Vec<Series> = self.others(&largest).into_iter().collect();
        let coloured = coloured(&largest, known);
        drawn.extend(coloured.iter().enumerate().map(|(i, &(k, colour))| {
            let series = self.component(k, colour);
            // Two components always differ by the same weight, and one line would hide the other.
            let is_hidden = coloured[..i].iter().any(|(other, _)| coincide(self.rounds(), *other, k));
            if is_hidden { series.dashed() } else { series }
        }));
        let highest = self.rounds().iter().flatten().map(|five| five.upper_quartile).fold(0.0, f64::max);
        let mut beyond = None;
        if let Some(level) = *level {
            let value = format!("at most {}{sign}", two_digits(level / gamma));
            if highest >= LEAST_SHARE * level {
                let mark = Mark::level(&format!("paper: {value}"), level);
                drawn.push(Series::new("the paper's largest", PAPER, vec![mark]).dash_dotted());
            } else {
                beyond = Some(value);
            }
        }
        let figure = Figure::new(
            format!("{name}-{suffix}"),
            format!("{symbol} after each round: {}", scene.place(number)),
            Axis::linear("round").rounds(),
            Axis::linear(label).from_zero().also(shares, 100.0 / gamma),
            drawn,
        );
        Drawn { figure, beyond }
    }

    /// The rounds from 1: there is no difference before the first.
    fn rounds(&self) -> &[Vec<Quantiles>] {
        &self.values[1..]
    }

    fn median(&self, k: usize, label: &str) -> Mark {
        Mark::line(label, numbers(1, self.rounds().len()), self.each(k, |five| five.median))
    }

    fn each(&self, k: usize, of: fn(&Quantiles) -> f64) -> Vec<f64> {
        self.rounds().iter().map(|round| of(&round[k])).collect()
    }

    fn component(&self, k: usize, colour: usize) -> Series {
        let (low, high) = (self.each(k, |five| five.lower_quartile), self.each(k, |five| five.upper_quartile));
        let band = Mark::band("quartiles", numbers(1, self.rounds().len()), low, high);
        Series::new(&format!("component {k}"), colour, vec![band, self.median(k, "median")])
    }

    /// The medians of all other components in grey; `None` if there are no others.
    fn others(&self, coloured: &[usize]) -> Option<Series> {
        let others = (0..self.values[0].len()).filter(|k| !coloured.contains(k));
        let lines: Vec<Mark> = others.map(|k| self.median(k, &format!("{k}: median"))).collect();
        (!lines.is_empty()).then(|| Series::new("the other components", OTHERS, lines).thin())
    }
}

/// The components that reach the highest upper quartiles, in the order of their numbers: nothing that is drawn in grey
/// would reach higher with its band.
fn largest_components(rounds: &[Vec<Quantiles>]) -> Vec<usize> {
    let n_components = rounds.first().map_or(0, Vec::len);
    let largest = |k: usize| rounds.iter().map(|round| round[k].upper_quartile).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..n_components).collect();
    order.sort_by(|&a, &b| largest(b).total_cmp(&largest(a)));
    order.truncate(MOST_COLOURED);
    order.sort_unstable();
    order
}

/// Each component with its colour. New ones get the first colour that no component has; if there is none, the first
/// that none of these components has.
fn coloured(components: &[usize], known: &mut Vec<usize>) -> Vec<(usize, usize)> {
    let place = |k: usize, known: &[usize]| known.iter().position(|&other| other == k);
    for &k in components {
        if place(k, known).is_some() {
            continue;
        }
        let is_free = |at: &usize| known.get(*at).is_none_or(|other| !components.contains(other));
        match (known.len()..COLOURS.len()).chain(0..known.len()).find(is_free) {
            Some(at) if at < known.len() => known[at] = k,
            _ => known.push(k),
        }
    }
    components.iter().filter_map(|&k| Some((k, COLOURS[place(k, known)?]))).collect()
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

    #[test]
    fn components_0_4_and_8_looked_alike() {
        let of = |sizes: [f64; 10]| vec![sizes.map(|size| Quantiles::of([size])).to_vec(); 3];
        let rounds = of([0.9, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.7, 0.1]);
        let largest = largest_components(&rounds);
        assert_eq!(largest, [0, 4, 8]);
        let mut known = Vec::new();
        let first = coloured(&largest, &mut known);
        assert_eq!(first, [(0, COLOURS[0]), (4, COLOURS[1]), (8, COLOURS[2])]);
        // Components keep their colours from figure to figure, and those of a figure are always different.
        assert_eq!(coloured(&[1, 4, 5], &mut known), [(1, COLOURS[3]), (4, COLOURS[1]), (5, COLOURS[4])]);
        assert_eq!(coloured(&[2, 3, 4], &mut known), [(2, COLOURS[5]), (3, COLOURS[0]), (4, COLOURS[1])]);
        assert_eq!(largest_components(&rounds[..0]), [0usize; 0]);
    }
}
