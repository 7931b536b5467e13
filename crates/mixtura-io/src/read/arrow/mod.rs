//! Reads Arrow files and streams: batches are decoded in parallel, column by column, directly into the
//! rows.

mod column;
mod extent;
mod layout;
mod source;

use std::sync::{Arc, Mutex};

use arrow_schema::{DataType, SchemaRef};
use rayon::prelude::*;

use self::column::{Batch, BatchReader, Dictionaries, add_dictionary};
use self::layout::{Layout, Part};
use self::source::Source;
use super::arrays::{self, Numbers};
use super::columns::refuse_too_many;
use super::{Assembly, Header, Selection};
use crate::opened::SharedFile;
use crate::{Error, ReadOptions, Table};

/// Maximum number of tasks the batches are divided into.
const MOST_TASKS: usize = 256;

pub(super) fn read(file: &SharedFile, options: &ReadOptions) -> Result<Table, Error> {
    let source = Source::new(file);
    let layout = Layout::find(&source)?;
    let fields = layout.schema.fields();
    refuse_too_many(&file.name(), fields.len())?;
    let names = fields.iter().map(|field| field.name().clone()).collect();
    let header = Header::new(file.name(), names, fields.len());
    let selection = Selection::of_numbers(&header, options, fields)?;
    let batches = ArrowFile::new(source, &layout, &selection)?;
    if arrays::are_single(fields, &selection) {
        batches.read_into(Assembly::<f32>::new(header, selection, options)?, options, layout.notices)
    } else {
        batches.read_into(Assembly::<f64>::new(header, selection, options)?, options, layout.notices)
    }
}

/// The batches of a file, with the dictionaries that they need.
struct ArrowFile<'a> {
    source: Source<'a>,
    schema: SchemaRef,
    batches: Vec<Batch>,
    n_rows: usize,
    is_plausible: bool,
}

impl<'a> ArrowFile<'a> {
    fn new(source: Source<'a>, layout: &Layout, selection: &Selection) -> Result<Self, Error> {
        let schema = layout.schema.clone();
        let is_dictionary = |&column: &usize| matches!(schema.field(column).data_type(), DataType::Dictionary(..));
        let Selection { data, weights, labels, .. } = selection;
        let needs_dictionaries = data.iter().chain(weights).chain(labels).any(is_dictionary);
        let mut dictionaries = Arc::new(Dictionaries::new());
        let mut batches = Vec::new();
        let mut first_row = 0usize;
        for part in &layout.parts {
            match *part {
                // A stream may replace dictionaries between batches.
                Part::Dictionary { position } if needs_dictionaries => {
                    add_dictionary(&source, position, &schema, Arc::make_mut(&mut dictionaries))?;
                }
                Part::Dictionary { .. } => {}
                Part::Batch { position, n_rows } => {
                    batches.push(Batch { position, first_row, n_rows, dictionaries: dictionaries.clone() });
                    first_row = first_row
                        .checked_add(n_rows)
                        .ok_or_else(|| source.corrupt(&format!("a batch claims to have {n_rows} rows")))?;
                }
            }
        }
        let is_plausible = arrays::is_plausible(first_row, source.n_bytes);
        Ok(Self { source, schema, batches, n_rows: first_row, is_plausible })
    }

    fn read_into<T: Numbers>(
        &self,
        mut assembly: Assembly<T>,
        options: &ReadOptions,
        notices: Vec<String>,
    ) -> Result<Table, Error> {
        assembly.notices = notices;
        self.read_data(&mut assembly)?;
        if let Some(column) = assembly.selection.weights {
            for batch in &self.batches {
                let reader = BatchReader::open(&self.source, &self.schema, batch)?;
                reader.column(column, |piece| assembly.push_weight_piece(piece))?;
            }
        }
        if let Some(column) = assembly.selection.labels {
            for batch in &self.batches {
                let reader = BatchReader::open(&self.source, &self.schema, batch)?;
                reader.column(column, |piece| assembly.push_label_piece(piece))?;
            }
        }
        assembly.finish(options)
    }

    fn read_data<T: Numbers>(&self, assembly: &mut Assembly<T>) -> Result<(), Error> {
        let Assembly { header, selection, growing, .. } = assembly;
        // If the metadata claims more rows than such a file can contain, each batch must deliver its rows
        // before memory is allocated for the next one.
        let n_at_once = if self.is_plausible { self.batches.len().max(1) } else { 1 };
        if self.is_plausible {
            growing.resize(self.n_rows)?;
        }
        for batches in self.batches.chunks(n_at_once) {
            let shared = Mutex::new(&mut *growing);
            let outcomes: Vec<Result<(), Error>> = batches
                .par_chunks(batches.len().div_ceil(MOST_TASKS))
                .map(|batches| {
                    for batch in batches {
                        let reader = BatchReader::open(&self.source, &self.schema, batch)?;
                        for (position, &column) in selection.data.iter().enumerate() {
                            reader.column(column, |piece| header.write_piece(piece, position, &shared))?;
                        }
                    }
                    Ok(())
                })
                .collect();
            outcomes.into_iter().collect::<Result<(), Error>>()?;
        }
        Ok(())
    }
}
