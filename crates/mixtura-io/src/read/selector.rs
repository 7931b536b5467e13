//! Resolves column selectors: names, positions, ranges and patterns.

use super::columns::Header;
use crate::{Column, Error};

/// Maximum number of names suggested in a message.
const N_NEAR: usize = 3;
/// Longer names are compared only up to this length.
const COMPARED_CHARACTERS: usize = 64;

/// The columns that a selector matches.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Picked {
    /// The column that it names.
    One(usize),
    /// The columns of a pattern or range, in file order; at least one.
    Several(Vec<usize>),
}

impl Header {
    /// The columns that a selector matches; it is an error if there are none.
    pub(super) fn select(&self, selector: &str) -> Result<Picked, Error> {
        let unknown = match self.find(selector) {
            Ok(column) => return Ok(Picked::One(column)),
            Err(error @ Error::UnknownColumn { .. }) => error,
            Err(error) => return Err(error),
        };
        let columns = match self.range(selector)? {
            Some(columns) => columns,
            None if selector.contains(['*', '?', '[']) => self.matching(selector),
            None => return Err(unknown),
        };
        if columns.is_empty() { Err(self.no_match(selector)) } else { Ok(Picked::Several(columns)) }
    }

    /// The columns of `FIRST..LAST` or, with numbers only, `FIRST-LAST`; `None` if it is not a range.
    fn range(&self, selector: &str) -> Result<Option<Vec<usize>>, Error> {
        // Names may themselves contain two dots, so every possible split is tried.
        let cuts: Vec<(&str, &str)> =
            selector.match_indices("..").map(|(at, _)| (&selector[..at], &selector[at + 2..])).collect();
        for (first, last) in &cuts {
            if let (Ok(first), Ok(last)) = (self.find(first), self.find(last)) {
                return self.between(selector, first, last).map(Some);
            }
        }
        if let [(first, last)] = cuts[..]
            && !first.is_empty()
            && !last.is_empty()
            && !selector.contains(['*', '?', '['])
        {
            // One of the ends is unknown: report which.
            self.find(first)?;
            self.find(last)?;
        }
        let numbers = selector
            .split_once('-')
            .and_then(|(first, last)| Some((first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?)));
        match numbers {
            Some((first, last)) => {
                self.between(selector, self.find(&first.to_string())?, self.find(&last.to_string())?).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The columns from the first to the last, which must not come before it.
    fn between(&self, selector: &str, first: usize, last: usize) -> Result<Vec<usize>, Error> {
        if first <= last {
            return Ok((first..=last).collect());
        }
        let [last, first] = [first, last].map(|column| match self.column(column) {
            Column::Name(name) => name,
            Column::Number(number) => (number + 1).to_string(),
        });
        let turned = format!("{first}..{last}");
        Err(Error::BackwardRange { file: self.file.clone(), selector: selector.to_owned(), turned })
    }

    fn matching(&self, pattern: &str) -> Vec<usize> {
        let pattern: Vec<char> = pattern.chars().collect();
        let is_match = |name: &String| matches_pattern(&pattern, &name.chars().collect::<Vec<_>>());
        (0..self.names.len()).filter(|&column| is_match(&self.names[column])).collect()
    }

    fn no_match(&self, selector: &str) -> Error {
        Error::NoMatch {
            file: self.file.clone(),
            selector: selector.to_owned(),
            available: self.names.clone(),
            n_columns: self.n_columns,
        }
    }

    /// The names most similar to an unknown one, best first.
    pub(super) fn near(&self, wanted: &str) -> Vec<String> {
        similar(wanted, &self.names)
    }
}

/// At most three of the names that differ from the wanted one by few letters, best first.
///
/// ```
/// let names = ["width", "height", "depth"].map(String::from);
/// assert_eq!(mixtura_io::similar("hieght", &names), ["height"]);
/// ```
pub fn similar(wanted: &str, names: &[String]) -> Vec<String> {
    let beginning = |name: &str| -> Vec<char> { name.to_lowercase().chars().take(COMPARED_CHARACTERS).collect() };
    let wanted = beginning(wanted);
    // A third of the letters may be wrong.
    let most = (wanted.len() / 3).max(1);
    let mut near: Vec<(usize, usize)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let name = beginning(name);
        if wanted.len().abs_diff(name.len()) <= most {
            let distance = edit_distance(&wanted, &name);
            // A name in which every letter differs is not similar.
            if distance <= most && distance < name.len() {
                near.push((distance, at));
            }
        }
    }
    near.sort_unstable();
    near.into_iter().take(N_NEAR).map(|(_, at)| names[at].clone()).collect()
}

/// Whether a text matches a pattern of `*`, `?`, `[abc]`, `[a-z]` and `[!abc]`; other characters match
/// themselves. Backtracks only to the last `*`, so the time is at most the product of the lengths.
fn matches_pattern(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if let Some(n) = matched_one(&pattern[p..], text[t]) {
            (p, t) = (p + n, t + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The length of the first element of a pattern, if it matches a character.
fn matched_one(pattern: &[char], character: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => {
            // A closing bracket at the start of the set is part of it.
            let Some(end) = pattern.iter().skip(2).position(|&c| c == ']').map(|at| at + 2) else {
                return (character == '[').then_some(1);
            };
            let set = &pattern[1..end];
            let (is_negated, set) = match set {
                ['!' | '^', rest @ ..] if !rest.is_empty() => (true, rest),
                set => (false, set),
            };
            (contains(set, character) != is_negated).then_some(end + 1)
        }
        &c => (c == character).then_some(1),
    }
}

fn contains(mut set: &[char], character: char) -> bool {
    while let [first, rest @ ..] = set {
        let (last, after) = match rest {
            ['-', last, after @ ..] => (last, after),
            rest => (first, rest),
        };
        if (*first..=*last).contains(&character) {
            return true;
        }
        set = after;
    }
    false
}

/// Number of letters to change, add, remove or swap with their neighbour (optimal string alignment distance).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut table: Vec<usize> = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let at = |i: usize, j: usize| table[i * width + j];
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = at(i - 1, j - 1) + usize::from(a[i - 1] != b[j - 1]);
                let mut least = change.min(at(i - 1, j) + 1).min(at(i, j - 1) + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(at(i - 2, j - 2) + 1);
                }
                least
            };
        }
    }
    table[table.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Header {
        Header::new("a.csv".into(), names.iter().map(|&name| name.into()).collect(), names.len())
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        let matches = |pattern: &str, text: &str| {
            matches_pattern(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
        };
        for (pattern, text) in [
            ("x*", "x"),
            ("x*", "x12"),
            ("*", ""),
            ("a?c", "abc"),
            ("a?c", "aüc"),
            ("x[12]", "x2"),
            ("x[1-3]", "x3"),
            ("x[!1-3]", "x4"),
            ("*mean*radius", "a mean b radius"),
            ("a[", "a["),
            ("[]]x", "]x"),
            ("x[a-]", "x-"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("x*", "X1"), ("a?c", "ac"), ("x[12]", "x3"), ("x[!1-3]", "x3"), ("*a", "ab"), ("", "a")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn selectors_pick_by_name_number_range_and_pattern() {
        let named = header(&["a", "b", "c", "x1", "x2", "a..c", "x*"]);
        assert_eq!(named.select("b").unwrap(), Picked::One(1));
        assert_eq!(named.select("2").unwrap(), Picked::One(1));
        assert_eq!(named.select("b..x1").unwrap(), Picked::Several(vec![1, 2, 3]));
        assert_eq!(named.select("2..3").unwrap(), Picked::Several(vec![1, 2]));
        assert_eq!(named.select("2-3").unwrap(), Picked::Several(vec![1, 2]));
        assert_eq!(named.select("x?").unwrap(), Picked::Several(vec![3, 4, 6]));
        // An exact name takes precedence.
        assert_eq!(named.select("a..c").unwrap(), Picked::One(5));
        assert_eq!(named.select("x*").unwrap(), Picked::One(6));
        assert_eq!(named.select("a..c..x*").unwrap(), Picked::Several(vec![5, 6]));
        let unnamed = Header::new("a.npy".into(), Vec::new(), 4);
        assert_eq!(unnamed.select("2-4").unwrap(), Picked::Several(vec![1, 2, 3]));
    }

    #[test]
    fn selectors_that_match_nothing_say_what_is_there() {
        let named = header(&["width", "height", "depth"]);
        let refused = |selector: &str| {
            let error = named.select(selector).unwrap_err();
            (error.to_string(), error.hint().unwrap())
        };
        let columns = "the columns are width, height, depth";
        assert_eq!(refused("z*"), ("a.csv: no column matches \"z*\"".into(), columns.into()));
        let (words, hint) = refused("widht");
        assert_eq!(
            (words.as_str(), hint),
            ("a.csv: no column \"widht\"", format!("did you mean \"width\"? {columns}"))
        );
        assert_eq!(refused("width..hieght").0, "a.csv: no column \"hieght\"");
        assert_eq!(refused("2-9").0, "a.csv: no column \"9\"");
        assert_eq!(refused("q").1, columns);
    }

    #[test]
    fn a_backward_range_is_called_one() {
        for (selector, hint) in [("x3..x1", "use x1..x3"), ("3-1", "use x1..x3"), ("3..2", "use x2..x3")] {
            let error = header(&["x1", "x2", "x3"]).select(selector).unwrap_err();
            assert_eq!(error.to_string(), format!("a.csv: the range {selector:?} is backwards"));
            assert_eq!(error.hint().as_deref(), Some(hint));
        }
        let unnamed = Header::new("a.npy".into(), Vec::new(), 4);
        assert_eq!(unnamed.select("4-2").unwrap_err().hint().as_deref(), Some("use 2..4"));
    }

    #[test]
    fn a_typing_error_costs_one() {
        let distance = |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(distance("width", "widht"), 1);
        assert_eq!(distance("width", "widths"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
