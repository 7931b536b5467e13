//! Checks format detection, and unusual text files.

use std::fs;
use std::process::Command;

use mixtura_io::{Input, ReadOptions, read};

use crate::fixture::{Folder, all_rows, column, columnar, gzip, noticed, numpy, read_path, refusal, rows};

fn plain() -> ReadOptions {
    ReadOptions::default()
}

fn zstandard(text: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::encode_all(text.as_ref(), 1).unwrap()
}

const TEXT: &str = "x,y\n1,2\n3,4\n";
const ROWS: [[f64; 2]; 2] = [[1.0, 2.0], [3.0, 4.0]];

/// One table in every format, by its usual name.
fn everywhere() -> Vec<(&'static str, Vec<u8>)> {
    let mut files =
        columnar(&[("x", column(&[Some(1.0), Some(3.0)])), ("y", column(&[Some(2.0), Some(4.0)]))]).to_vec();
    files.extend(numpy(&ROWS.map(|row| row.to_vec())).map(|bytes| ("a.npy", bytes)));
    files.push(("a.csv", TEXT.into()));
    files.push(("a.csv.gz", gzip(TEXT)));
    files.push(("a.csv.zst", zstandard(TEXT)));
    files
}

#[test]
fn text_packed_with_zstd_is_read() {
    for name in ["a.csv.zst", "a.txt.zst", "a.csv"] {
        assert_eq!(rows(name, zstandard(TEXT), &plain()), ROWS, "{name}");
    }
    assert_eq!(rows("a.tsv.zst", zstandard("x\ty\n1\t2\n3\t4\n"), &plain()), ROWS);
    // Frames one after another are one text, as with gzip.
    assert_eq!(rows("a.csv.zst", [zstandard("x,y\n1,2\n"), zstandard("3,4\n")].concat(), &plain()), ROWS);
    let packed = zstandard("x,y\n1.5,2.5\n".repeat(10_000));
    assert!(refusal("a.csv.zst", &packed[..packed.len() / 2], &plain()).starts_with("a.csv.zst: "));
    assert!(refusal("a.csv.zst", TEXT, &plain()).starts_with("a.csv.zst: the file is text, not compressed"));
}

#[test]
fn a_file_without_a_known_extension_is_told_by_its_first_bytes() {
    for (usual, bytes) in everywhere() {
        for name in ["a", "a.data", "a.bin"] {
            assert_eq!(rows(name, &bytes, &plain()), ROWS, "{usual} as {name}");
        }
    }
    assert_eq!(refusal("a.data", b"\x00\x01\x02\x03", &plain()), "a.data: unknown extension \".data\"");
    let words = "a.xlsx: the file is a zip archive, such as .xlsx or .npz";
    assert_eq!(refusal("a.xlsx", b"PK\x03\x04rest", &plain()), words);
}

#[test]
fn an_extension_that_lies_is_told() {
    for (usual, bytes) in everywhere().into_iter().filter(|(usual, _)| !usual.starts_with("a.csv")) {
        let found = match usual {
            "a.parquet" => "Parquet",
            "a.npy" => "NPY",
            _ => "Arrow",
        };
        let words = format!("a.csv: the file is in {found} format, not text as its extension says");
        assert_eq!(refusal("a.csv", &bytes, &plain()), words);
        let words = format!("a.csv.gz: the file is a compressed {found} file");
        assert_eq!(refusal("a.csv.gz", gzip(&bytes), &plain()), words);
        let words = format!("a.npy.zst: the file is a compressed {found} file");
        assert_eq!(refusal("a.npy.zst", zstandard(&bytes), &plain()), words);
    }
    let parquet = &everywhere()[0].1;
    let words = "a.npy: the file is in Parquet format, not NPY as its extension says";
    assert_eq!(refusal("a.npy", parquet, &plain()), words);
    let words = "a.csv: the file is a zip archive, such as .xlsx or .npz, not text as its extension says";
    assert_eq!(refusal("a.csv", b"PK\x03\x04rest", &plain()), words);
    // Column names may start like the signature of a format.
    assert_eq!(rows("a.csv", "PAR1,PAR2\n1,2\n3,4\n", &plain()), ROWS);
}

#[test]
fn every_format_is_read_from_a_pipe() {
    for (usual, bytes) in everywhere() {
        let folder = Folder::new();
        let (pipe, file) = (folder.path("pipe"), folder.write("file", bytes));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::copy(file, pipe).unwrap()
        });
        let table = read(&Input::from(pipe), &plain()).unwrap();
        writer.join().unwrap();
        assert_eq!(all_rows(&table), ROWS, "{usual}");
    }
}

#[test]
fn comments_are_passed_over() {
    for (text, names) in [
        ("# made by hand\nx,y\n1,2\n# between\n3,4\n", ["x", "y"]),
        ("# made by hand\n#\n\nx,y\n1,\"2\"\n# it's a \"quote\n3,4\n# end", ["x", "y"]),
        ("# some words, and more\nx,y\n1,2\n3,4\n", ["x", "y"]),
        // As numpy.savetxt writes names.
        ("# remark\n# a,b\n1,2\n3,4\n", ["a", "b"]),
        ("# a b\n1 2\n3 4\n", ["a", "b"]),
        ("#a,b\r\n1,2\r\n3,4\r\n", ["a", "b"]),
    ] {
        let folder = Folder::new();
        let table = read_path(&folder.write("a.csv", text), &plain()).unwrap();
        assert_eq!(all_rows(&table), ROWS, "{text:?}");
        assert_eq!(table.rows.names(), names, "{text:?}");
    }
    let headless = ReadOptions { has_header: false, ..plain() };
    assert_eq!(rows("a.csv", "# a,b\n1,2\n#\n3,4\n", &headless), ROWS);
    // A row that starts with # is not ignored silently.
    let notices = noticed("a.csv", "x,y\n1,2\n#7,8\n3,4\n", &plain()).0;
    assert_eq!(notices, ["a.csv: ignored 1 line between the rows that start with #"]);
    // In a single column a comment is not an empty cell.
    assert_eq!(rows("a.csv", "x\n1\n# two\n3\n", &plain()), [[1.0], [3.0]]);
    assert_eq!(rows("a.csv", "x\n\"1\"\n# two\n3\n", &plain()), [[1.0], [3.0]]);
    for quote in ["", "\""] {
        let text = format!("# one\n\n# three\nx,y\n1,{quote}2{quote}\n# six\n\n3,abc\n");
        let words = "a.csv: row 2, line 8, column \"y\": value \"abc\" is not a number";
        assert_eq!(refusal("a.csv", text, &plain()), words);
    }
}

#[test]
fn whitespace_of_any_width_separates_values() {
    for text in [
        "x y\n1 2\n3 4\n",
        "   x      y\n 1.0   2e0\n   3     4  \n",
        "x\t\ty\n1\t 2\n3 \t4\n",
        "x y\r\n1  2\r\n\r\n3  4\r\n",
        "\"x\" \"y\"\n1 2\n\"3\" 4\n",
    ] {
        for name in ["a.txt", "a.dat", "a.csv", "a.txt.gz"] {
            let bytes = if name.ends_with("gz") { gzip(text) } else { text.into() };
            assert_eq!(rows(name, bytes, &plain()), ROWS, "{text:?} as {name}");
        }
    }
    for n_rows in [1, 100] {
        let text = format!("x y\n{}3 4 5\n", "1 2\n".repeat(n_rows));
        let words = format!("a.txt: row {}, line {}: 3 values, expected 2", n_rows + 1, n_rows + 2);
        assert_eq!(refusal("a.txt", text, &plain()), words);
    }
    let text = format!("x y\n{}  3  z\n", " 1 2\n".repeat(100));
    let words = "a.txt: row 101, line 102, column \"y\": value \"z\" is not a number";
    assert_eq!(refusal("a.txt", text, &plain()), words);
}

#[test]
fn names_and_labels_that_are_not_utf_8_were_garbled() {
    let folder = Folder::new();
    let path = folder.write("a.csv", b"Gr\xf6\xdfe,B\xe9ta\n1,2\n3,4\n");
    let table = read_path(&path, &plain()).unwrap();
    assert_eq!(table.rows.names(), ["Größe", "Béta"]);
    assert!(table.notices[0].ends_with(": the column names are not valid UTF-8 and were read as Windows-1252"));
    // Two labels that differ only in such a letter were merged.
    let options = ReadOptions { labels: Some("kind".into()), ..plain() };
    for quote in ["", "\""] {
        let text = [b"x,kind\n1,", quote.as_bytes(), b"\xe9", quote.as_bytes(), b"\n2,\xe8\n"].concat();
        let table = read_path(&folder.write("a.csv", text), &options).unwrap();
        assert_eq!(table.labels.unwrap().values, ["è", "é"]);
    }
    let words = "a.csv: the text is UTF-16; save it as UTF-8";
    assert_eq!(refusal("a.csv", b"\xff\xfex\0,\0", &plain()), words);
}

#[test]
fn a_long_preamble_of_comments_hid_the_table() {
    let folder = Folder::new();
    for preamble in ["# a comment\n".repeat(20_000), "\n".repeat(100_000)] {
        let path = folder.write("a.csv", format!("{preamble}x,y\n1,2\n3,4\n"));
        let table = read_path(&path, &ReadOptions::default()).unwrap();
        assert_eq!((table.rows.n_rows(), table.rows.names()), (2, &["x".to_owned(), "y".to_owned()][..]));
    }
}
