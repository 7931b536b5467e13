//! Checks that columns of the data are copied unchanged from every format to every format.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use mixtura_io::{
    CellForm, Cells, Error, Input, Originals, ReadOptions, Spooled, TableColumn, TableLayout, TableWriter, cell_form,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::fixture::Folder;

/// Writes a table again, `n_at_once` rows at a time, with a label for each of its `n_rows` rows.
fn keep(from: &Path, to: &Path, n_rows: usize, n_at_once: usize) -> Result<(), Error> {
    let mut data = Originals::open(&Input::from(from), &ReadOptions::default(), cell_form(Some(to)))?;
    let layout = TableLayout::new(vec![TableColumn::label("label")]).keep(&data);
    let mut writer = TableWriter::create(to, layout)?;
    let labels: Vec<u32> = (0..n_rows as u32).collect();
    for labels in labels.chunks(n_at_once) {
        writer.write_columns(Some(&data.next(labels.len())?), &[Cells::Labels(labels)])?;
    }
    writer.finish()
}

fn kept_text(name: &str, text: impl AsRef<[u8]>, n_rows: usize) -> String {
    let folder = Folder::new();
    keep(&folder.write(name, text), &folder.path("out.csv"), n_rows, 2).unwrap();
    fs::read_to_string(folder.path("out.csv")).unwrap()
}

fn read_parquet(path: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = builder.schema().clone();
    concat_batches(&schema, &builder.build().unwrap().map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

fn read_arrow(path: &Path) -> RecordBatch {
    let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    concat_batches(&reader.schema(), &reader.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

/// A table with types that text does not have.
fn typed(towns: [&str; 3]) -> RecordBatch {
    let towns: DictionaryArray<Int32Type> = towns.into_iter().collect();
    let price = Decimal128Array::from(vec![Some(1250), None, Some(-5)]).with_precision_and_scale(10, 2).unwrap();
    RecordBatch::try_from_iter_with_nullable([
        ("town", Arc::new(towns) as ArrayRef, true),
        ("day", Arc::new(Date32Array::from(vec![Some(0), Some(20_774), None])), true),
        ("price", Arc::new(price), true),
        ("x", Arc::new(Float64Array::from(vec![0.1, 1e300, -0.0])), true),
        ("note", Arc::new(StringArray::from(vec![Some("a,b"), Some(""), None])), true),
    ])
    .unwrap()
}

#[test]
fn cells_of_text_are_kept_to_the_letter_but_for_decimal_commas() {
    let text = "id;name;height\n007;\"Ann \"\"A\"\" Lee\";1,50\n008; Bo ;\n009;\"two\r\nlines, one cell\";2,00e0\n";
    let expected = "id,name,height,label\n007,\"Ann \"\"A\"\" Lee\",1.50,0\n008, Bo ,,1\n\
                    009,\"two\r\nlines, one cell\",2.00e0,2\n";
    assert_eq!(kept_text("a.csv", text, 3), expected);
    let without_header = ReadOptions { has_header: false, ..ReadOptions::default() };
    let folder = Folder::new();
    let path = folder.write("b.csv", "1,a\n");
    let data = Originals::open(&Input::from(path.as_path()), &without_header, CellForm::Text).unwrap();
    assert_eq!(data.names(), ["column 1", "column 2"]);
}

#[test]
fn cells_in_latin_1_come_out_as_utf_8_beside_their_header() {
    let folder = Folder::new();
    let path = folder.write("a.csv", b"stra\xdfe,x\nM\xfcller,1\n");
    keep(&path, &folder.path("out.csv"), 1, 1).unwrap();
    assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), "straße,x,label\nMüller,1,0\n");
}

#[test]
fn text_gets_types_that_lose_nothing() {
    let folder = Folder::new();
    let text = "whole,number,zip,late,gap\n1,0.50,01234,1,\n-2,1e3,99999,2,4\n3,,00001,x,\n";
    let path = folder.write("a.csv", text);
    keep(&path, &folder.path("out.parquet"), 3, 2).unwrap();
    keep(&path, &folder.path("out.arrow"), 3, 2).unwrap();
    for batch in [read_parquet(&folder.path("out.parquet")), read_arrow(&folder.path("out.arrow"))] {
        let types: Vec<DataType> = batch.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        let (whole, number, text) = (DataType::Int64, DataType::Float64, DataType::Utf8);
        assert_eq!(types, [whole.clone(), number, text.clone(), text, whole, DataType::UInt32]);
        let column = |index: usize| batch.column(index).clone();
        assert_eq!(column(0).as_ref(), &Int64Array::from(vec![1, -2, 3]) as &dyn Array);
        assert_eq!(column(1).as_ref(), &Float64Array::from(vec![Some(0.5), Some(1000.0), None]) as &dyn Array);
        assert_eq!(column(2).as_ref(), &StringArray::from(vec!["01234", "99999", "00001"]) as &dyn Array);
        assert_eq!(column(3).as_ref(), &StringArray::from(vec!["1", "2", "x"]) as &dyn Array);
        assert_eq!(column(4).as_ref(), &Int64Array::from(vec![None, Some(4), None]) as &dyn Array);
    }
}

#[test]
fn types_of_parquet_and_arrow_come_through() {
    let folder = Folder::new();
    let batch = typed(["Oslo", "Rome", "Oslo"]);
    let mut writer =
        ArrowWriter::try_new(File::create(folder.path("a.parquet")).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut writer = FileWriter::try_new(File::create(folder.path("a.arrow")).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    for (from, to) in [("a.parquet", "p.parquet"), ("a.arrow", "a2.parquet"), ("a.arrow", "a2.arrow")] {
        keep(&folder.path(from), &folder.path(to), 3, 2).unwrap();
        let path = folder.path(to);
        let kept = if to.ends_with("arrow") { read_arrow(&path) } else { read_parquet(&path) };
        assert_eq!(kept.project(&[0, 1, 2, 3, 4]).unwrap(), batch, "{from} to {to}");
        assert_eq!(kept.schema().field(5).name(), "label");
    }
    for from in ["a.parquet", "a.arrow"] {
        keep(&folder.path(from), &folder.path("out.csv"), 3, 2).unwrap();
        let expected = "town,day,price,x,note,label\nOslo,1970-01-01,12.50,0.1,\"a,b\",0\n\
                        Rome,2026-11-17,,1e300,,1\nOslo,,-0.05,-0,,2\n";
        assert_eq!(fs::read_to_string(folder.path("out.csv")).unwrap(), expected, "{from}");
    }
}

/// An Arrow file has one dictionary for a column; the batches of a stream may each have their own.
#[test]
fn dictionaries_that_change_do_not_end_the_writing() {
    let folder = Folder::new();
    let batches = [typed(["Oslo", "Rome", "Oslo"]), typed(["Bern", "Wien", "Rome"])];
    let mut writer =
        StreamWriter::try_new(File::create(folder.path("a.arrows")).unwrap(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    keep(&folder.path("a.arrows"), &folder.path("out.arrow"), 6, 4).unwrap();
    let towns = read_arrow(&folder.path("out.arrow")).column(0).clone();
    assert_eq!(towns.as_ref(), &StringArray::from(vec!["Oslo", "Rome", "Oslo", "Bern", "Wien", "Rome"]) as &dyn Array);
    for to in ["out.parquet", "out.arrows"] {
        keep(&folder.path("a.arrows"), &folder.path(to), 6, 4).unwrap();
    }
    assert!(matches!(read_parquet(&folder.path("out.parquet")).column(0).data_type(), DataType::Dictionary(..)));
}

#[test]
fn an_npy_array_has_numbered_columns() {
    let folder = Folder::new();
    for (order, values) in [("False", [1.5, 2.0, 3.0, 4.0, 5.0, 6.0]), ("True", [1.5, 3.0, 5.0, 2.0, 4.0, 6.0])] {
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': (3, 2), }}").bytes());
        bytes.resize(127, b' ');
        bytes.push(b'\n');
        bytes.extend(values.iter().flat_map(|value: &f64| value.to_le_bytes()));
        keep(&folder.write("a.npy", bytes), &folder.path("out.csv"), 3, 2).unwrap();
        let text = fs::read_to_string(folder.path("out.csv")).unwrap();
        assert_eq!(text, "column 1,column 2,label\n1.5,2,0\n3,4,1\n5,6,2\n");
    }
}

#[test]
fn columns_of_the_data_are_refused_in_an_npy_array() {
    let folder = Folder::new();
    let error = keep(&folder.write("a.csv", "x\n1\n"), &folder.path("out.npy"), 1, 1).unwrap_err();
    assert_eq!(folder.message(&error), "out.npy: an NPY file cannot store the columns of the data");
    assert_eq!(error.hint().as_deref(), Some("write a .csv, .parquet or .arrow file instead"));
}

#[test]
fn labels_of_labelled_data_have_a_name_of_their_own() {
    assert_eq!(kept_text("a.csv", "label,label_1\na,b\n", 1), "label,label_1,label_2\na,b,0\n");
}

#[test]
fn a_file_that_has_lost_rows_meanwhile_is_refused() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x\n1\n2\n3\n");
    let error = keep(&path, &folder.path("out.csv"), 5, 2).unwrap_err();
    assert_eq!(folder.message(&error), "a.csv: found 3 rows, but 4 on the first read");
    assert_eq!(folder.names(), ["a.csv"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_copied_so_that_it_can_be_read_twice() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let spooled = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, "x\n1\n").unwrap());
        Spooled::new(&Input::from(pipe.as_path())).unwrap()
    });
    let Input::Path(copy) = spooled.input().clone() else { panic!("a copy is a file") };
    for _ in 0..2 {
        assert_eq!(fs::read(&copy).unwrap(), b"x\n1\n");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(copy.parent().unwrap()).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "the data is for nobody else to read");
    drop(spooled);
    assert!(!copy.parent().unwrap().exists());
}
