//! Checks that no number is changed silently, and that index columns cause a warning.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array};
use mixtura_io::ReadOptions;

use crate::fixture::{column, columnar, columns, gzip, noticed, numpy, refusal, rows};

fn plain() -> ReadOptions {
    ReadOptions::default()
}

#[test]
fn whole_numbers_above_2_53_were_rounded_in_silence() {
    let words = "a.csv: row 2, line 3, column \"id\": integer 9007199254740993 cannot be represented exactly in double precision";
    for text in [
        "id,x\n1,2\n9007199254740993,3\n",
        "id,x\n1,2\n 9007199254740993 ,3\n",
        "id,x\n1,2\n\"9007199254740993\",3\n",
        "id,x\r\n1,2\r\n9007199254740993,3",
        "id x\n1 2\n9007199254740993 3\n",
        "id;x\n1;2,5\n9007199254740993;3\n",
    ] {
        assert_eq!(refusal("a.csv", text, &plain()), words, "{text:?}");
    }
    let options = ReadOptions { weights: Some("id".into()), ..plain() };
    assert_eq!(refusal("a.csv", "id,x\n1,2\n9007199254740993,3\n", &options), words);
    let text = "a,b,c,d\n9007199254740994,1e20,1.0e300,0.12345678901234567\n";
    assert_eq!(rows("a.csv", text, &plain()), [[9_007_199_254_740_994.0, 1e20, 1e300, 0.123_456_789_012_345_67]]);
}

#[test]
fn whole_numbers_of_decimal_types_were_rounded_in_silence() {
    let wide = Decimal128Array::from(vec![1i128, (1 << 53) + 1]).with_precision_and_scale(38, 0).unwrap();
    for (name, bytes) in columnar(&[("id", Arc::new(wide) as ArrayRef)]) {
        let words = format!(
            "{name}: row 2, column \"id\": integer 9007199254740993 cannot be represented exactly in double precision"
        );
        assert_eq!(refusal(name, bytes, &plain()), words);
    }
}

/// Ten rows: an index, a value, and whatever else.
fn indexed(header: &str, first: i32) -> String {
    (0..10).fold(header.to_owned(), |mut text, row| {
        writeln!(text, "{},{}", first + row, f64::from(row * row) / 2.0).unwrap();
        text
    })
}

#[test]
fn an_index_was_fitted_in_silence() {
    let unnamed =
        "a.csv: column 1 has no name, counts the rows and is probably an index; leave it out with --exclude 'column 1'";
    assert_eq!(noticed("a.csv", indexed(",x\n", 0), &plain()).0, [unnamed]);
    let named = "a.csv: column \"id\" counts the rows and is probably an index; leave it out with --exclude id";
    for first in [0, 1, -4, 1000] {
        assert_eq!(noticed("a.csv", indexed("id,x\n", first), &plain()).0, [named]);
    }
    let quoted = indexed("id,x\n", 5).replace("5,", "\"5\",");
    assert_eq!(noticed("a.csv", quoted, &plain()).0, [named]);
    assert_eq!(noticed("a.csv.gz", gzip(indexed("id,x\n", 5)), &plain()).0, [named.replace("csv", "csv.gz")]);
    // A shuffled index is still an unnamed column.
    let shuffled = indexed(",x\n", 0).replace("3,", "33,");
    let words = "a.csv: column 1 has no name and is probably an index; leave it out with --exclude 'column 1'";
    assert_eq!(noticed("a.csv", shuffled, &plain()).0, [words]);

    let table: Vec<Vec<f64>> = (0..10).map(|row| vec![f64::from(row), f64::from(row * row)]).collect();
    for bytes in numpy(&table) {
        let words = "a.npy: column 1 counts the rows and is probably an index; leave it out with --exclude 1";
        assert_eq!(noticed("a.npy", bytes, &plain()).0, [words]);
    }
    let counting: Vec<Option<f64>> = (0..10).map(|row| Some(f64::from(row))).collect();
    let squares: Vec<Option<f64>> = (0..10).map(|row| Some(f64::from(row * row))).collect();
    for (name, bytes) in columnar(&[("id", column(&counting)), ("x", column(&squares))]) {
        assert_eq!(noticed(name, bytes, &plain()).0, [named.replace("a.csv", name)]);
    }
}

#[test]
fn an_index_is_not_seen_where_there_is_none() {
    // Requested, left out, too few rows, or not consecutive.
    assert!(noticed("a.csv", indexed("id,x\n", 0), &columns(&["id", "x"])).0.is_empty());
    let options = ReadOptions { exclude: vec!["1".into()], ..plain() };
    assert!(noticed("a.csv", indexed(",x\n", 0), &options).0.is_empty());
    let short = indexed("id,x\n", 0).lines().take(10).collect::<Vec<_>>().join("\n");
    assert!(noticed("a.csv", short, &plain()).0.is_empty());
    assert!(noticed("a.csv", indexed("id,x\n", 0).replace("7,", "8,"), &plain()).0.is_empty());
    assert_eq!(noticed("a.csv", indexed("id,x\n", 0), &columns(&["*"])).0.len(), 1);
}
