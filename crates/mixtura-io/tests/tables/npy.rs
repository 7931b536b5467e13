//! Checks NumPy arrays against files written by NumPy (printed by `data/make.py`).

use mixtura_io::ReadOptions;

use crate::fixture::{Folder, all_rows, columns, read_path, refusal, rows};

const C_F8: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }                                                          \n\x00\x00\x00\x00\x00\x00\xf8?\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\n\xc0\x00\x00\x00\x00\x00\x00\x10@\x9a\x99\x99\x99\x99\x99\xb9?\x00\x00\x00\x00\x00\x00\x18@";
const FORTRAN_F8: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }                                                           \n\x00\x00\x00\x00\x00\x00\xf8?\x00\x00\x00\x00\x00\x00\x10@\x00\x00\x00\x00\x00\x00\x00@\x9a\x99\x99\x99\x99\x99\xb9?\x00\x00\x00\x00\x00\x00\n\xc0\x00\x00\x00\x00\x00\x00\x18@";
const F4: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \n\x00\x00\xc0?\x00\x00\x00@\x00\x00P\xc0\x00\x00\x80@\xcd\xcc\xcc=\x00\x00\xc0@";
const I8: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }                                                          \n\x01\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00 \x00";
const BIG_F8: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }                                                          \n?\xf8\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\x00\xc0\n\x00\x00\x00\x00\x00\x00@\x10\x00\x00\x00\x00\x00\x00?\xb9\x99\x99\x99\x99\x99\x9a@\x18\x00\x00\x00\x00\x00\x00";

fn plain() -> ReadOptions {
    ReadOptions::default()
}

fn array(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn arrays_that_numpy_wrote_are_read() {
    let expected = [[1.5, 2.0, -3.25], [4.0, 0.1, 6.0]];
    assert_eq!(rows("a.npy", C_F8, &plain()), expected);
    assert_eq!(rows("a.npy", FORTRAN_F8, &plain()), expected);
    assert_eq!(rows("a.npy", BIG_F8, &plain()), expected);
    assert_eq!(rows("a.npy", F4, &plain()), [[1.5, 2.0, -3.25], [4.0, f64::from(0.1f32), 6.0]]);
    assert_eq!(rows("a.npy", I8, &plain()), [[1.0, -2.0], [3.0, 9_007_199_254_740_992.0]]);
}

#[test]
fn columns_weights_and_labels_go_by_number() {
    let options = ReadOptions { weights: Some("1".into()), labels: Some("3".into()), ..ReadOptions::default() };
    let values = doubles(&[0.5, 10.0, 7.0, 1.5, 20.0, -1.0, 2.0, 30.0, 7.0]);
    let by_columns = doubles(&[0.5, 1.5, 2.0, 10.0, 20.0, 30.0, 7.0, -1.0, 7.0]);
    for bytes in [array("'<f8'", "False", "(3, 3)", &values), array("'<f8'", "True", "(3, 3)", &by_columns)] {
        let folder = Folder::new();
        let path = folder.write("a.npy", &bytes);
        let table = read_path(&path, &options).unwrap();
        assert_eq!(all_rows(&table), [[10.0], [20.0], [30.0]]);
        assert_eq!(table.rows.weights(), Some(&[0.5, 1.5, 2.0][..]));
        assert_eq!(table.rows.labels(), Some(&[1, 0, 1][..]));
        assert_eq!(table.labels.unwrap().values, ["-1", "7"]);
        assert_eq!(all_rows(&read_path(&path, &columns(&["3", "2"])).unwrap())[1], [-1.0, 20.0]);
        let error = read_path(&path, &columns(&["x"])).unwrap_err();
        assert_eq!(folder.message(&error), r#"a.npy: no column "x""#);
        assert_eq!(error.hint().unwrap(), "the columns have no names; select them by position, 1 to 3");
    }
}

#[test]
fn one_dimension_is_one_column() {
    let bytes = array("'<f8'", "False", "(3,)", &doubles(&[1.0, 2.0, 3.0]));
    assert_eq!(rows("a.npy", bytes, &plain()), [[1.0], [2.0], [3.0]]);
}

#[test]
fn bad_values_are_refused_with_their_place() {
    for order in ["False", "True"] {
        let bytes = array("'<f8'", order, "(2, 2)", &doubles(&[1.0, 2.0, 3.0, f64::NAN]));
        assert_eq!(refusal("a.npy", bytes, &plain()), "a.npy: row 2, column 2: value NaN is not finite");
        let integers: Vec<u8> = [1, 2, 3, (1i64 << 53) + 1].iter().flat_map(|value| value.to_le_bytes()).collect();
        let bytes = array("'<i8'", order, "(2, 2)", &integers);
        let words =
            "a.npy: row 2, column 2: integer 9007199254740993 cannot be represented exactly in double precision";
        assert_eq!(refusal("a.npy", &bytes, &plain()), words);
        assert_eq!(rows("a.npy", &bytes, &columns(&["1"])).len(), 2, "a column that is not read does not matter");
    }
    let bytes = array("'<f8'", "False", "(2, 2)", &doubles(&[1.0, 2.0, 3.0, -4.0]));
    let options = ReadOptions { weights: Some("2".into()), ..plain() };
    assert_eq!(refusal("a.npy", bytes, &options), "a.npy: row 2, column 2: weight -4 is negative");
}

#[test]
fn other_arrays_are_refused() {
    let refuse = |descr, shape| refusal("a.npy", array(descr, "False", shape, &[0; 64]), &plain());
    let words = "a.npy: expected a numeric array with one or two dimensions, but this one has";
    assert_eq!(refuse("'<f8'", "(2, 2, 2)"), format!("{words} 3 dimensions"));
    assert_eq!(refuse("'<f8'", "()"), format!("{words} 0 dimensions"));
    assert_eq!(refuse("'<c16'", "(2, 2)"), format!("{words} elements of type <c16"));
    assert_eq!(refuse("[('a', '<f8')]", "(2,)"), format!("{words} elements of type [('a', '<f8')]"));
    assert_eq!(refuse("'<f8'", "(0, 3)"), "a.npy: no data rows");
    assert_eq!(refuse("'<f8'", "(3, 0)"), "a.npy: no data columns");
    assert_eq!(refusal("a.npy", "", &plain()), "a.npy: the file is empty");
    assert_eq!(refusal("a.npy", "x,y\n1,2\n", &plain()), "a.npy: the file is text, not NPY as its extension says");
    assert_eq!(
        refusal("a.npy", b"\0\x01\x02\x03", &plain()),
        "a.npy: not a valid NPY file: it does not start like a NumPy array"
    );
}

#[test]
fn a_lying_header_is_refused_before_memory_is_taken() {
    let refuse = |shape| refusal("a.npy", array("'<f8'", "False", shape, &[0; 64]), &plain());
    let words =
        |shape| format!("a.npy: not a valid NPY file: the header says {shape} values, but the file has only 64 bytes");
    assert_eq!(refuse("(9, 1)"), words("9 × 1"));
    assert_eq!(refuse("(1000000000000, 1000)"), words("1000000000000 × 1000"));
    assert_eq!(refuse("(4294967296, 4294967296)"), words("4294967296 × 4294967296"));
    assert_eq!(refuse("(18446744073709551615, 2)"), words("18446744073709551615 × 2"));
    let mut long = C_F8.to_vec();
    long[6] = 2;
    assert!(refusal("a.npy", long, &plain()).starts_with("a.npy: not a valid NPY file: its header claims to be"));
    let mut deep = array("'<f8'", "False", "(1,)", &[]);
    deep.splice(12.., std::iter::repeat_n(b'(', 60_000));
    deep[8..12].copy_from_slice(&60_000u32.to_le_bytes());
    assert_eq!(refusal("a.npy", deep, &plain()), "a.npy: not a valid NPY file: header: no dictionary");
}

#[test]
fn bytes_after_the_array_are_noticed() {
    let folder = Folder::new();
    let path = folder.write("a.npy", array("'<f8'", "False", "(1, 1)", &doubles(&[1.0, 2.0])));
    let table = read_path(&path, &plain()).unwrap();
    assert_eq!(table.notices, [format!("{}: ignored 8 bytes after the array", path.display())]);
}
