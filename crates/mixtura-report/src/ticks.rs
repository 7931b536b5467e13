//! Chooses and formats round numbers for the ticks of an axis.

use crate::{Axis, Scale};

/// A tick: its position in units of the axis, and its label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub place: f64,
    pub label: String,
}

/// About `n` round numbers between two positions on an axis.
pub(crate) fn ticks(axis: &Axis, (from, to): (f64, f64), n: usize) -> Vec<Tick> {
    match axis.scale {
        Scale::Linear if axis.whole => whole(from, to, n),
        Scale::Linear => linear(from, to, n),
        Scale::Log if axis.whole => whole_logarithmic(from, to, n),
        Scale::Log => logarithmic(from, to, n),
    }
}

/// About `n` round numbers of the second axis, at their positions on the first; none if there is no second axis.
pub(crate) fn second_ticks(axis: &Axis, (from, to): (f64, f64), n: usize) -> Vec<Tick> {
    let Some(second) = &axis.second else { return Vec::new() };
    let moved = |found: Vec<Tick>, place: &dyn Fn(f64) -> f64| -> Vec<Tick> {
        found.into_iter().map(|tick| Tick { place: place(tick.place), ..tick }).collect()
    };
    match axis.scale {
        Scale::Linear => moved(linear(from * second.factor, to * second.factor, n), &|place| place / second.factor),
        Scale::Log => {
            let shift = second.factor.log10();
            moved(logarithmic(from + shift, to + shift, n), &|place| place - shift)
        }
    }
}

fn linear(from: f64, to: f64, n: usize) -> Vec<Tick> {
    let step = round_step((to - from) / n as f64);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    let largest = from.abs().max(to.abs());
    let tick = |i: i64| {
        let place = i as f64 * step;
        let label = if decimals > 6 || largest >= 1e6 {
            exponential(place, largest, step)
        } else {
            format!("{place:.decimals$}")
        };
        Tick { place, label: with_minus(&label) }
    };
    (first..=last).map(tick).collect()
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let share = step / power;
    power
        * if share <= 1.0 + 1e-9 {
            1.0
        } else if share <= 2.0 {
            2.0
        } else if share <= 5.0 {
            5.0
        } else {
            10.0
        }
}

fn exponential(value: f64, largest: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (largest.log10().floor() - step.log10().floor()).clamp(0.0, 15.0) as usize;
    format!("{value:.digits$e}")
}

/// Whole numbers. If the axis begins with one, it gets a tick, and multiples of the step that are too close to it do
/// not. Steps of 2 are avoided: counted from 1, they would give 1, 2, 4.
fn whole(from: f64, to: f64, n: usize) -> Vec<Tick> {
    let step = match round_step((to - from) / n as f64).max(1.0) {
        2.0 => 5.0,
        step => step,
    };
    let first = Some(from.round()).filter(|first| (first - from).abs() < 1e-9 * (to - from));
    let multiples = ((from / step).ceil() as i64..=(to / step).floor() as i64).map(|i| i as f64 * step);
    let apart = multiples.filter(|place| first.is_none_or(|first| place - first >= 0.5 * step));
    let tick = |place: f64| Tick { place, label: with_minus(&format!("{place}")) };
    first.into_iter().chain(apart).map(tick).collect()
}

/// Whole numbers on a logarithmic axis, with one at its beginning.
fn whole_logarithmic(from: f64, to: f64, n: usize) -> Vec<Tick> {
    let is_whole = |place: f64| {
        let value = 10f64.powf(place);
        value >= 0.5 && (value - value.round()).abs() < 1e-9 * value
    };
    let apart = 0.3 * (to - from) / n as f64;
    let found = logarithmic(from, to, n).into_iter().filter(|tick| is_whole(tick.place));
    if !is_whole(from) {
        return found.collect();
    }
    let first = Tick { place: from, label: format!("{}", 10f64.powf(from).round()) };
    std::iter::once(first).chain(found.filter(|tick| tick.place - from > apart)).collect()
}

fn logarithmic(from: f64, to: f64, n: usize) -> Vec<Tick> {
    let decades = to - from;
    let label = |mantissa: i32, exponent: i32| {
        let value = f64::from(mantissa) * 10f64.powi(exponent);
        let text = if (-4..=4).contains(&exponent) {
            let decimals = usize::try_from(-exponent).unwrap_or(0);
            format!("{value:.decimals$}")
        } else {
            format!("{mantissa}e{exponent}")
        };
        Tick { place: value.log10(), label: with_minus(&text) }
    };
    let exponents = from.floor() as i32..=to.ceil() as i32;
    // At most half as many again as asked for.
    let mantissas: &[i32] = if decades <= 2.5 && 3.0 * decades <= 1.5 * n as f64 { &[1, 2, 5] } else { &[1] };
    let every = (decades / n as f64).ceil().max(1.0) as i32;
    let all = exponents.filter(|exponent| exponent.rem_euclid(every) == 0);
    let ticks = all.flat_map(|exponent| mantissas.iter().map(move |&mantissa| label(mantissa, exponent)));
    let ticks: Vec<Tick> = ticks.filter(|tick| (from..=to).contains(&tick.place)).collect();
    if ticks.len() >= 2 {
        return ticks;
    }
    // Fewer than two ticks within a decade: use evenly spaced values.
    let values = linear(10f64.powf(from), 10f64.powf(to), n);
    values.into_iter().map(|tick| Tick { place: tick.place.log10(), ..tick }).filter(|t| t.place.is_finite()).collect()
}

/// Replaces hyphens with minus signs.
fn with_minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    fn labels(axis: &Axis, from: f64, to: f64) -> Vec<String> {
        written(ticks(axis, (from, to), 6))
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_axis() {
        let (linear, log) = (Axis::linear(""), Axis::log(""));
        assert_eq!(labels(&linear, 0.0, 50.0), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(&linear, -0.31, 0.62), ["−0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(
            labels(&linear, -28.191_615, -28.191_51),
            ["−28.19160", "−28.19158", "−28.19156", "−28.19154", "−28.19152"]
        );
        assert_eq!(labels(&linear, 0.0, 4.5e-9), ["0", "1e−9", "2e−9", "3e−9", "4e−9"]);
        assert_eq!(labels(&log, -5.0, 1.0), ["1e−5", "0.0001", "0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(labels(&log, -1.0, 0.35), ["0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(labels(&log, 0.05, 0.25), ["1.2", "1.4", "1.6"]);
    }

    #[test]
    fn every_tick_stands_where_its_label_says() {
        for (from, to) in [(-3.7, 12.9), (1e6, 4e6), (0.0, 1e-8), (-1e-3, 2e-3)] {
            for tick in ticks(&Axis::linear(""), (from, to), 5) {
                let value: f64 = tick.label.replace('−', "-").parse().unwrap();
                assert!((value - tick.place).abs() <= 1e-6 * (to - from) && (from..=to).contains(&tick.place));
            }
        }
    }

    #[test]
    fn rounds_are_whole_and_the_first_has_a_tick() {
        let rounds = Axis::linear("round").rounds();
        assert_eq!(labels(&rounds, 1.0, 50.0), ["1", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(&rounds, 0.0, 50.0), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(&rounds, 1.0, 12.0), ["1", "5", "10"]);
        assert_eq!(labels(&rounds, 1.0, 4.0), ["1", "2", "3", "4"]);
        // 10 would be too close to 8, and 3.4 is no round.
        assert_eq!(labels(&rounds, 8.0, 50.0), ["8", "20", "30", "40", "50"]);
        assert_eq!(labels(&rounds, 3.4, 6.1), ["4", "5", "6"]);
        assert_eq!(labels(&Axis::log("round").rounds(), 0.0, 50f64.log10()), ["1", "2", "5", "10", "20", "50"]);
    }

    #[test]
    fn a_second_axis_shows_the_values_times_its_factor() {
        for (axis, range, expected) in [
            (Axis::linear("").also("%", 25.0), (0.0, 0.2), ["0", "1", "2", "3", "4", "5"].as_slice()),
            (Axis::log("").also("%", 100.0), (-4.0, -1.0), ["0.01", "0.1", "1", "10"].as_slice()),
        ] {
            let found = second_ticks(&axis, range, 6);
            for tick in &found {
                let value = if axis.scale == Scale::Log { 10f64.powf(tick.place) } else { tick.place };
                let shown: f64 = tick.label.parse().unwrap();
                let factor = axis.second.as_ref().unwrap().factor;
                assert!((shown - factor * value).abs() < 1e-9, "{tick:?}");
            }
            assert_eq!(written(found), expected);
        }
        assert!(second_ticks(&Axis::linear("").also("%", f64::NAN), (0.0, 1.0), 6).is_empty());
    }
}
