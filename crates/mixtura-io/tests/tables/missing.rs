//! Checks the handling of missing values in every format.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use mixtura_io::{Missing, ReadOptions};

use crate::fixture::{Folder, all_rows, column, columnar, gzip, noticed, numpy, read_path, refusal};

fn skip() -> ReadOptions {
    ReadOptions { missing: Missing::Skip, ..ReadOptions::default() }
}

#[test]
fn rows_with_missing_cells_can_be_left_out_of_text() {
    for word in ["", " ", "NA", "N/A", "nan", "NaN", "null", "NULL"] {
        for (quote, end) in [("", "\n"), ("\"", "\n"), ("", "\r\n")] {
            let text =
                ["x,y", "1,2", &format!("{quote}{word}{quote},3"), "5,6", &format!("7,{quote}{word}{quote}"), ""]
                    .join(end);
            for (name, bytes) in [("a.csv", text.clone().into_bytes()), ("a.csv.gz", gzip(&text))] {
                let folder = Folder::new();
                let table = read_path(&folder.write(name, bytes), &skip()).unwrap();
                assert_eq!(all_rows(&table), [[1.0, 2.0], [5.0, 6.0]], "{text:?}");
                assert_eq!((table.skipped, table.n_rows_read), (vec![1, 3], 4));
                assert!(
                    table.notices[0].ends_with(": skipped 2 of 4 rows because of missing values"),
                    "{:?}",
                    table.notices
                );
            }
        }
    }
    let words = "a.csv: row 1, line 2, column \"x\": value inf is not finite";
    assert_eq!(refusal("a.csv", "x,y\ninf,1\n2,3\n", &skip()), words);
    let words = "a.csv: row 2, line 3, column \"y\": value \"abc\" is not a number";
    assert_eq!(refusal("a.csv", "x,y\n,1\n2,abc\n", &skip()), words);
}

#[test]
fn rows_with_missing_cells_can_be_left_out_of_binary_formats() {
    let x = [Some(1.0), Some(f64::NAN), Some(3.0), Some(4.0)];
    let y = [Some(10.0), Some(20.0), None, Some(40.0)];
    for (name, bytes) in columnar(&[("x", column(&x)), ("y", column(&y))]) {
        let folder = Folder::new();
        let table = read_path(&folder.write(name, &bytes), &skip()).unwrap();
        assert_eq!(all_rows(&table), [[1.0, 10.0], [4.0, 40.0]], "{name}");
        assert_eq!((table.skipped, table.n_rows_read, table.used), (vec![1, 2], 4, vec![0, 1]));
        let words = format!("{name}: row 2, column \"x\": value NaN is not finite");
        assert_eq!(refusal(name, &bytes, &ReadOptions::default()), words);
    }
    let table = [vec![1.0, 10.0], vec![f64::NAN, 20.0], vec![3.0, f64::NAN], vec![4.0, 40.0]];
    for bytes in numpy(&table) {
        let (notices, rows) = noticed("a.npy", &bytes, &skip());
        assert_eq!(notices, ["a.npy: skipped 2 of 4 rows because of missing values"]);
        assert_eq!(rows, [[1.0, 10.0], [4.0, 40.0]]);
        assert_eq!(refusal("a.npy", bytes, &ReadOptions::default()), "a.npy: row 2, column 1: value NaN is not finite");
    }
    for bytes in numpy(&[vec![f64::NAN, 1.0], vec![2.0, f64::INFINITY]]) {
        assert_eq!(refusal("a.npy", bytes, &skip()), "a.npy: row 2, column 2: value inf is not finite");
    }
}

#[test]
fn what_lies_under_a_null_does_not_matter() {
    let nulls = arrow_buffer::NullBuffer::from(vec![true, false]);
    let integers: ArrayRef = Arc::new(Int64Array::new(vec![1, (1 << 53) + 1].into(), Some(nulls)));
    for (name, bytes) in columnar(&[("x", integers)]) {
        assert_eq!(noticed(name, bytes, &skip()).1, [[1.0]], "{name}");
    }
}

#[test]
fn missing_weights_and_labels_leave_their_rows_out() {
    let options = ReadOptions { weights: Some("w".into()), labels: Some("kind".into()), ..skip() };
    let weights = [Some(1.0), None, Some(2.0), Some(3.0), Some(f64::NAN)];
    let kinds: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("z"), None, Some("a"), Some("NA")]));
    let x = [0, 1, 2, 3, 4].map(|row| Some(f64::from(row)));
    let mut files = columnar(&[("x", column(&x)), ("w", column(&weights)), ("kind", kinds)]).to_vec();
    files.push(("a.csv", b"x,w,kind\n0,1,b\n1,,z\n2,2,\n3,3,a\n4,nan,NA\n".to_vec()));
    files.push(("b.csv", b"x,w,kind\n0,1,\"b\"\n1,,z\n2,2,\"\"\n3,3,a\n4,nan,NA\n".to_vec()));
    for (name, bytes) in files {
        let folder = Folder::new();
        let table = read_path(&folder.write(name, bytes), &options).unwrap();
        assert_eq!(all_rows(&table), [[0.0], [3.0]], "{name}");
        assert_eq!(table.rows.weights(), Some(&[1.0, 3.0][..]));
        assert_eq!(table.rows.labels(), Some(&[1, 0][..]));
        // The label of a skipped row does not count.
        assert_eq!(table.labels.unwrap().values, ["a", "b"]);
        assert_eq!(table.skipped, [1, 2, 4]);
    }
    let table = [vec![1.0, 0.5], vec![2.0, f64::NAN], vec![3.0, 1.5]];
    let options = ReadOptions { weights: Some("2".into()), ..skip() };
    for bytes in numpy(&table) {
        assert_eq!(noticed("a.npy", bytes, &options).1, [[1.0], [3.0]]);
    }
}

#[test]
fn a_table_without_a_complete_row_is_refused() {
    let words = "a.csv: all 2 rows have missing values";
    assert_eq!(refusal("a.csv", "x,y\n1,\n,2\n", &skip()), words);
    for (name, bytes) in columnar(&[("x", column(&[Some(1.0), None])), ("y", column(&[None, Some(2.0)]))]) {
        assert_eq!(refusal(name, bytes, &skip()), format!("{name}: all 2 rows have missing values"));
    }
}

/// A text whose column `y` has only empty cells beyond the part that is examined.
fn late(n_rows: usize, end: &str) -> String {
    format!("x,y\n{}{end}", "1.5,\n".repeat(n_rows))
}

#[test]
fn a_column_that_begins_with_missing_cells_is_read_when_numbers_follow() {
    let (notices, rows) = noticed("a.csv", late(50_000, "2,7\n3,8\n"), &skip());
    assert_eq!(rows, [[2.0, 7.0], [3.0, 8.0]]);
    assert_eq!(notices, ["a.csv: skipped 50000 of 50002 rows because of missing values"]);
    let words = "a.csv: row 1, line 2, column \"y\": empty cell";
    assert_eq!(refusal("a.csv", late(50_000, "2,7\n"), &ReadOptions::default()), words);
    let words = "a.csv: row 50001, line 50002, column \"y\": value \"abc\" is not a number";
    assert_eq!(refusal("a.csv", late(50_000, "2,abc\n3,8\n"), &skip()), words);
    // Without any number, it is left out.
    let (notices, rows) = noticed("a.csv", late(50_000, "2,abc\n"), &skip());
    assert_eq!((notices, rows.len()), (vec!["a.csv: left out 1 non-numeric column: y".into()], 50_001));
}
