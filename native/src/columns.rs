//! Payloads into typed columns, by the recorded format.
//!
//! Rows are gathered one block and one column at a time: the inner loops know their type, and the bytes are still in
//! cache.

use std::sync::Arc;

use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, ListArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::Field as ArrowField;

use crate::bytes::{slice, u32_at, until_nul};
use crate::format::{Element, Field, Format, Kind};
use crate::intern::{CommCache, Interner, Labels, MAX_BYTES};
use crate::narrow::Narrow;
use crate::recording::Unit;

/// One field of every row.
#[derive(Debug)]
pub struct Column {
    pub field: Field,
    values: Values,
}

#[derive(Debug)]
enum Values {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    Bool(Vec<bool>),
    Text { codes: Vec<u32>, strings: Interner, comms: CommCache },
    Bytes { data: Vec<u8>, ends: Vec<i32>, element: Option<(usize, bool)> },
}

/// Name of the time column.
fn time_column(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "time_ns",
        Unit::Cycles => "time_cycles",
        Unit::Order => "time_order",
    }
}

/// Start and size of each payload in a block. Sizes cover the fixed part.
pub type Rows = [(u32, u32)];

impl Column {
    fn new(field: &Field) -> Column {
        let values = match field.kind {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Int { signed } => match (field.size, signed) {
                (1, true) => Values::I8(Vec::new()),
                (2, true) => Values::I16(Vec::new()),
                (4, true) => Values::I32(Vec::new()),
                (1, false) => Values::U8(Vec::new()),
                (2, false) => Values::U16(Vec::new()),
                (4, false) => Values::U32(Vec::new()),
                (_, true) => Values::I64(Vec::new()),
                (_, false) => Values::U64(Vec::new()),
            },
            Kind::Array(element) | Kind::Tail(element) | Kind::DataLoc(element) | Kind::RelLoc(element) => {
                match element {
                    Element::Char => {
                        Values::Text { codes: Vec::new(), strings: Interner::default(), comms: CommCache::default() }
                    }
                    Element::Int { size, signed } => {
                        Values::Bytes { data: Vec::new(), ends: Vec::new(), element: Some((size, signed)) }
                    }
                    Element::Bytes => Values::Bytes { data: Vec::new(), ends: Vec::new(), element: None },
                }
            }
        };
        Column { field: field.clone(), values }
    }

    /// `left`: bytes of each row that no pointer has used yet; empty if no two pointers can share bytes. Only in
    /// damaged data does a row yield more than it holds.
    fn gather(&mut self, block: &[u8], rows: &Rows, left: &mut [u32]) {
        let at = self.field.offset;
        let pointer = self.field.is_pointer();
        let mut within = |place: usize, bytes: &mut &[u8]| {
            let Some(left) = left.get_mut(place).filter(|_| pointer) else { return };
            match left.checked_sub(bytes.len().narrow()) {
                Some(rest) => *left = rest,
                None => *bytes = &[],
            }
        };
        macro_rules! integers {
            ($values:expr, $type:ty) => {
                $values.extend(rows.iter().map(|&(start, _)| {
                    let bytes = slice(block, start as usize + at, size_of::<$type>());
                    bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, <$type>::from_le_bytes)
                }))
            };
        }
        match &mut self.values {
            Values::I8(values) => integers!(values, i8),
            Values::I16(values) => integers!(values, i16),
            Values::I32(values) => integers!(values, i32),
            Values::I64(values) => integers!(values, i64),
            Values::U8(values) => integers!(values, u8),
            Values::U16(values) => integers!(values, u16),
            Values::U32(values) => integers!(values, u32),
            Values::U64(values) => integers!(values, u64),
            Values::Bool(values) => {
                values.extend(
                    rows.iter().map(|&(start, _)| block.get(start as usize + at).is_some_and(|&byte| byte != 0)),
                );
            }
            Values::Text { codes, strings, comms } => {
                let field = &self.field;
                codes.extend(rows.iter().enumerate().map(|(place, &row)| {
                    let mut bytes = field_bytes(field, block, row);
                    within(place, &mut bytes);
                    if bytes.len() == 16 {
                        comms.code(bytes, strings)
                    } else {
                        strings.code(until_nul(bytes))
                    }
                }));
            }
            Values::Bytes { data, ends, element } => {
                for (place, &row) in rows.iter().enumerate() {
                    let mut bytes = field_bytes(&self.field, block, row);
                    within(place, &mut bytes);
                    let whole = bytes.len() - bytes.len() % element.map_or(1, |element| element.0);
                    data.extend_from_slice(&bytes[..whole]);
                    ends.push(i32::try_from(data.len()).unwrap_or(i32::MAX));
                }
            }
        }
    }

    /// Copies some of the rows.
    fn taken(&self, places: &[u32]) -> Column {
        fn of<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
            places.iter().map(|&place| values[place as usize]).collect()
        }
        let values = match &self.values {
            Values::I8(values) => Values::I8(of(values, places)),
            Values::I16(values) => Values::I16(of(values, places)),
            Values::I32(values) => Values::I32(of(values, places)),
            Values::I64(values) => Values::I64(of(values, places)),
            Values::U8(values) => Values::U8(of(values, places)),
            Values::U16(values) => Values::U16(of(values, places)),
            Values::U32(values) => Values::U32(of(values, places)),
            Values::U64(values) => Values::U64(of(values, places)),
            Values::Bool(values) => Values::Bool(of(values, places)),
            Values::Text { codes, strings, .. } => {
                let mut own = Interner::default();
                let code = |code| own.code(strings.get(code).as_bytes());
                let codes = of(codes, places).into_iter().map(code).collect();
                Values::Text { codes, strings: own, comms: CommCache::default() }
            }
            Values::Bytes { data, ends, element } => {
                let mut own = (Vec::new(), Vec::with_capacity(places.len()));
                for &place in places {
                    let before = place.checked_sub(1).map_or(0, |before| ends[before as usize]);
                    own.0.extend_from_slice(&data[before as usize..ends[place as usize] as usize]);
                    own.1.push(own.0.len().narrow());
                }
                Values::Bytes { data: own.0, ends: own.1, element: *element }
            }
        };
        Column { field: self.field.clone(), values }
    }

    fn finish(self) -> ArrayRef {
        fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
            Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
        }
        match self.values {
            Values::I8(values) => primitive::<types::Int8Type>(values),
            Values::I16(values) => primitive::<types::Int16Type>(values),
            Values::I32(values) => primitive::<types::Int32Type>(values),
            Values::I64(values) => primitive::<types::Int64Type>(values),
            Values::U8(values) => primitive::<types::UInt8Type>(values),
            Values::U16(values) => primitive::<types::UInt16Type>(values),
            Values::U32(values) => primitive::<types::UInt32Type>(values),
            Values::U64(values) => primitive::<types::UInt64Type>(values),
            Values::Bool(values) => Arc::new(BooleanArray::from(values)),
            Values::Text { codes, strings, .. } => Labels::new(strings.values()).column(codes.into_iter()),
            Values::Bytes { data, ends, element: None } => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(ends)));
                Arc::new(BinaryArray::new(offsets, data.into(), None))
            }
            Values::Bytes { data, ends, element: Some((size, signed)) } => {
                let ends = ends.into_iter().map(|end| end / size.narrow::<i32>());
                let offsets = OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(ends)));
                macro_rules! elements {
                    ($arrow:ty, $native:ty) => {
                        primitive::<$arrow>(
                            data.chunks_exact(size_of::<$native>())
                                .filter_map(|chunk| chunk.try_into().ok().map(<$native>::from_le_bytes))
                                .collect(),
                        )
                    };
                }
                let values = match (size, signed) {
                    (1, true) => elements!(types::Int8Type, i8),
                    (2, true) => elements!(types::Int16Type, i16),
                    (4, true) => elements!(types::Int32Type, i32),
                    (1, false) => elements!(types::UInt8Type, u8),
                    (2, false) => elements!(types::UInt16Type, u16),
                    (4, false) => elements!(types::UInt32Type, u32),
                    (_, true) => elements!(types::Int64Type, i64),
                    (_, false) => elements!(types::UInt64Type, u64),
                };
                let item = ArrowField::new("item", values.data_type().clone(), false);
                Arc::new(ListArray::new(Arc::new(item), offsets, values, None))
            }
        }
    }
}

/// The bytes that a text or array field stands for; empty if its pointer leaves the payload.
pub fn field_bytes<'a>(field: &Field, block: &'a [u8], (start, size): (u32, u32)) -> &'a [u8] {
    let payload = slice(block, start as usize, size as usize).unwrap_or_default();
    let found = match field.kind {
        Kind::DataLoc(_) | Kind::RelLoc(_) => u32_at(payload, field.offset).and_then(|word| {
            let (at, size) = field.pointed(word);
            slice(payload, at, size)
        }),
        Kind::Tail(_) => payload.get(field.offset..),
        _ => slice(payload, field.offset, field.size),
    };
    found.unwrap_or_default()
}

/// All rows of one tracepoint.
#[derive(Debug)]
pub struct EventColumns {
    /// Time of each row; all zero if not recorded.
    pub times: Vec<i64>,
    cpus: Vec<u32>,
    columns: Vec<Column>,
    fixed_size: usize,
    pending: Vec<(u32, u32)>,
    /// Number of fields that point to their bytes.
    pointers: usize,
    /// Bytes of each pending row that pointers may still use, if there are several.
    left: Vec<u32>,
    has_time: bool,
    has_cpu: bool,
}

impl EventColumns {
    /// Starts without rows.
    pub fn new(format: &Format, has_time: bool, has_cpu: bool) -> EventColumns {
        EventColumns {
            times: Vec::new(),
            cpus: Vec::new(),
            columns: format.fields.iter().map(Column::new).collect(),
            fixed_size: format.fixed_size(),
            pending: Vec::new(),
            pointers: format.fields.iter().filter(|field| field.is_pointer()).count(),
            left: Vec::new(),
            has_time,
            has_cpu,
        }
    }

    /// Keeps these fields only, and the task's pid, by which its name is known.
    pub fn only(mut self, fields: &[String]) -> EventColumns {
        self.columns.retain(|Column { field, .. }| field.name == "common_pid" || fields.contains(&field.name));
        self.pointers = self.columns.iter().filter(|column| column.field.is_pointer()).count();
        self
    }

    /// Notes a row in the current block; true if it is the block's first. A payload shorter than its format has no row:
    /// a scan counts those.
    #[inline(always)]
    pub fn add(&mut self, time_ns: i64, cpu: u32, raw: u32, raw_size: u32) -> bool {
        if (raw_size as usize) < self.fixed_size {
            return false;
        }
        self.times.push(time_ns);
        self.cpus.push(cpu);
        self.pending.push((raw, raw_size));
        self.pending.len() == 1
    }

    /// Rows noted so far.
    pub fn row_count(&self) -> usize {
        self.times.len()
    }

    /// Reads the noted rows out of their block.
    pub fn gather(&mut self, block: &[u8]) {
        let mut left = std::mem::take(&mut self.left);
        if self.pointers > 1 {
            left.extend(self.pending.iter().map(|row| row.1));
        }
        for column in &mut self.columns {
            column.gather(block, &self.pending, &mut left);
        }
        self.pending.clear();
        left.clear();
        self.left = left;
    }

    /// Takes the rows before a time, or all, in order of time. Nothing may be pending.
    pub fn leave(&mut self, until_ns: Option<i64>) -> EventColumns {
        let mut order: Vec<u32> = (0..self.times.len().narrow()).collect();
        order.sort_by_key(|&place| self.times[place as usize]);
        let is_over = |&place: &u32| until_ns.is_none_or(|until_ns| self.times[place as usize] < until_ns);
        let (over, rest) = order.split_at(order.partition_point(is_over));
        let over = self.taken(over);
        *self = self.taken(rest);
        over
    }

    fn taken(&self, places: &[u32]) -> EventColumns {
        EventColumns {
            times: places.iter().map(|&place| self.times[place as usize]).collect(),
            cpus: places.iter().map(|&place| self.cpus[place as usize]).collect(),
            columns: self.columns.iter().map(|column| column.taken(places)).collect(),
            pending: Vec::new(),
            left: Vec::new(),
            ..*self
        }
    }

    /// The first column that holds more than Arrow can.
    pub fn overfull(&self) -> Option<&str> {
        let is_overfull = |column: &&Column| match &column.values {
            Values::Text { strings, .. } => strings.is_full(),
            Values::Bytes { data, .. } => data.len() > MAX_BYTES,
            _ => false,
        };
        self.columns.iter().find(is_overfull).map(|column| column.field.name.as_str())
    }

    /// `common_pid` of every row, if the format has it.
    pub fn pids(&self) -> Option<&[i32]> {
        let column = self.columns.iter().find(|column| column.field.name == "common_pid")?;
        match &column.values {
            Values::I32(pids) => Some(pids),
            _ => None,
        }
    }

    /// Columns in the order of the events table: time_ns, common_cpu, common_pid, common_comm,
    /// then every other field as the format orders them.
    pub fn finish(self, comms: ArrayRef, unit: Unit) -> Vec<(String, ArrayRef)> {
        let rows = self.times.len();
        let nulls = |known: bool| (!known).then(|| NullBuffer::new_null(rows));
        let times = PrimitiveArray::<types::Int64Type>::new(ScalarBuffer::from(self.times), nulls(self.has_time));
        let cpus = self.cpus.into_iter().map(|cpu| cpu as i32).collect::<Vec<i32>>();
        let cpus = PrimitiveArray::<types::Int32Type>::new(ScalarBuffer::from(cpus), nulls(self.has_cpu));
        let mut table: Vec<(String, ArrayRef)> =
            vec![(time_column(unit).into(), Arc::new(times)), ("common_cpu".into(), Arc::new(cpus))];
        let (pid, others): (Vec<Column>, Vec<Column>) =
            self.columns.into_iter().partition(|column| column.field.name == "common_pid");
        let with_name = |column: Column| (column.field.name.clone(), column.finish());
        table.extend(pid.into_iter().map(with_name));
        table.push(("common_comm".into(), comms));
        table.extend(others.into_iter().map(with_name));
        table
    }
}
