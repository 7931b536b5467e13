//! Chooses and formats round numbers for the ticks of an axis.

use crate::Scale;

/// A tick: its position in units of the axis, and its label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub place: f64,
    pub label: String,
}

/// About `n` round numbers between two positions on an axis.
pub(crate) fn ticks(scale: Scale, from: f64, to: f64, n: usize) -> Vec<Tick> {
    match scale {
        Scale::Linear => linear(from, to, n),
        Scale::Log => logarithmic(from, to, n),
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

fn logarithmic(from: f64, to: f64, n: usize) -> Vec<Tick> {
    let decades = to - from;
    let label = |mantissa: i32, exponent: i32| {
        let value = f64::from(mantissa) * 10f64.powi(exponent);
        let text = if (-3..=3).contains(&exponent) {
            let decimals = usize::try_from(-exponent).unwrap_or(0);
            format!("{value:.decimals$}")
        } else {
            format!("{mantissa}e{exponent}")
        };
        Tick { place: value.log10(), label: with_minus(&text) }
    };
    let exponents = from.floor() as i32..=to.ceil() as i32;
    let mantissas: &[i32] = if decades <= 2.5 { &[1, 2, 5] } else { &[1] };
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

    fn labels(scale: Scale, from: f64, to: f64) -> Vec<String> {
        ticks(scale, from, to, 6).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_axis() {
        assert_eq!(labels(Scale::Linear, 0.0, 50.0), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(Scale::Linear, -0.31, 0.62), ["−0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(
            labels(Scale::Linear, -28.191_615, -28.191_51),
            ["−28.19160", "−28.19158", "−28.19156", "−28.19154", "−28.19152"]
        );
        assert_eq!(labels(Scale::Linear, 0.0, 4.5e-9), ["0", "1e−9", "2e−9", "3e−9", "4e−9"]);
        assert_eq!(labels(Scale::Log, -5.0, 1.0), ["1e−5", "1e−4", "0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(labels(Scale::Log, -1.0, 0.35), ["0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(labels(Scale::Log, 0.05, 0.25), ["1.2", "1.4", "1.6"]);
    }

    #[test]
    fn every_tick_stands_where_its_label_says() {
        for (from, to) in [(-3.7, 12.9), (1e6, 4e6), (0.0, 1e-8), (-1e-3, 2e-3)] {
            for tick in ticks(Scale::Linear, from, to, 5) {
                let value: f64 = tick.label.replace('−', "-").parse().unwrap();
                assert!((value - tick.place).abs() <= 1e-6 * (to - from) && (from..=to).contains(&tick.place));
            }
        }
    }
}
