//! Finds the selected columns among those of a file.

use std::collections::HashMap;

use super::selector::Picked;
use crate::words::listed;
use crate::{Column, Error, Place, ReadOptions};

/// Maximum number of columns: far more than any fit can use, and few enough to keep a list of them.
const MOST_COLUMNS: usize = 1 << 20;

/// The columns of a file.
#[derive(Debug)]
pub(super) struct Header {
    /// The file, for messages.
    pub(super) file: String,
    /// One name per column, or empty.
    pub(super) names: Vec<String>,
    /// Number of columns in the file.
    pub(super) n_columns: usize,
    /// The columns by name.
    places: HashMap<String, NamePlaces>,
    /// Whether a name is itself a number, so that a position could be mistaken for a name.
    has_number_names: bool,
}

/// The first two columns with the same name.
#[derive(Debug, Clone, Copy)]
struct NamePlaces {
    first: usize,
    second: Option<usize>,
}

/// The columns to read, as indices into the columns of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) data: Vec<usize>,
    pub(super) weights: Option<usize>,
    pub(super) labels: Option<usize>,
    /// For each data column, whether it was selected by its exact name or position.
    pub(super) is_exact: Vec<bool>,
    /// Non-numeric columns that are left out, in ascending order.
    pub(super) left_out: Vec<usize>,
}

/// Rejects a table with too many columns.
pub(super) fn refuse_too_many(file: &str, n_columns: usize) -> Result<(), Error> {
    if n_columns > MOST_COLUMNS {
        return Err(Error::TooManyColumns { file: file.to_owned(), n_columns, limit: MOST_COLUMNS });
    }
    Ok(())
}

impl Header {
    pub(super) fn new(file: String, names: Vec<String>, n_columns: usize) -> Self {
        let mut places: HashMap<String, NamePlaces> = HashMap::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            match places.get_mut(name) {
                Some(places) => places.second = places.second.or(Some(index)),
                None => {
                    places.insert(name.clone(), NamePlaces { first: index, second: None });
                }
            }
        }
        let has_number_names = names.iter().any(|name| name.parse::<usize>().is_ok());
        Self { file, names, n_columns, places, has_number_names }
    }

    pub(super) fn column(&self, index: usize) -> Column {
        match self.names.get(index) {
            Some(name) if !name.is_empty() => Column::Name(name.clone()),
            _ => Column::Number(index),
        }
    }

    /// A location in a file without lines.
    pub(super) fn place(&self, row: usize, column: usize) -> Place {
        Place { file: self.file.clone(), row, line: None, column: self.column(column) }
    }

    /// The column with a name or, if no column has that name, with a position from 1.
    pub(super) fn find(&self, wanted: &str) -> Result<usize, Error> {
        if let Some(column) = self.find_name(wanted)? {
            return Ok(column);
        }
        match wanted.trim().parse::<usize>() {
            Ok(number) if !self.has_number_names && (1..=self.n_columns).contains(&number) => Ok(number - 1),
            _ => Err(self.unknown(wanted, false)),
        }
    }

    fn find_name(&self, wanted: &str) -> Result<Option<usize>, Error> {
        match self.places.get(wanted) {
            Some(&NamePlaces { first, second: Some(second) }) if !wanted.is_empty() => {
                Err(Error::AmbiguousColumn { file: self.file.clone(), name: wanted.to_owned(), first, second })
            }
            places => Ok(places.map(|places| places.first)),
        }
    }

    fn unknown(&self, wanted: &str, is_expected: bool) -> Error {
        Error::UnknownColumn {
            file: self.file.clone(),
            column: wanted.to_owned(),
            is_expected,
            near: self.near(wanted),
            available: self.names.clone(),
            n_columns: self.n_columns,
        }
    }

    /// Names of a list of columns; unnamed columns are called by their number.
    pub(super) fn names_of(&self, columns: &[usize]) -> Vec<String> {
        let name = |&column: &usize| match self.column(column) {
            Column::Name(name) => name,
            Column::Number(number) => (number + 1).to_string(),
        };
        columns.iter().map(name).collect()
    }
}

impl Selection {
    pub(super) fn new(header: &Header, options: &ReadOptions) -> Result<Self, Error> {
        let find = |wanted: &Option<String>| wanted.as_deref().map(|wanted| header.find(wanted)).transpose();
        let (weights, labels) = (find(&options.weights)?, find(&options.labels)?);
        let (mut data, mut is_exact) = if let Some(selectors) = &options.columns {
            picked(header, selectors)?
        } else {
            let is_data = |index: &usize| ![weights, labels].contains(&Some(*index));
            let data: Vec<usize> = (0..header.n_columns).filter(is_data).collect();
            let is_exact = vec![false; data.len()];
            (data, is_exact)
        };
        let mut is_excluded = vec![false; header.n_columns];
        for selector in &options.exclude {
            match header.select(selector)? {
                Picked::One(column) => is_excluded[column] = true,
                Picked::Several(columns) => columns.into_iter().for_each(|column| is_excluded[column] = true),
            }
        }
        let mut kept = data.iter().map(|&column| !is_excluded[column]);
        is_exact.retain(|_| kept.next().unwrap_or(true));
        data.retain(|&column| !is_excluded[column]);
        if let Some(expected) = options.expected.as_ref().filter(|_| !header.names.is_empty()) {
            let found = matched(header, expected, options.columns.is_some().then_some(&data))?;
            if found.iter().any(|&column| is_excluded[column]) {
                return Err(other_columns(header, expected, &data));
            }
            data = found;
            is_exact = vec![true; data.len()];
        }
        if data.is_empty() && !options.exclude.is_empty() {
            return Err(Error::AllExcluded { file: header.file.clone() });
        }
        if data.is_empty() {
            return Err(Error::NoColumns { file: header.file.clone() });
        }
        Ok(Self { data, weights, labels, is_exact, left_out: Vec::new() })
    }

    /// Leaves out the data columns for which `has_no_numbers` is true and that were not selected exactly.
    pub(super) fn leave_out(&mut self, has_no_numbers: impl Fn(usize) -> bool) {
        let Self { data, is_exact, left_out, .. } = self;
        let n_before = left_out.len();
        left_out
            .extend(data.iter().zip(&*is_exact).filter(|&(&c, &exact)| !exact && has_no_numbers(c)).map(|(&c, _)| c));
        if left_out.len() == n_before {
            return;
        }
        left_out.sort_unstable();
        let mut kept = data.iter().map(|column| left_out.binary_search(column).is_err());
        is_exact.retain(|_| kept.next().unwrap_or(true));
        data.retain(|column| left_out.binary_search(column).is_err());
    }

    /// Rejects two columns with the same name, unless they were selected by position.
    pub(super) fn refuse_repeated_names(&self, header: &Header) -> Result<(), Error> {
        let (mut is_data, mut is_exact) = (vec![false; header.n_columns], vec![false; header.n_columns]);
        for (&column, &exact) in self.data.iter().zip(&self.is_exact) {
            (is_data[column], is_exact[column]) = (true, exact);
        }
        let mut first_of: HashMap<&str, usize> = HashMap::new();
        for column in (0..header.n_columns).filter(|&column| is_data[column]) {
            let Some(name) = header.names.get(column).filter(|name| !name.is_empty()) else {
                continue;
            };
            // Most names are unique and need not be remembered.
            if header.places.get(name).is_none_or(|places| places.second.is_none()) {
                continue;
            }
            if let Some(&first) = first_of.get(name.as_str())
                && !(is_exact[first] && is_exact[column])
            {
                let (file, name) = (header.file.clone(), name.clone());
                return Err(Error::AmbiguousColumn { file, name, first, second: column });
            }
            first_of.entry(name).or_insert(column);
        }
        Ok(())
    }

    /// For each column of the file, whether it is read at all.
    pub(super) fn is_used(&self, n_columns: usize) -> Vec<bool> {
        let mut is_used = vec![false; n_columns];
        self.data.iter().chain(&self.weights).chain(&self.labels).for_each(|&column| is_used[column] = true);
        is_used
    }

    /// A note for each column of weights or labels that is also used as data, as a pattern may do by accident.
    pub(super) fn double_uses(&self, header: &Header) -> Vec<String> {
        let uses = [(self.weights, "row weights"), (self.labels, "labels")];
        let note = |(column, what): (Option<usize>, &str)| {
            let column = column.filter(|column| self.data.contains(column))?;
            let selector = header.names_of(&[column]).remove(0);
            let (file, column) = (&header.file, header.column(column));
            Some(format!("{file}: {column} is used both as {what} and as data; leave it out with --exclude {selector}"))
        };
        uses.into_iter().filter_map(note).collect()
    }

    /// A note about the omitted columns, if there are any.
    pub(super) fn notice(&self, header: &Header) -> Option<String> {
        let names = header.names_of(&self.left_out);
        match names.len() {
            0 => None,
            1 => Some(format!("{}: left out 1 non-numeric column: {}", header.file, names[0])),
            n => Some(format!("{}: left out {n} non-numeric columns: {}", header.file, listed(&names))),
        }
    }
}

/// Finds columns by selectors, as described in [`ReadOptions`], among the given names or, if there are none, among
/// `n_columns` unnamed columns; `file` is the name of the table in messages.
///
/// ```
/// let names = ["id", "x1", "x2", "y"].map(String::from);
/// assert_eq!(mixtura_io::pick_columns(&names, 4, &["y".into(), "x*".into()], "m.json")?, [3, 1, 2]);
/// # Ok::<(), mixtura_io::Error>(())
/// ```
pub fn pick_columns(names: &[String], n_columns: usize, selectors: &[String], file: &str) -> Result<Vec<usize>, Error> {
    picked(&Header::new(file.to_owned(), names.to_vec(), n_columns), selectors).map(|(columns, _)| columns)
}

/// The selected columns in order of first mention, and which of them were named exactly.
fn picked(header: &Header, selectors: &[String]) -> Result<(Vec<usize>, Vec<bool>), Error> {
    let mut data = Vec::with_capacity(selectors.len());
    let mut is_taken = vec![false; header.n_columns];
    let mut is_exact = vec![false; header.n_columns];
    for selector in selectors {
        let columns = match header.select(selector)? {
            Picked::One(column) => {
                if std::mem::replace(&mut is_exact[column], true) {
                    return Err(Error::RepeatedColumn { file: header.file.clone(), column: header.column(column) });
                }
                vec![column]
            }
            Picked::Several(columns) => columns,
        };
        for column in columns {
            if !std::mem::replace(&mut is_taken[column], true) {
                data.push(column);
            }
        }
    }
    let is_exact = data.iter().map(|&column| is_exact[column]).collect();
    Ok((data, is_exact))
}

/// The columns with the expected names, in that order; the selected columns, if any, must be the same set.
fn matched(header: &Header, expected: &[String], picked: Option<&Vec<usize>>) -> Result<Vec<usize>, Error> {
    let found = expected.iter().map(|name| header.find_name(name)?.ok_or_else(|| header.unknown(name, true)));
    let found: Result<Vec<usize>, Error> = found.collect();
    let Some(picked) = picked else {
        return found;
    };
    let sorted = |columns: &[usize]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns
    };
    match found {
        Ok(found) if sorted(&found) == sorted(picked) => Ok(found),
        _ => Err(other_columns(header, expected, picked)),
    }
}

fn other_columns(header: &Header, expected: &[String], picked: &[usize]) -> Error {
    let (file, picked) = (header.file.clone(), header.names_of(picked));
    Error::OtherColumns { file, picked, expected: expected.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str], n_columns: usize) -> Header {
        Header::new("a.csv".into(), names.iter().map(|&name| name.into()).collect(), n_columns)
    }

    fn select(header: &Header, columns: &[&str]) -> Result<Vec<usize>, Error> {
        let columns = Some(columns.iter().map(|&name| name.into()).collect());
        Selection::new(header, &ReadOptions { columns, ..ReadOptions::default() }).map(|selection| selection.data)
    }

    #[test]
    fn names_come_before_numbers() {
        assert_eq!(select(&header(&["a", "b", "c"], 3), &["c", "a"]).unwrap(), [2, 0]);
        assert_eq!(select(&header(&["a", "b", "c"], 3), &["3"]).unwrap(), [2]);
        assert_eq!(select(&header(&[], 3), &["3", "1"]).unwrap(), [2, 0]);
        assert_eq!(select(&header(&["3", "2", "1"], 3), &["1"]).unwrap(), [2]);
        assert!(select(&header(&["7", "8"], 2), &["1"]).is_err());
    }

    #[test]
    fn weights_and_labels_are_no_data_unless_picked() {
        let options = ReadOptions { weights: Some("b".into()), labels: Some("c".into()), ..ReadOptions::default() };
        let header = header(&["a", "b", "c"], 3);
        let all = Selection::new(&header, &options).unwrap();
        assert_eq!((all.data, all.weights, all.labels), (vec![0], Some(1), Some(2)));
        let options = ReadOptions { columns: Some(vec!["b".into(), "a".into()]), ..options };
        assert_eq!(Selection::new(&header, &options).unwrap().data, [1, 0]);
    }

    #[test]
    fn what_cannot_be_found_is_refused_with_its_name() {
        let message = |header: &Header, columns: &[&str]| select(header, columns).unwrap_err().to_string();
        assert_eq!(message(&header(&["a", "b"], 2), &["d"]), r#"a.csv: no column "d""#);
        assert_eq!(message(&header(&[], 2), &["0"]), r#"a.csv: no column "0""#);
        assert_eq!(message(&header(&[], 2), &["3"]), r#"a.csv: no column "3""#);
        assert_eq!(message(&header(&["a", "b"], 2), &["a", "1"]), r#"a.csv: column "a" is selected twice"#);
        assert_eq!(message(&header(&[], 2), &["2", "2"]), "a.csv: column 2 is selected twice");
        assert_eq!(message(&header(&["a", "b", "a"], 3), &["a"]), r#"a.csv: columns 1 and 3 are both named "a""#);
        assert!(select(&header(&["a", "b", "a"], 3), &["b"]).is_ok());
        assert_eq!(message(&header(&["a"], 1), &[]), "a.csv: no data columns");
        let repeated = header(&["a", "b", "b"], 3);
        let all = Selection::new(&repeated, &ReadOptions::default()).unwrap();
        let words = r#"a.csv: columns 2 and 3 are both named "b""#;
        assert_eq!(all.refuse_repeated_names(&repeated).unwrap_err().to_string(), words);
    }

    #[test]
    fn overlapping_patterns_pick_a_column_once() {
        let header = header(&["x1", "y", "x2", "x3"], 4);
        assert_eq!(select(&header, &["x3", "x*", "2..4"]).unwrap(), [3, 0, 2, 1]);
        let options = ReadOptions { exclude: vec!["x*".into()], ..ReadOptions::default() };
        assert_eq!(Selection::new(&header, &options).unwrap().data, [1]);
        let options = ReadOptions { exclude: vec!["*".into()], ..ReadOptions::default() };
        assert_eq!(Selection::new(&header, &options).unwrap_err().to_string(), "a.csv: all columns were excluded");
    }

    #[test]
    fn picked_columns_come_in_the_order_of_the_model() {
        let header = header(&["a", "b", "c"], 3);
        let expecting = |columns: &[&str]| {
            let columns = Some(columns.iter().map(|&name| name.into()).collect());
            let expected = Some(vec!["c".into(), "a".into()]);
            Selection::new(&header, &ReadOptions { columns, expected, ..ReadOptions::default() })
        };
        assert_eq!(expecting(&["a", "c"]).unwrap().data, [2, 0]);
        assert_eq!(expecting(&["[!b]"]).unwrap().data, [2, 0]);
        let words = "a.csv: the selected columns are a, b, but c, a are expected";
        assert_eq!(expecting(&["a", "b"]).unwrap_err().to_string(), words);
        let excluding = |exclude: &str| {
            let expected = Some(vec!["c".into(), "a".into()]);
            Selection::new(&header, &ReadOptions { exclude: vec![exclude.into()], expected, ..ReadOptions::default() })
        };
        assert_eq!(excluding("b").unwrap().data, [2, 0]);
        let words = "a.csv: the selected columns are b, c, but c, a are expected";
        assert_eq!(excluding("a").unwrap_err().to_string(), words);
        let unnamed = Header::new("a.npy".into(), Vec::new(), 2);
        let options = ReadOptions { expected: Some(vec!["c".into(), "a".into()]), ..ReadOptions::default() };
        assert_eq!(Selection::new(&unnamed, &options).unwrap().data, [0, 1]);
    }
}
