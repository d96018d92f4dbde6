//! Arrow tables as plain lists, for commands that answer before pandas would have been imported.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int16Type, Int32Type, Int64Type, Int8Type, UInt64Type};
use arrow_array::Array;
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::IntoPyObjectExt;
use pyo3_arrow::PyTable;

/// The columns of a table as lists of Python's integers, booleans and strings; `None` for a null.
#[pyfunction]
pub fn columns<'py>(py: Python<'py>, table: &Bound<'py, PyTable>) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for batch in table.get().batches() {
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let column = match found.get_item(field.name())? {
                Some(column) => column.cast_into::<PyList>()?,
                None => PyList::empty(py),
            };
            for value in values(py, array)? {
                column.append(value)?;
            }
            found.set_item(field.name(), column)?;
        }
    }
    Ok(found)
}

fn values<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(py, array),
        DataType::Int16 => numbers::<Int16Type>(py, array),
        DataType::Int32 => numbers::<Int32Type>(py, array),
        DataType::Int64 => numbers::<Int64Type>(py, array),
        DataType::UInt64 => numbers::<UInt64Type>(py, array),
        DataType::Boolean => array.as_boolean().iter().map(|known| of(py, known)).collect(),
        DataType::Utf8 => array.as_string::<i32>().iter().map(|text| of(py, text)).collect(),
        DataType::Dictionary(..) => {
            let array = array.as_any_dictionary();
            let keys = values(py, array.keys())?;
            let known = values(py, array.values())?;
            let value = |key: Option<Bound<'py, PyAny>>| {
                let place: Option<usize> = key.map(|key| key.extract()).transpose()?;
                Ok(place.and_then(|place| known.get(place).cloned().flatten()))
            };
            keys.into_iter().map(value).collect()
        }
        kind => Err(PyValueError::new_err(format!("a column of {kind} holds neither numbers nor texts"))),
    }
}

fn numbers<'py, T: ArrowPrimitiveType>(py: Python<'py>, array: &dyn Array) -> PyResult<Vec<Option<Bound<'py, PyAny>>>>
where
    T::Native: IntoPyObject<'py>,
{
    array.as_primitive::<T>().iter().map(|number| of(py, number)).collect()
}

fn of<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: Option<T>) -> PyResult<Option<Bound<'py, PyAny>>> {
    value.map(|value| value.into_bound_py_any(py)).transpose()
}
