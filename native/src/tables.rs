//! Rows into Arrow record batches.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowPrimitiveType, Field, Schema};

use crate::error::{bad, Result};

/// Named columns of one length as a batch. A column is nullable exactly if it brought a null
/// buffer, so that its type does not depend on the data.
pub fn batch(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch> {
    let field =
        |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), array.nulls().is_some());
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<Field>>());
    let arrays = columns.into_iter().map(|column| column.1).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(|error| bad!("a table could not be built: {error}"))
}

/// A column without nulls.
pub fn plain<T: ArrowPrimitiveType>(values: impl Iterator<Item = T::Native>) -> ArrayRef {
    let values: Vec<T::Native> = values.collect();
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
}

/// A column of booleans without nulls.
pub fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(BooleanArray::from(values.collect::<Vec<bool>>()))
}

/// A nullable column.
pub fn optional<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef
where
    T::Native: Default,
{
    let values: Vec<Option<T::Native>> = values.collect();
    let nulls: NullBuffer = values.iter().map(Option::is_some).collect();
    let values: Vec<T::Native> = values.into_iter().map(Option::unwrap_or_default).collect();
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), Some(nulls)))
}
