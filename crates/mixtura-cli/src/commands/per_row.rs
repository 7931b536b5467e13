//! Writes per-row results: new columns, preceded by the columns of the data if those are kept, with empty cells for
//! skipped rows.

use std::ops::Range;
use std::path::Path;

use mixtura_io::{Cells, OriginalRows, Originals, Spooled, Table, TableColumn, TableLayout, TableWriter, cell_form};

use crate::data::DataArguments;
use crate::output;

/// Numbers or labels for a range of rows.
pub(crate) enum Values {
    Numbers(Vec<f64>),
    Labels(Vec<u32>),
}

/// The data, in a form that can be read twice if all of its columns are to be kept.
pub(crate) struct Kept {
    /// Temporary copy, deleted on drop.
    _spooled: Option<Spooled>,
    /// How to read the data, once or twice.
    pub data: DataArguments,
    is_kept: bool,
}

impl Kept {
    /// Prepares the data, whether or not its columns are to be kept.
    pub(crate) fn new(data: &DataArguments, is_kept: bool) -> anyhow::Result<Self> {
        let spooled = if is_kept { Some(Spooled::new(&data.data)?) } else { None };
        let mut data = data.clone();
        if let Some(spooled) = &spooled {
            data.data = spooled.input().clone();
        }
        Ok(Self { _spooled: spooled, data, is_kept })
    }

    /// Writes columns for each row of a table, `n_at_once` rows at a time; `evaluate` returns their values for a range
    /// of rows.
    pub(crate) fn write(
        &self,
        table: &Table,
        path: Option<&Path>,
        n_at_once: usize,
        columns: Vec<TableColumn>,
        evaluate: impl Fn(Range<usize>) -> anyhow::Result<Vec<Values>>,
    ) -> anyhow::Result<()> {
        let has_gaps = !table.skipped.is_empty();
        let columns = if has_gaps { columns.into_iter().map(TableColumn::optional).collect() } else { columns };
        let mut layout = TableLayout::new(columns);
        let mut originals = None;
        if self.is_kept {
            let data = Originals::open(&self.data.data, &self.data.options(), cell_form(path))?;
            layout = layout.keep(&data);
            originals = Some(data);
        }
        let mut writer = output::table(path, layout)?;
        let mut skipped = table.skipped.iter().copied().peekable();
        let mut done = 0;
        for first in (0..table.n_rows_read).step_by(n_at_once) {
            let end = (first + n_at_once).min(table.n_rows_read);
            let mut is_skipped = vec![false; end - first];
            while let Some(row) = skipped.next_if(|&row| row < end) {
                is_skipped[row - first] = true;
            }
            let n_there = is_skipped.iter().filter(|&&is_skipped| !is_skipped).count();
            let values = evaluate(done..done + n_there)?;
            done += n_there;
            let kept = originals.as_mut().map(|originals| originals.next(end - first)).transpose()?;
            if has_gaps {
                write_with_gaps(&mut writer, kept.as_ref(), &values, &is_skipped)?;
            } else {
                let cells: Vec<Cells<'_>> = values.iter().map(Values::cells).collect();
                writer.write_columns(kept.as_ref(), &cells)?;
            }
        }
        Ok(writer.finish()?)
    }
}

impl Values {
    fn cells(&self) -> Cells<'_> {
        match self {
            Self::Numbers(numbers) => Cells::Numbers(numbers),
            Self::Labels(labels) => Cells::Labels(labels),
        }
    }
}

/// Spreads the values of the rows that were read to their original positions, leaving gaps for skipped rows.
fn write_with_gaps(
    writer: &mut TableWriter<'_>,
    kept: Option<&OriginalRows>,
    values: &[Values],
    is_skipped: &[bool],
) -> anyhow::Result<()> {
    fn spread<T: Copy>(values: &[T], is_skipped: &[bool]) -> Vec<Option<T>> {
        let mut values = values.iter().copied();
        is_skipped.iter().map(|&is_skipped| if is_skipped { None } else { values.next() }).collect()
    }
    enum Spread {
        Numbers(Vec<Option<f64>>),
        Labels(Vec<Option<u32>>),
    }
    let spread: Vec<Spread> = values
        .iter()
        .map(|values| match values {
            Values::Numbers(numbers) => Spread::Numbers(spread(numbers, is_skipped)),
            Values::Labels(labels) => Spread::Labels(spread(labels, is_skipped)),
        })
        .collect();
    let cells: Vec<Cells<'_>> = spread
        .iter()
        .map(|spread| match spread {
            Spread::Numbers(numbers) => Cells::OptionalNumbers(numbers),
            Spread::Labels(labels) => Cells::OptionalLabels(labels),
        })
        .collect();
    Ok(writer.write_columns(kept, &cells)?)
}
