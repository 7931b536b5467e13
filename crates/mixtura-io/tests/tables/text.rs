//! Checks CSV and other text files.

use std::fmt::Write as _;

use mixtura_io::{Input, ReadOptions};
use proptest::prelude::*;

use crate::fixture::{Folder, all_rows, columns, gzip, read_path, refusal, rows, strings};

fn plain() -> ReadOptions {
    ReadOptions::default()
}

fn headless() -> ReadOptions {
    ReadOptions { has_header: false, ..ReadOptions::default() }
}

#[test]
fn usual_forms_are_read() {
    let expected = [[1.0, -2.5], [3000.0, 0.25]];
    for (name, text) in [
        ("a.csv", "x,y\n1,-2.5\n3e3,.25\n"),
        ("no_last_newline.csv", "x,y\n1,-2.5\n3e3,.25"),
        ("blank_last_line.csv", "x,y\n1,-2.5\n3e3,.25\n\n\n"),
        ("crlf.csv", "x,y\r\n1,-2.5\r\n3e3,.25\r\n"),
        ("carriage_returns.csv", "x,y\r1,-2.5\r3e3,.25\r"),
        ("byte_order_mark.csv", "\u{feff}x,y\n1,-2.5\n3e3,.25\n"),
        ("spaces.csv", "x , y\n 1 ,-2.5  \n3e3,\t+.25\n"),
        ("quotes.csv", "\"x\",\"y\"\n\"1\",-2.5\n3e3,\" .25\"\n"),
        ("quoted_header.csv", "\"x\",\"y\"\r\n1,-2.5\r\n3e3,.25"),
        ("semicolons.csv", "x;y\n1;-2.5\n3e3;.25\n"),
        ("pipes.txt", "x|y\n1|-2.5\n3e3|.25\n"),
        ("tabs.tsv", "x\ty\n1\t-2.5\n3e3\t.25\n"),
    ] {
        assert_eq!(rows(name, text, &plain()), expected, "{name}");
        assert_eq!(rows(&format!("{name}.gz"), gzip(text.as_bytes()), &plain()), expected, "{name}.gz");
        // Compression is detected from the bytes, not only from the extension.
        assert_eq!(rows(name, gzip(text.as_bytes()), &plain()), expected, "{name}, packed");
    }
}

#[test]
fn names_and_notices_come_with_the_rows() {
    let folder = Folder::new();
    let table = read_path(&folder.write("a.csv", "x, y z \n1,2\n"), &plain()).unwrap();
    assert_eq!(table.rows.names(), ["x", "y z"]);
    assert!(table.notices.is_empty());
    let path = folder.write("b.csv", "1,2\n3,4\n");
    let table = read_path(&path, &plain()).unwrap();
    assert_eq!(table.notices, [format!("{}: the first line looks like data; use --no-header", path.display())]);
    let table = read_path(&path, &headless()).unwrap();
    assert!(table.rows.names().is_empty() && table.notices.is_empty());
    assert_eq!(all_rows(&table), [[1.0, 2.0], [3.0, 4.0]]);
}

#[test]
fn columns_are_picked_by_name_and_number() {
    let text = "a,name,b\n1,one,10\n2,two,20\n";
    assert_eq!(rows("a.csv", text, &columns(&["b", "a"])), [[10.0, 1.0], [20.0, 2.0]]);
    assert_eq!(rows("a.csv", text, &columns(&["3"])), [[10.0], [20.0]]);
    let options = ReadOptions { has_header: false, ..columns(&["3", "1"]) };
    assert_eq!(rows("a.csv", "1,one,10\n2,two,20", &options), [[10.0, 1.0], [20.0, 2.0]]);
    assert_eq!(refusal("a.csv", text, &columns(&["c"])), r#"a.csv: no column "c""#);
    assert_eq!(refusal("a.csv", text, &columns(&["a", "a"])), r#"a.csv: column "a" is selected twice"#);
    assert_eq!(refusal("a.csv", "a,a\n1,2\n", &plain()), r#"a.csv: columns 1 and 2 are both named "a""#);
}

#[test]
fn weights_and_labels_are_read() {
    let options = ReadOptions { weights: Some("w".into()), labels: Some("kind".into()), ..ReadOptions::default() };
    for text in [
        "x,w,kind\n1,0.5,b\n2,1,a\n3,0,b\n",
        "x,w,kind\r\n1,0.5, b \r\n2,1,a\r\n3,0,b",
        "x,w,kind\n1,0.5,\"b\"\n2,1,\"a\"\n3,0,\"b\"\n",
    ] {
        let folder = Folder::new();
        let table = read_path(&folder.write("a.csv", text), &options).unwrap();
        assert_eq!(all_rows(&table), [[1.0], [2.0], [3.0]]);
        assert_eq!(table.rows.names(), ["x"]);
        assert_eq!(table.rows.weights(), Some(&[0.5, 1.0, 0.0][..]));
        assert_eq!(table.rows.labels(), Some(&[1, 0, 1][..]));
        let labels = table.labels.unwrap();
        assert_eq!((labels.name.as_str(), labels.values), ("kind", strings(&["a", "b"])));
    }
    let refuse = |text: &str| refusal("a.csv", text, &options);
    assert_eq!(refuse("x,w,kind\n1,-2,b\n"), r#"a.csv: row 1, line 2, column "w": weight -2 is negative"#);
    assert_eq!(refuse("x,w,kind\n1,,b\n"), r#"a.csv: row 1, line 2, column "w": empty cell"#);
    assert_eq!(refuse("x,w,kind\n1,1,\n"), r#"a.csv: row 1, line 2, column "kind": empty cell"#);
    assert_eq!(refuse("x,w,kind\n1,1,NaN\n"), r#"a.csv: row 1, line 2, column "kind": value NaN is not finite"#);
    assert_eq!(refuse("x,w,kind\n1,0,b\n"), "a.csv: all row weights are zero");
}

#[test]
fn bad_cells_are_refused_with_their_place() {
    for (cell, words) in [
        ("nan", "value nan is not finite"),
        ("NaN", "value NaN is not finite"),
        ("-inf", "value -inf is not finite"),
        ("Infinity", "value Infinity is not finite"),
        ("1e999", "value 1e999 is too large for double precision"),
        ("", "empty cell"),
        ("  ", "empty cell"),
        ("abc", "value \"abc\" is not a number"),
        ("1.5.2", "value \"1.5.2\" is not a number"),
    ] {
        for (end, quote) in [("\n", ""), ("\r\n", ""), ("\n", "\""), ("\r\n", "\"")] {
            let text = ["x,b", "1,2", "", &format!("3,{quote}{cell}{quote}"), "5,6", ""].join(end);
            let expected = format!("a.csv: row 2, line 4, column \"b\": {words}");
            assert_eq!(refusal("a.csv", &text, &plain()), expected, "{text:?}");
            let text = ["1,2", &format!("3,{quote}{cell}{quote}")].join(end);
            let expected = format!("a.csv: row 2, line 2, column 2: {words}");
            assert_eq!(refusal("a.csv", &text, &headless()), expected, "{text:?}");
        }
    }
}

#[test]
fn quoted_line_ends_count_as_lines() {
    for end in ["\n", "\r\n"] {
        let text = ["x,note", "1,\"two", "lines\"", "2,\"one\"", "", "nan,\"one\""].join(end);
        let expected = "a.csv: row 3, line 6, column \"x\": value nan is not finite";
        assert_eq!(refusal("a.csv", &text, &columns(&["x"])), expected, "{text:?}");
        let text = ["\"x", "y\",note", "1,a", "x,b"].join(end);
        let expected = format!("a.csv: row 2, line 4, column {:?}: value \"x\" is not a number", format!("x{end}y"));
        assert_eq!(refusal("a.csv", &text, &columns(&["1"])), expected, "{text:?}");
    }
}

#[test]
fn ragged_rows_are_refused() {
    assert_eq!(refusal("a.csv", "x,y\n1,2\n3\n", &plain()), "a.csv: row 2, line 3: 1 value, expected 2");
    assert_eq!(refusal("a.csv", "x,y\n1,2,3\n", &plain()), "a.csv: row 1, line 2: 3 values, expected 2");
    assert_eq!(refusal("a.csv", "x,y\n1,2\n\"3\"\n", &plain()), "a.csv: row 2, line 3: 1 value, expected 2");
    assert_eq!(refusal("a.csv", "1,2\n3,4,5\n", &headless()), "a.csv: row 2, line 2: 3 values, expected 2");
}

#[test]
fn a_blank_line_is_an_empty_cell_of_a_single_column() {
    let expected = r#"a.csv: row 2, line 3, column "x": empty cell"#;
    for text in ["x\n1\n\n2\n", "x\r\n1\r\n\r\n2\r\n", "x\n\"1\"\n\n\"2\"\n", "x\r\n\"1\"\r\n\r\n2", "x\n1\n\"\"\n2"] {
        assert_eq!(refusal("a.csv", text, &plain()), expected, "{text:?}");
    }
    assert_eq!(rows("a.csv", "x\n1\n2\n\n\n", &plain()), [[1.0], [2.0]]);
}

#[test]
fn refusals_far_into_a_file_keep_their_place() {
    // Several chunks of several pieces, with a blank line now and then.
    let n_rows = 400_000;
    let mut text = String::from("x,y\n");
    for row in 0..n_rows {
        text.push_str(if row % 1000 == 0 { "\n1.25,2.5\n" } else { "1.25,2.5\n" });
    }
    let line = 1 + n_rows + n_rows / 1000 + 1;
    let expected = format!("a.csv: row {}, line {line}, column \"y\": value \"z\" is not a number", n_rows + 1);
    assert_eq!(refusal("a.csv", format!("{text}1,z\n"), &plain()), expected);
    assert_eq!(refusal("a.csv", format!("{text}1,\"z\"\n"), &plain()), expected);
}

#[test]
fn the_second_of_two_bad_cells_was_reported_with_a_wrong_row() {
    // The second is in the chunk that is parsed while the first is found.
    let text = format!("x,y\n1,first\n{}1,second\n{}", "1.25,2.5\n".repeat(200_000), "1.25,2.5\n".repeat(200_000));
    let words = "a.csv: row 1, line 2, column \"y\": value \"first\" is not a number";
    assert_eq!(refusal("a.csv", &text, &plain()), words);
    assert_eq!(refusal("a.csv", text.replacen("1.25", "\"1.25\"", 1), &plain()), words);
}

#[test]
fn nothing_to_read_is_refused() {
    assert_eq!(refusal("a.csv", "", &plain()), "a.csv: the file is empty");
    assert_eq!(refusal("a.csv", "\n\n", &plain()), "a.csv: the file is empty");
    assert_eq!(refusal("a.csv.gz", "", &plain()), "a.csv.gz: the file is empty");
    assert_eq!(refusal("a.csv.gz", gzip(b""), &plain()), "a.csv.gz: the file is empty");
    assert_eq!(refusal("a.csv", "x,y\n", &plain()), "a.csv: no data rows");
    assert_eq!(refusal("a.csv", "x,y", &plain()), "a.csv: no data rows");
    let options = ReadOptions { labels: Some("x".into()), ..plain() };
    assert_eq!(refusal("a.csv", "x\n1\n", &options), "a.csv: no data columns");
}

#[test]
fn odd_texts_are_refused() {
    let words = "a.csv.gz: the file is text, not compressed as its extension says";
    assert_eq!(refusal("a.csv.gz", "x,y\n1,2\n3,4\n5,6\n", &plain()), words);
    assert!(refusal("a.csv.gz", b"\0\x01", &plain()).starts_with("a.csv.gz: cannot read: "));
    let packed = gzip(b"x,y\n1.5,2.5\n".repeat(1000));
    assert!(refusal("a.csv.gz", &packed[..packed.len() / 2], &plain()).starts_with("a.csv.gz: cannot read: "));
    assert_eq!(refusal("a.csv", b"\xff\xfex\0", &plain()), "a.csv: the text is UTF-16; save it as UTF-8");
    let options = ReadOptions { delimiter: Some(b'e'), ..plain() };
    assert_eq!(refusal("a.csv", "x\n1\n", &options), "delimiter 'e' could be part of a number");
    let options = ReadOptions { delimiter: Some(b' '), ..plain() };
    assert_eq!(rows("a.txt", "x y\n1 2\n", &options), [[1.0, 2.0]]);
}

#[test]
fn a_header_longer_than_the_first_look_is_read_whole() {
    let n_columns = 20_000;
    let names: Vec<String> = (0..n_columns).map(|i| format!("column_{i}")).collect();
    let values: Vec<String> = (0..n_columns).map(|i| i.to_string()).collect();
    let read = rows("a.csv", format!("{}\n{}\n", names.join(","), values.join(",")), &plain());
    assert_eq!(read[0][n_columns - 1], f64::from(n_columns as u32 - 1));
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    let error = read_path(&folder.path("none.csv"), &plain()).unwrap_err();
    assert_eq!(folder.message(&error), "none.csv: cannot read: No such file or directory (os error 2)");
    for name in ["folder.csv", "folder.parquet", "folder.arrow", "folder.npy"] {
        std::fs::create_dir(folder.path(name)).unwrap();
        let error = read_path(&folder.path(name), &plain()).unwrap_err();
        assert_eq!(folder.message(&error), format!("{name}: is a folder, not a file"));
    }
    assert_eq!(
        mixtura_io::read(&Input::from("a.xyz"), &plain()).unwrap_err().to_string(),
        "a.xyz: cannot read: No such file or directory (os error 2)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Short, long and quoted forms all preserve every bit.
    #[test]
    fn numbers_come_back_to_the_same_bits(
        values in prop::collection::vec(
            any::<f64>().prop_filter("finite", |value| value.is_finite()), 1..200)
    ) {
        let mut text = String::from("a,b,c\n");
        for value in &values {
            writeln!(text, "{value},{value:e},{value:.17e}").unwrap();
        }
        let quoted = format!("\"{}\"", text.trim_end().replace('\n', "\"\n\"").replace(',', "\",\""));
        for text in [text, quoted] {
            for (row, value) in rows("a.csv", text, &plain()).iter().zip(&values) {
                prop_assert!(row.iter().all(|read| read.to_bits() == value.to_bits()), "{:?} {}", row, value);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), has_header: bool) {
        let folder = Folder::new();
        for name in ["a.csv", "a.csv.gz", "a.tsv"] {
            let _ = read_path(&folder.write(name, &bytes), &ReadOptions { has_header, ..plain() });
        }
    }

    #[test]
    fn any_text_of_the_usual_bytes_is_read_or_refused(text in "[0-9,\"\\r\\n. e-]{0,200}") {
        let folder = Folder::new();
        let _ = read_path(&folder.write("a.csv", &text), &plain());
        let _ = read_path(&folder.write("a.csv", &text), &headless());
    }
}
