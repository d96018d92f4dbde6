//! Rows into Arrow record batches.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};

use rayon::prelude::*;

use crate::error::{bad, Result};

/// A batch of named columns of equal length. A column is nullable if it has a null buffer or is a dictionary. A
/// dictionary has such a buffer only if there are nulls, so this keeps the type independent of the data.
pub fn batch(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch> {
    let field = |(name, array): &(String, ArrayRef)| {
        let is_dictionary = matches!(array.data_type(), DataType::Dictionary(..));
        Field::new(name, array.data_type().clone(), is_dictionary || array.nulls().is_some())
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<Field>>());
    let arrays = columns.into_iter().map(|column| column.1).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(|error| bad!(Refused, "a table could not be built: {error}"))
}

/// An iterator over rows in several slices. Unlike a plain `flat_map` it knows its length and iterates internally:
/// tables have millions of rows.
pub fn each<'a, R>(rows: &'a [&'a [R]]) -> Each<'a, R> {
    Each { rows, left: rows.iter().map(|rows| rows.len()).sum(), present: [].iter() }
}

#[derive(Debug)]
pub struct Each<'a, R> {
    rows: &'a [&'a [R]],
    left: usize,
    present: std::slice::Iter<'a, R>,
}

impl<'a, R> Iterator for Each<'a, R> {
    type Item = &'a R;

    fn next(&mut self) -> Option<&'a R> {
        loop {
            if let Some(row) = self.present.next() {
                self.left -= 1;
                return Some(row);
            }
            let (first, rest) = self.rows.split_first()?;
            (self.present, self.rows) = (first.iter(), rest);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn fold<B, F: FnMut(B, &'a R) -> B>(self, start: B, mut step: F) -> B {
        let so_far = self.present.fold(start, &mut step);
        self.rows.iter().fold(so_far, |so_far, rows| rows.iter().fold(so_far, &mut step))
    }
}

/// Collects an iterator that knows its length and may be faster when iterated internally.
pub fn gather<T>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut gathered = Vec::with_capacity(values.size_hint().0);
    values.for_each(|value| gathered.push(value));
    gathered
}

/// A column without nulls.
pub fn plain<T: ArrowPrimitiveType>(values: impl Iterator<Item = T::Native>) -> ArrayRef {
    let values = gather(values);
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
}

/// A column of booleans without nulls.
pub fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(BooleanArray::from(gather(values)))
}

/// A nullable column.
pub fn optional<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef
where
    T::Native: Default,
{
    let mut known = BooleanBufferBuilder::new(values.size_hint().0);
    let note = |value: Option<T::Native>| {
        known.append(value.is_some());
        value.unwrap_or_default()
    };
    let values = gather(values.map(note));
    let nulls = NullBuffer::new(known.finish());
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), Some(nulls)))
}

/// Columns yet to be built, so that all cores can build them.
#[derive(Default)]
pub struct Plan<'a> {
    columns: Vec<(String, Build<'a>)>,
}

type Build<'a> = Box<dyn Fn() -> ArrayRef + Send + Sync + 'a>;

impl<'a> Plan<'a> {
    pub fn new() -> Plan<'a> {
        Plan::default()
    }

    /// Adds a column.
    pub fn add(&mut self, name: impl Into<String>, build: impl Fn() -> ArrayRef + Send + Sync + 'a) -> &mut Self {
        self.columns.push((name.into(), Box::new(build)));
        self
    }

    /// Builds all columns.
    pub fn batch(self) -> Result<RecordBatch> {
        batch(self.columns.into_par_iter().map(|(name, build)| (name, build())).collect())
    }
}
