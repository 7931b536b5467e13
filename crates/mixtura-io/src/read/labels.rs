//! Numbers the labels of rows from 0, in the order of their values.

use std::cmp::Ordering;
use std::collections::HashMap;

/// Collects labels as they are read.
#[derive(Debug, Default)]
pub(super) struct LabelBuilder {
    /// Value to number, in order of appearance.
    numbers: HashMap<String, u32>,
    labels: Vec<u32>,
}

impl LabelBuilder {
    pub(super) fn push(&mut self, value: &str) {
        let number = self.number(value);
        self.labels.push(number);
    }

    /// Appends labels that were collected apart.
    pub(super) fn append(&mut self, other: Self) {
        let mut renumbered = vec![0; other.numbers.len()];
        for (value, old) in other.numbers {
            renumbered[old as usize] = self.number(&value);
        }
        self.labels.extend(other.labels.into_iter().map(|label| renumbered[label as usize]));
    }

    fn number(&mut self, value: &str) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = u32::try_from(self.numbers.len()).expect("invariant: fewer labels than 2^32");
        self.numbers.insert(value.to_owned(), number);
        number
    }

    /// The label of each row, and the value of each label.
    pub(super) fn finish(self) -> (Vec<u32>, Vec<String>) {
        let Self { numbers, mut labels } = self;
        let mut values: Vec<(String, u32)> = numbers.into_iter().collect();
        let numeric: Option<Vec<f64>> =
            values.iter().map(|(value, _)| value.parse().ok().filter(|value: &f64| value.is_finite())).collect();
        match numeric {
            Some(_) => values.sort_unstable_by(|(a, _), (b, _)| by_number(a, b)),
            None => values.sort_unstable(),
        }
        let mut renumbered = vec![0u32; values.len()];
        for (new, (_, old)) in (0..).zip(&values) {
            renumbered[*old as usize] = new;
        }
        for label in &mut labels {
            *label = renumbered[*label as usize];
        }
        (labels, values.into_iter().map(|(value, _)| value).collect())
    }
}

/// Orders texts of numbers; different texts of one number stay different labels, in text order.
fn by_number(a: &str, b: &str) -> Ordering {
    let value = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    value(a).total_cmp(&value(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(values: &[&str]) -> (Vec<u32>, Vec<String>) {
        let mut builder = LabelBuilder::default();
        for value in values {
            builder.push(value);
        }
        builder.finish()
    }

    #[test]
    fn numbers_are_ordered_as_numbers_and_text_as_text() {
        let (labels, values) = number(&["10", "9", "10", "-1", "9"]);
        assert_eq!((labels, values), (vec![2, 1, 2, 0, 1], vec!["-1".into(), "9".into(), "10".into()]));
        let (labels, values) = number(&["virginica", "setosa", "10", "9"]);
        assert_eq!(labels, [3, 2, 0, 1]);
        assert_eq!(values, ["10", "9", "setosa", "virginica"]);
    }
}
