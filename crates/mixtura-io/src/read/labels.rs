//! Numbers row labels from 0, in the order of their values.

use std::cmp::Ordering;
use std::collections::HashMap;

/// The label of a row that has none.
const MISSING: u32 = u32::MAX;

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

    /// Appends a row without a label.
    pub(super) fn push_missing(&mut self) {
        self.labels.push(MISSING);
    }

    /// Rows without a label, in ascending order.
    pub(super) fn missing_rows(&self) -> impl Iterator<Item = usize> {
        self.labels.iter().enumerate().filter(|&(_, &label)| label == MISSING).map(|(row, _)| row)
    }

    /// Keeps only some rows, and only the values that occur in them.
    pub(super) fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        let mut row = 0..;
        self.labels.retain(|_| row.next().is_some_and(&is_kept));
        let mut is_used = vec![false; self.numbers.len()];
        for &label in &self.labels {
            if let Some(is_used) = is_used.get_mut(label as usize) {
                *is_used = true;
            }
        }
        let old = std::mem::take(&mut self.numbers);
        let mut renumbered = vec![MISSING; is_used.len()];
        for (value, number) in old.into_iter().filter(|&(_, number)| is_used[number as usize]) {
            renumbered[number as usize] = self.number(&value);
        }
        for label in &mut self.labels {
            *label = renumbered.get(*label as usize).copied().unwrap_or(MISSING);
        }
    }

    /// Appends labels that were collected separately.
    pub(super) fn append(&mut self, other: Self) {
        let mut renumbered = vec![0; other.numbers.len()];
        for (value, old) in other.numbers {
            renumbered[old as usize] = self.number(&value);
        }
        let renumber = |label: u32| renumbered.get(label as usize).copied().unwrap_or(MISSING);
        self.labels.extend(other.labels.into_iter().map(renumber));
    }

    fn number(&mut self, value: &str) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = u32::try_from(self.numbers.len())
            .ok()
            .filter(|&number| number != MISSING)
            .expect("invariant: fewer labels than 2^32 - 1");
        self.numbers.insert(value.to_owned(), number);
        number
    }

    /// The label of each row, none of which may be missing, and the value of each label.
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

/// Orders texts numerically; different texts of the same number remain different labels, in text order.
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

    #[test]
    fn a_label_of_skipped_rows_only_is_forgotten() {
        let mut builder = LabelBuilder::default();
        builder.push("b");
        builder.push_missing();
        let mut more = LabelBuilder::default();
        more.push_missing();
        more.push("a");
        more.push("c");
        builder.append(more);
        assert_eq!(builder.missing_rows().collect::<Vec<_>>(), [1, 2]);
        builder.retain(|row| ![1, 2, 3].contains(&row));
        assert_eq!(builder.finish(), (vec![0, 1], vec!["b".into(), "c".into()]));
    }
}
