//! Checks that files designed to exhaust memory are rejected in time.

use std::fs::File;
use std::io::{BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use mixtura_io::{Error, Input, ReadOptions, read};

use crate::fixture::{Folder, column, columnar, gzip, numpy, read_path, refusal};

fn plain() -> ReadOptions {
    ReadOptions::default()
}

/// A compressed text that exceeds the maximum line length after some lines.
fn long_line(before: &str, unit: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(before.as_bytes()).unwrap();
    let block = unit.repeat((1 << 20) / unit.len());
    (0..80).for_each(|_| encoder.write_all(&block).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn one_endless_line_took_all_memory() {
    let refuse = |bytes: Vec<u8>| refusal("a.csv.gz", bytes, &plain());
    assert_eq!(refuse(long_line("", b"1")), "a.csv.gz: line 1: longer than 64 MiB");
    assert_eq!(refuse(long_line("", b",")), "a.csv.gz: line 1: longer than 64 MiB");
    let rows = "x,y\n".to_owned() + &"1,2\n".repeat(20_000);
    assert_eq!(refuse(long_line(&rows, b"1")), "a.csv.gz: line 20002: longer than 64 MiB");
    assert_eq!(refuse(long_line("x,y\n1,2\n", b"1")), "a.csv.gz: line 3: longer than 64 MiB");
    // An unclosed quote turns all following lines into one record.
    let open = rows.clone() + "3,\"";
    assert_eq!(refuse(long_line(&open, b"1,2\n")), "a.csv.gz: line 20002: longer than 64 MiB");
}

#[test]
fn a_header_of_commas_alone_made_a_list_of_cells() {
    let text = ",".repeat(10_000_000) + "\n1\n";
    assert_eq!(refusal("a.csv", text, &plain()), "a.csv: 10000001 columns; the maximum is 1048576");
    let text = format!("x,y\n1,2\n{}\n", ",".repeat(10_000_000));
    assert_eq!(refusal("a.csv", text, &plain()), "a.csv: row 2, line 3: 10000001 values, expected 2");
}

#[test]
fn bytes_that_no_text_has_are_refused_at_once() {
    let words = |line: usize| format!("a.csv: line {line}: NUL byte found; the file is not text");
    assert_eq!(refusal("a.csv", vec![0; 1000], &plain()), words(1));
    assert_eq!(refusal("a.csv", b"x,y\n1,2\n3,\0\n", &plain()), words(3));
    let mut late = b"x,y\n".to_vec();
    late.extend(b"1,2\n".repeat(500_000));
    late.extend(b"3,\0\n");
    assert_eq!(refusal("a.csv", &late, &plain()), words(500_002));
    // UTF-16 text without a byte order mark.
    assert_eq!(refusal("a.csv", b"x\0,\0y\0\n\0", &plain()), words(1));
    assert!(refusal("a.csv.gz", gzip(vec![0; 1 << 20]), &plain()).ends_with("the file is not text"));
    #[cfg(target_os = "linux")]
    {
        let error = read(&Input::from("/dev/zero"), &plain()).unwrap_err();
        assert!(matches!(error, Error::NotText { .. } | Error::Unsupported { .. }), "{error}");
    }
}

#[test]
fn more_rows_than_memory_are_refused_and_not_killed() {
    let options = ReadOptions { memory: Some(1 << 20), ..plain() };
    let words = |name: &str| format!("{name}: the rows do not fit into the available memory (1.0 MB)");
    // A small file that decompresses to 40 times the allowed memory.
    let bomb = gzip("x,y\n".to_owned() + &"1,2\n".repeat(2_500_000));
    assert!(bomb.len() < 1 << 18);
    assert_eq!(refusal("a.csv.gz", &bomb, &options), words("a.csv.gz"));
    assert_eq!(refusal("a.csv", "x,y\n".to_owned() + &"1,\"2\"\n".repeat(100_000), &options), words("a.csv"));
    for (name, bytes) in columnar(&[("x", column(&vec![Some(1.0); 200_000]))]) {
        assert_eq!(refusal(name, bytes, &options), words(name));
    }
    for bytes in numpy(&vec![vec![1.0, 2.0]; 100_000]) {
        assert_eq!(refusal("a.npy", bytes, &options), words("a.npy"));
    }
    let enough = ReadOptions { memory: Some(4 << 20), ..plain() };
    let folder = Folder::new();
    let path = folder.write("a.csv", "x,y\n".to_owned() + &"1,2\n".repeat(100_000));
    assert_eq!(read_path(&path, &enough).unwrap().rows.n_rows(), 100_000);
}

#[test]
fn names_with_line_ends_are_read_however_long() {
    let folder = Folder::new();
    let name = "a longer name\n".repeat(20_000);
    let table = read_path(&folder.write("a.csv", format!("x,\"{name}\"\n1,2\n")), &plain()).unwrap();
    assert_eq!(table.rows.names(), ["x", name.trim()]);
    let open = format!("x,\"y\n{}", "1,2\n".repeat(20_000_000));
    assert_eq!(refusal("a.csv", open, &plain()), "a.csv: line 1: longer than 64 MiB");
}

#[test]
fn a_line_just_short_of_the_limit_is_read() {
    // The search for the end of a record restarts only a few times, so this is fast.
    let folder = Folder::new();
    let path = folder.path("a.csv");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    file.write_all(b"x,note\n1,\"").unwrap();
    let block = vec![b'a'; 1 << 20];
    (0..40).for_each(|_| file.write_all(&block).unwrap());
    file.write_all(b"\"\n2,b\n").unwrap();
    file.flush().unwrap();
    assert_eq!(read_path(&path, &plain()).unwrap().rows.n_rows(), 2);
}
