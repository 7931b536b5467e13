//! Finds the columns that were asked for among those a file has.

use crate::{Column, Error, Place, ReadOptions};

/// The columns of a file.
#[derive(Debug)]
pub(super) struct Header {
    /// The file, for messages.
    pub(super) file: String,
    /// A name per column, or none at all.
    pub(super) names: Vec<String>,
    /// How many columns the file has.
    pub(super) n_columns: usize,
}

/// The columns that are read, as indices into the file's columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) data: Vec<usize>,
    pub(super) weights: Option<usize>,
    pub(super) labels: Option<usize>,
}

impl Header {
    pub(super) fn column(&self, index: usize) -> Column {
        match self.names.get(index) {
            Some(name) if !name.is_empty() => Column::Name(name.clone()),
            _ => Column::Number(index),
        }
    }

    /// A place in a file without lines.
    pub(super) fn place(&self, row: usize, column: usize) -> Place {
        Place { file: self.file.clone(), row, line: None, column: self.column(column) }
    }

    fn find(&self, wanted: &str) -> Result<usize, Error> {
        if let Some(index) = self.names.iter().position(|name| name == wanted) {
            self.refuse_ambiguous(index)?;
            return Ok(index);
        }
        // Where names are themselves numbers, a position could be mistaken for a name.
        let names_are_numbers = self.names.iter().any(|name| name.parse::<usize>().is_ok());
        match wanted.trim().parse::<usize>() {
            Ok(number) if !names_are_numbers && (1..=self.n_columns).contains(&number) => Ok(number - 1),
            _ => Err(Error::UnknownColumn {
                file: self.file.clone(),
                column: wanted.to_owned(),
                available: self.names.clone(),
                n_columns: self.n_columns,
            }),
        }
    }

    fn refuse_ambiguous(&self, index: usize) -> Result<(), Error> {
        let Some(name) = self.names.get(index).filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let mut places = self.names.iter().enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place);
        match (places.next(), places.next()) {
            (Some(first), Some(second)) => {
                Err(Error::AmbiguousColumn { file: self.file.clone(), name: name.clone(), first, second })
            }
            _ => Ok(()),
        }
    }
}

impl Selection {
    pub(super) fn new(header: &Header, options: &ReadOptions) -> Result<Self, Error> {
        let find = |wanted: &Option<String>| wanted.as_deref().map(|wanted| header.find(wanted)).transpose();
        let (weights, labels) = (find(&options.weights)?, find(&options.labels)?);
        let by_position = options.by_position_without_names && header.names.is_empty();
        let data = match &options.columns {
            Some(wanted) if !by_position => picked(header, wanted)?,
            _ => (0..header.n_columns).filter(|&index| ![weights, labels].contains(&Some(index))).collect(),
        };
        if data.is_empty() {
            return Err(Error::NoColumns { file: header.file.clone() });
        }
        if options.columns.is_none() {
            refuse_repeated_names(header, &data)?;
        }
        Ok(Self { data, weights, labels })
    }
}

fn picked(header: &Header, wanted: &[String]) -> Result<Vec<usize>, Error> {
    let mut data = Vec::with_capacity(wanted.len());
    let mut is_taken = vec![false; header.n_columns];
    for wanted in wanted {
        let index = header.find(wanted)?;
        if std::mem::replace(&mut is_taken[index], true) {
            return Err(Error::RepeatedColumn { file: header.file.clone(), column: header.column(index) });
        }
        data.push(index);
    }
    Ok(data)
}

/// Looks for one repeated name among all columns, by sorting: files may have thousands of columns.
fn refuse_repeated_names(header: &Header, data: &[usize]) -> Result<(), Error> {
    let mut names: Vec<(&str, usize)> =
        data.iter().filter_map(|&index| Some((header.names.get(index)?.as_str(), index))).collect();
    names.sort_unstable();
    let repeated = names.windows(2).filter(|pair| pair[0].0 == pair[1].0 && !pair[0].0.is_empty());
    match repeated.map(|pair| pair[0].1).min() {
        Some(index) => header.refuse_ambiguous(index),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str], n_columns: usize) -> Header {
        Header { file: "a.csv".into(), names: names.iter().map(|&name| name.into()).collect(), n_columns }
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
        assert_eq!(all, Selection { data: vec![0], weights: Some(1), labels: Some(2) });
        let options = ReadOptions { columns: Some(vec!["b".into(), "a".into()]), ..options };
        assert_eq!(Selection::new(&header, &options).unwrap().data, [1, 0]);
    }

    #[test]
    fn what_cannot_be_found_is_refused_with_its_name() {
        let message = |header: &Header, columns: &[&str]| select(header, columns).unwrap_err().to_string();
        assert_eq!(message(&header(&["a", "b"], 2), &["d"]), r#"a.csv: no column "d""#);
        assert_eq!(message(&header(&[], 2), &["0"]), r#"a.csv: no column "0""#);
        assert_eq!(message(&header(&[], 2), &["3"]), r#"a.csv: no column "3""#);
        assert_eq!(message(&header(&["a", "b"], 2), &["a", "1"]), r#"a.csv: column "a" is asked for twice"#);
        assert_eq!(message(&header(&[], 2), &["2", "2"]), "a.csv: column 2 is asked for twice");
        assert_eq!(message(&header(&["a", "b", "a"], 3), &["a"]), r#"a.csv: the name "a" stands for columns 1 and 3"#);
        assert!(select(&header(&["a", "b", "a"], 3), &["b"]).is_ok());
        assert_eq!(message(&header(&["a"], 1), &[]), "a.csv: no columns of data");
        let all = Selection::new(&header(&["a", "b", "b"], 3), &ReadOptions::default()).unwrap_err();
        assert_eq!(all.to_string(), r#"a.csv: the name "b" stands for columns 2 and 3"#);
    }
}
