//! Writes CSV: a header, then numbers in the shortest form that reads back to the same bits.

use std::io::{self, Write};

use super::{Batch, TableColumns};

/// Bytes held back before they go to the writer.
const BUFFER_BYTES: usize = 1 << 16;

pub(super) struct CsvSink<W: Write> {
    writer: W,
    buffer: Vec<u8>,
}

impl<W: Write> CsvSink<W> {
    pub(super) fn new(writer: W, columns: &TableColumns) -> io::Result<Self> {
        let mut header = csv::Writer::from_writer(Vec::new());
        header.write_record(columns.names.iter().chain(&columns.label)).map_err(io::Error::from)?;
        let buffer = header.into_inner().map_err(|error| io::Error::from(error.error().kind()))?;
        Ok(Self { writer, buffer })
    }

    pub(super) fn write(&mut self, batch: Batch) -> io::Result<()> {
        for row in 0..batch.n_rows {
            let (values, label) = batch.row(row);
            for (column, &value) in values.iter().enumerate() {
                if column > 0 {
                    self.buffer.push(b',');
                }
                write_number(&mut self.buffer, value)?;
            }
            if let Some(label) = label {
                let comma = if values.is_empty() { "" } else { "," };
                write!(self.buffer, "{comma}{label}")?;
            }
            self.buffer.push(b'\n');
            if self.buffer.len() >= BUFFER_BYTES {
                self.writer.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.writer.write_all(&self.buffer)?;
        Ok(self.writer)
    }
}

/// Both forms have as few digits as identify the number; the exponent saves the zeros.
fn write_number(out: &mut Vec<u8>, value: f64) -> io::Result<()> {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-5..1e16).contains(&magnitude) && magnitude.is_finite() {
        write!(out, "{value:e}")
    } else {
        write!(out, "{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back_to_the_same_bits() {
        for (value, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e300, "1e300"),
            (-2.5e-9, "-2.5e-9"),
            (123_456_789.0, "123456789"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            let mut out = Vec::new();
            write_number(&mut out, value).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), f64::to_bits(value));
        }
    }
}
