//! Checks which columns are read, in every format.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Date32Array, StringArray};
use mixtura_io::{Error, Input, ReadOptions};

use crate::fixture::{Folder, all_rows, column, columnar, columns, noticed, numpy, read_path, refusal, rows, strings};

fn plain() -> ReadOptions {
    ReadOptions::default()
}

fn strict() -> ReadOptions {
    ReadOptions { strict: true, ..plain() }
}

#[test]
fn columns_without_numbers_are_left_out_with_a_notice() {
    let text = "name,x,city,day,nothing\nAnn,1,Oslo,2020-01-02,\nBob,2,Rome,2020-01-03,\n";
    let notice = "a.csv: left out 4 non-numeric columns: name, city, day, nothing";
    for text in [text.to_owned(), text.replace("Ann", "\"Ann\""), text.replace('\n', "\r\n")] {
        assert_eq!(noticed("a.csv", &text, &plain()), (vec![notice.to_owned()], vec![vec![1.0], vec![2.0]]));
        let words = "a.csv: row 1, line 2, column \"name\": value \"Ann\" is not a number";
        assert_eq!(refusal("a.csv", &text, &strict()), words);
        assert_eq!(refusal("a.csv", &text, &columns(&["x", "name"])), words);
        assert_eq!(refusal("a.csv", &text, &columns(&["x", "1"])), words);
        assert_eq!(rows("a.csv", &text, &columns(&["*"])), [[1.0], [2.0]]);
    }
    let words = "a.csv: no numeric columns: column \"name\" starts with \"Ann\"";
    assert_eq!(refusal("a.csv", text, &columns(&["[nc]*"])), words);
}

#[test]
fn columns_of_other_types_are_left_out_with_a_notice() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let day: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    let (x, nothing) = (column(&[Some(1.0), Some(2.0)]), column(&[None, None]));
    let all = [("name", text.clone()), ("x", x), ("day", day), ("nothing", nothing), ("flag", flag)];
    for (name, bytes) in columnar(&all) {
        let folder = Folder::new();
        let table = read_path(&folder.write(name, &bytes), &plain()).unwrap();
        assert_eq!(all_rows(&table), [[1.0, 1.0], [2.0, 0.0]], "{name}");
        assert_eq!(table.used, [1, 4]);
        assert_eq!(table.file_columns, strings(&["name", "x", "day", "nothing", "flag"]));
        assert!(table.notices[0].ends_with(": left out 3 non-numeric columns: name, day, nothing"));
        let words = format!("{name}: column \"name\" has type Utf8, which is not numeric");
        assert_eq!(refusal(name, &bytes, &strict()), words);
        assert_eq!(refusal(name, &bytes, &columns(&["name"])), words);
        let words = format!("{name}: row 1, column \"nothing\": empty cell");
        assert_eq!(refusal(name, &bytes, &columns(&["x", "nothing"])), words);
    }
    for (name, bytes) in columnar(&[("name", text)]) {
        let words = format!("{name}: no numeric columns: column \"name\" has type Utf8");
        assert_eq!(refusal(name, &bytes, &plain()), words);
    }
    for bytes in numpy(&[vec![1.0, f64::NAN], vec![2.0, f64::NAN]]) {
        let (notices, rows) = noticed("a.npy", &bytes, &plain());
        assert_eq!(
            (notices, rows),
            (vec!["a.npy: left out 1 non-numeric column: 2".into()], vec![vec![1.0], vec![2.0]])
        );
        assert_eq!(refusal("a.npy", &bytes, &strict()), "a.npy: row 1, column 2: value NaN is not finite");
    }
}

#[test]
fn a_number_after_many_words_is_not_dropped_in_silence() {
    let words = "a.csv: row 1, line 2, column \"y\": value \"abc\" is not a number";
    for quote in ["", "\""] {
        let text = format!("x,y\n{}2,{quote}7{quote}\n", "1,abc\n".repeat(50_000));
        assert_eq!(refusal("a.csv", &text, &plain()), words);
        assert_eq!(rows("a.csv", &text, &columns(&["x"])).len(), 50_001);
    }
}

#[test]
fn columns_are_picked_and_excluded_by_selectors() {
    let text = "id,x1,x2,y,x3\n9,1,2,3,4\n";
    for (selectors, expected) in [
        (&["x*"][..], vec![1.0, 2.0, 4.0]),
        (&["x3", "x*"], vec![4.0, 1.0, 2.0]),
        (&["x1..y", "2-3"], vec![1.0, 2.0, 3.0]),
        (&["x[13]", "4"], vec![1.0, 4.0, 3.0]),
        (&["?"], vec![3.0]),
    ] {
        assert_eq!(rows("a.csv", text, &columns(selectors)), [expected], "{selectors:?}");
    }
    let options = ReadOptions { exclude: strings(&["id", "x2..y"]), ..plain() };
    assert_eq!(rows("a.csv", text, &options), [[1.0, 4.0]]);
    let options = ReadOptions { exclude: strings(&["nope"]), ..plain() };
    assert_eq!(refusal("a.csv", text, &options), "a.csv: no column \"nope\"");
    assert_eq!(refusal("a.csv", text, &columns(&["z*"])), "a.csv: no column matches \"z*\"");
    let columns_of = [("a1", column(&[Some(1.0)])), ("b", column(&[Some(2.0)])), ("a2", column(&[Some(3.0)]))];
    for (name, bytes) in columnar(&columns_of) {
        assert_eq!(rows(name, &bytes, &columns(&["b", "a*"])), [[2.0, 1.0, 3.0]], "{name}");
        let options = ReadOptions { exclude: strings(&["a?"]), ..plain() };
        assert_eq!(rows(name, &bytes, &options), [[2.0]]);
    }
    for bytes in numpy(&[vec![1.0, 2.0, 3.0, 4.0]]) {
        assert_eq!(rows("a.npy", &bytes, &columns(&["4", "2-3"])), [[4.0, 2.0, 3.0]]);
        let options = ReadOptions { exclude: strings(&["1"]), ..plain() };
        assert_eq!(rows("a.npy", &bytes, &options), [[2.0, 3.0, 4.0]]);
    }
}

#[test]
fn columns_of_one_name_can_be_excluded() {
    let text = "a,b,a\n1,2,3\n";
    assert_eq!(refusal("a.csv", text, &columns(&["*"])), "a.csv: columns 1 and 3 are both named \"a\"");
    let options = ReadOptions { exclude: strings(&["3"]), ..plain() };
    assert_eq!(rows("a.csv", text, &options), [[1.0, 2.0]]);
    // Two text columns may share a name, because neither is read.
    assert_eq!(rows("a.csv", "a,b,a\nx,2,y\n", &plain()), [[2.0]]);
}

#[test]
fn decimal_commas_are_recognized_and_never_mixed() {
    let expected = [[1.5, -0.25], [2.0, 1000.0]];
    for text in ["x;y\n1,5;-0,25\n2;1e3\n", "x;y\r\n\"1,5\";-0,25\r\n2;1e3\r\n"] {
        assert_eq!(rows("a.csv", text, &plain()), expected, "{text:?}");
    }
    let comma = ReadOptions { decimal: Some(b','), ..plain() };
    assert_eq!(rows("a.tsv", "x\ty\n1,5\t-0,25\n2\t1e3\n", &comma), expected);
    assert_eq!(rows("a.csv", "1,5\n2,5\n", &ReadOptions { has_header: false, ..comma.clone() }), [[1.5], [2.5]]);
    let refused = |text: &str, options: &ReadOptions| {
        let folder = Folder::new();
        let error = read_path(&folder.write("a.csv", text), options).unwrap_err();
        (folder.message(&error), error.hint().unwrap_or_default())
    };
    // Ambiguous: a thousands separator or a decimal comma.
    let (words, hint) = refused("x;y\n1,234;2\n5,678;3\n", &plain());
    assert_eq!(words, "a.csv: row 1, line 2, column \"x\": value \"1,234\" is not a number");
    assert!(hint.contains("thousands"), "{hint}");
    assert_eq!(rows("a.csv", "x;y\n1,234;2\n", &comma), [[1.234, 2.0]]);
    for (cell, delimiter) in [("1.234,5", ';'), ("1 234", ','), ("1'234", ',')] {
        let text = format!("x{delimiter}y\n1{delimiter}2\n{cell}{delimiter}3\n");
        let (words, hint) = refused(&text, &plain());
        assert_eq!(words, format!("a.csv: row 2, line 3, column \"x\": value {cell:?} is not a number"));
        assert!(hint.contains("thousands"), "{hint}");
    }
    let (words, _) = refused("x;y\n1,5;2.5\n", &plain());
    assert_eq!(words, "a.csv: row 1, line 2, column \"x\": value \"1,5\" is not a number");
    let (words, _) = refused("x;y\n1,5;2.5\n", &comma);
    assert_eq!(words, "a.csv: row 1, line 2, column \"y\": value \"2.5\" is not a number");
    let options = ReadOptions { delimiter: Some(b','), ..comma };
    assert_eq!(refused("x,y\n1,2\n", &options).0, "delimiter ',' could be part of a number");
}

#[test]
fn a_hundred_thousand_names_took_a_minute_to_find() {
    // Each name used to be compared with all others: 10^10 comparisons. With a map this is fast.
    let n_columns = 100_000;
    let names: Vec<String> = (0..n_columns).map(|i| format!("column_{i}")).collect();
    let values: Vec<String> = (0..n_columns).map(|i| i.to_string()).collect();
    let folder = Folder::new();
    let path = folder.write("a.csv", format!("{}\n{}\n", names.join(","), values.join(",")));
    let reversed: Vec<String> = names.iter().rev().cloned().collect();
    let options = ReadOptions { expected: Some(reversed.clone()), ..plain() };
    let table = read_path(&path, &options).unwrap();
    assert_eq!(table.rows.names(), reversed);
    assert_eq!(table.rows.row(0)[0], f64::from(n_columns - 1));
}

#[test]
fn the_columns_of_a_model_are_found_by_name_in_any_order() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "a,b,c\n1,2,3\n");
    let expecting = |picked: Option<&[&str]>| {
        let (columns, expected) = (picked.map(strings), Some(strings(&["c", "a"])));
        mixtura_io::read(&Input::from(path.clone()), &ReadOptions { columns, expected, ..plain() })
    };
    for picked in [None, Some(&["a", "c"][..]), Some(&["c", "a"]), Some(&["3", "1"])] {
        let table = expecting(picked).unwrap();
        assert_eq!((all_rows(&table), table.used), (vec![vec![3.0, 1.0]], vec![2, 0]));
    }
    let error = expecting(Some(&["a", "b"])).unwrap_err();
    assert!(matches!(error, Error::OtherColumns { .. }), "{error}");
}
