//! Prints notes and warnings about a fit.

use mixtura::driver::{Event, EventKind, Termination};
use mixtura::family::Family;
use mixtura::sweep::{FarValue, Summary};
use mixtura::{Algorithm, Fit, Rows};

use crate::table::{counted, number};
use crate::talk;

pub(super) fn constant_columns(summary: &Summary, columns: &[String]) {
    for column in summary.constant_columns() {
        let name = columns.get(column).map_or_else(|| (column + 1).to_string(), Clone::clone);
        let value = summary.minimum[column];
        let is_plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
        let value = if is_plain { value.to_string() } else { format!("{value:e}") };
        talk::notice(&format!("column {name} is constant ({value}) and does not help to tell components apart"));
    }
}

/// Warns about values so far from all others that they are unlikely to be measurements. Row numbers include skipped
/// rows.
pub(super) fn far_values(summary: &Summary, rows: &Rows<'_>, columns: &[String], skipped: &[usize]) {
    // A normalized fit sees scaled values; report the original ones.
    let stored = rows.without_normalization();
    for FarValue { row, column, .. } in summary.far_values() {
        let name = columns.get(column).map_or_else(|| (column + 1).to_string(), Clone::clone);
        let value = stored.row(row)[column];
        talk::warning(&format!(
            "row {}, column {name}: value {value:e} is more than a million times farther from the other values than \
             they are from each other; if it marks a missing value, remove the row",
            row_in_file(row, skipped) + 1
        ));
    }
}

/// The number in the file of a row that was read, from 0.
pub(super) fn row_in_file(row: usize, skipped: &[usize]) -> usize {
    skipped.iter().fold(row, |row, &skipped| row + usize::from(skipped <= row))
}

/// Reports the events of a fit, one line per kind; components are numbered as in the model file.
pub(super) fn events<F: Family>(fit: &Fit<F>, events: &[Event], algorithm: Algorithm) {
    if fit.termination == Termination::Interrupted {
        let rounds = format!("after {}", counted(fit.rounds as usize, "round"));
        let when = match &fit.race {
            Some(race) => race.interrupted_on.map_or(rounds, |n_rows| {
                format!("while {} starts raced on {}", fit.restarts_asked, counted(n_rows as usize, "row"))
            }),
            None if fit.restarts_asked > 1 => {
                format!("{} of {} restarts had finished", fit.restarts_ended, fit.restarts_asked)
            }
            None => rounds,
        };
        talk::warning(&format!("interrupted: {when}"));
    }
    let mut told = Vec::new();
    for event in events {
        if !told.contains(&event.kind) {
            told.push(event.kind);
            let is_on_floor = |other: &Event| {
                let is_same = |end: &Event| end.kind == EventKind::OnFloor && end.component == other.component;
                other.kind == EventKind::Clipped && events.iter().any(is_same)
            };
            // Components that end on the variance floor get a separate warning.
            let alike = events.iter().filter(|other| other.kind == event.kind && !is_on_floor(other));
            let alike: Vec<&Event> = alike.collect();
            if !alike.is_empty() {
                announce(event.kind, &alike, fit, algorithm);
            }
        }
    }
}

/// "component 3 ended", "components 1, 2 ended" and so on.
fn ended(components: &[String]) -> String {
    match components {
        [one] => format!("component {one} ended"),
        few if few.len() <= 5 => format!("components {} ended", few.join(", ")),
        many => format!("{} components ended", many.len()),
    }
}

fn announce<F: Family>(kind: EventKind, events: &[&Event], fit: &Fit<F>, algorithm: Algorithm) {
    let mut components: Vec<usize> = events.iter().filter_map(|event| event.component).collect();
    components.sort_unstable();
    let components: Vec<String> = components.iter().map(ToString::to_string).collect();
    let who = match components.as_slice() {
        [one] => format!("component {one} was"),
        few if few.len() <= 5 => format!("components {} were", few.join(", ")),
        many => format!("{} components were", many.len()),
    };
    let first = events.iter().map(|event| event.first).min().unwrap_or(0);
    let last = events.iter().map(|event| event.last).max().unwrap_or(0);
    let when = if first == last { format!("in round {first}") } else { format!("between rounds {first} and {last}") };
    match kind {
        EventKind::Reseeded => talk::warning(&format!("{who} empty and moved to a new place {when}")),
        EventKind::Blended => {
            talk::notice(&format!("{who} left with too few rows and blended with the previous estimate {when}"));
        }
        EventKind::CovarianceKept => {
            talk::warning(&format!("{who} left with a singular covariance and kept the previous one {when}"));
        }
        EventKind::CorrelationsDropped => {
            talk::warning(&format!(
                "{who} fitted without correlations {when}, because the covariance was singular to working precision; \
                 check for rows far from all others, or use --covariance diagonal"
            ));
        }
        EventKind::ParametersKept => {
            talk::warning(&format!("{who} empty again and kept the previous parameters {when}"));
        }
        EventKind::Recentred => {
            talk::notice(&format!(
                "{who} narrow and far from the other rows, and therefore centred on its own mean {when}"
            ));
        }
        EventKind::Clipped => talk::notice(&format!("{who} held at the variance floor (--regularization) {when}")),
        EventKind::OnFloor => talk::warning(&format!(
            "{} at the variance floor (--regularization): the likelihood, AIC and BIC depend on the floor and are not \
             comparable between fits; use fewer components, --covariance diagonal or tied, or a larger \
             --regularization, or leave out redundant columns",
            ended(&components)
        )),
        EventKind::FewRows => talk::warning(&format!(
            "{} fewer rows than needed to estimate a component: the likelihood, AIC and BIC say little about new \
             data; use fewer components, more rows, or --covariance diagonal or tied",
            ended(&components).replace("ended", "ended with")
        )),
        EventKind::RoundLimit => {
            let or_tolerance = if algorithm == Algorithm::Sem { "" } else { " or --tolerance" };
            let rounds = counted(fit.rounds as usize, "round");
            talk::warning(&format!("not converged after {rounds}: raise --rounds{or_tolerance}"));
        }
        EventKind::RestartsDisagree => {
            let least = fit.restarts.iter().copied().fold(f64::INFINITY, f64::min);
            let spread = number(fit.mean_ln_likelihood - least);
            talk::warning(&format!("restarts differ by up to {spread} nats per row: there are several local maxima"));
        }
        EventKind::GuardWon => {
            talk::notice("EM from the same start reached a higher likelihood than auto and was kept (--guard)");
        }
        EventKind::FractionalWeights => {
            talk::notice("weights are not integers: each row is assigned with its full weight to one drawn component");
        }
        other => talk::notice(&format!("{other:?} {when}")),
    }
}
