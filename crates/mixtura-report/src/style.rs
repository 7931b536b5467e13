//! Colours, line widths and letters of figures on the screen and in print.

use std::fmt::Write as _;

use crate::figure::{Dash, Mark, Series};

/// Number of colours before they repeat.
pub(crate) const COLOURS: usize = 8;
/// Style sheet of all figures, with named colours.
pub(crate) const STYLE: &str = include_str!("figure.css");
/// The named colours on a white background, distinguishable with any colour vision (after Okabe and Ito 2008);
/// pages use others in dark mode.
const PALETTE: [(&str, &str); 12] = [
    ("paper", "#ffffff"),
    ("ink", "#1c2430"),
    ("quiet", "#5b6675"),
    ("rule", "#dfe4ea"),
    ("c0", "#0072b2"),
    ("c1", "#d55e00"),
    ("c2", "#009e73"),
    ("c3", "#b85c94"),
    ("c4", "#3a9bdc"),
    ("c5", "#c98a00"),
    ("c6", "#5c5c5c"),
    ("c7", "#7a4fb5"),
];
/// Sizes of a figure's letters and distances: in pixels on the screen, in points in print.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Look {
    /// Size of titles.
    pub title: f64,
    /// Size of the labels of axes and of the legend.
    pub label: f64,
    /// Size of the numbers along the axes; most distances are multiples of it.
    pub tick: f64,
    /// Width of lines.
    pub line: f64,
    /// Font families.
    pub font: &'static str,
    /// Height of a frame divided by its width, unless its axes are equal.
    pub aspect: f64,
}

/// A figure on the screen, alone or in a page.
pub(crate) const SCREEN: Look =
    Look { title: 17.0, label: 13.0, tick: 12.0, line: 1.6, font: "system-ui, sans-serif", aspect: 0.5 };
/// A panel of a sheet on the screen.
pub(crate) const PANEL: Look = Look { title: 14.0, aspect: 0.68, ..SCREEN };
/// A figure or panel in print.
pub(crate) const PRINT: Look =
    Look { title: 8.0, label: 7.5, tick: 7.0, line: 0.8, font: "Helvetica, Arial, sans-serif", aspect: 0.68 };

impl Look {
    /// The style sheet of a standalone file, with literal colours and without features that few programs support.
    pub(crate) fn style(&self) -> String {
        let mut style = STYLE.replace('\n', "").replace(";vector-effect:non-scaling-stroke", "");
        for (name, colour) in PALETTE {
            style = style.replace(&format!("var(--{name})"), colour);
        }
        let Look { title, label, tick, line, .. } = self;
        let (halo_line, wide, dot) = (line * 1.9, line * 3.1, line * 1.1);
        write!(
            style,
            ".title{{font-size:{title}px}}.legend,.label,.caption{{font-size:{label}px}}.tick,.note{{font-size:{tick}px}}\
             .note{{stroke-width:{halo}}}.grid,.axis{{stroke-width:{rule}}}.line{{stroke-width:{line}}}\
             .halo{{stroke-width:{halo_line}}}.under .line{{stroke-width:{wide}}}.thin .line{{stroke-width:{thin}}}\
             .dots{{stroke-width:{dot}}}.area{{stroke-width:{area}}}.dashed .line,.level{{stroke-dasharray:{dash} {gap}}}\
             .dotted .line{{stroke-dasharray:{line} {short}}}\
             .dash-dotted .line{{stroke-dasharray:{dash} {short} {line} {short}}}\
             .again .line{{stroke-dasharray:{line} {gap}}}",
            thin = 0.65 * line,
            short = tick / 4.0,
            halo = 0.25 * tick,
            rule = tick / 12.0,
            area = line / 1.5,
            dash = 0.5 * tick,
            gap = tick / 3.0,
        )
        .expect("invariant: writing to a string cannot fail");
        style
    }
}

/// The named colours on a white background, as a style sheet.
pub(crate) fn light_colours() -> String {
    PALETTE.iter().map(|(name, colour)| format!("--{name}:{colour};")).collect()
}

/// The style classes of each series of a figure. The first of two lines is wider, so that both are visible where they
/// coincide.
pub(crate) fn classes(series: &[Series]) -> Vec<String> {
    let lower = match solid_lines(series)[..] {
        [lower, _] => Some(lower),
        _ => None,
    };
    let class = |(number, series): (usize, &Series)| {
        let again = if series.colour >= COLOURS { " again" } else { "" };
        let dash = match series.dash {
            Dash::Solid => "",
            Dash::Dashed => " dashed",
            Dash::Dotted => " dotted",
            Dash::DashDotted => " dash-dotted",
        };
        let thin = if series.thin { " thin" } else { "" };
        let under = if lower == Some(number) { " under" } else { "" };
        format!("series c{}{again}{dash}{thin}{under}", series.colour % COLOURS)
    };
    series.iter().enumerate().map(class).collect()
}

/// Whether the lines of a series have a halo in the colour of the paper: those above the lines of one other series.
/// Halos would cut a band of their own, and the bands and lines of several others.
pub(crate) fn has_halo(series: &[Series], number: usize) -> bool {
    let has_band = || series[number].marks.iter().any(|mark| matches!(mark, Mark::Band { .. }));
    matches!(solid_lines(series)[..], [_, upper] if upper == number) && !has_band()
}

/// The numbers of the series with solid lines.
fn solid_lines(series: &[Series]) -> Vec<usize> {
    let is_solid = |series: &Series| {
        series.dash == Dash::Solid && series.marks.iter().any(|mark| matches!(mark, Mark::Line { .. }))
    };
    (0..series.len()).filter(|&number| is_solid(&series[number])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(n: usize) -> Vec<Series> {
        (0..n).map(|k| Series::new("s", k, vec![Mark::line("v", vec![0.0, 1.0], vec![1.0, 1.0])])).collect()
    }

    #[test]
    fn lines_that_coincide_are_all_visible() {
        assert_eq!(classes(&lines(1)), ["series c0"]);
        assert_eq!(classes(&lines(2)), ["series c0 under", "series c1"]);
        assert_eq!(classes(&lines(3)), ["series c0", "series c1", "series c2"]);
        assert_eq!(classes(&lines(9))[8], "series c0 again");
        let mut two = lines(2);
        assert_eq!([0, 1].map(|number| has_halo(&two, number)), [false, true]);
        two[1].dash = Dash::Dashed;
        assert_eq!([0, 1].map(|number| has_halo(&two, number)), [false, false]);
        assert_eq!(classes(&two)[1], "series c1 dashed");
    }

    #[test]
    fn halos_cut_bands_into_beads() {
        let three = lines(3);
        assert_eq!([0, 1, 2].map(|number| has_halo(&three, number)), [false; 3]);
        let mut two = lines(2);
        two[1].marks.push(Mark::band("quartiles", vec![0.0, 1.0], vec![0.5, 0.5], vec![1.5, 1.5]));
        assert!(!has_halo(&two, 1));
    }

    #[test]
    fn files_have_literal_colours_only() {
        for look in [SCREEN, PRINT] {
            assert!(!look.style().contains("var("));
        }
    }
}
