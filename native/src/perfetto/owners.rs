//! Owners of time in words, each text once.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::error::{bad, Result};
use crate::ledger::NO_DEVICE;

/// Texts by number, from 1: Perfetto takes 0 for none.
#[derive(Debug, Default)]
pub struct Texts(IndexSet<String, FxBuildHasher>);

impl Texts {
    fn number(&mut self, text: String) -> u32 {
        self.0.insert_full(text).0 as u32 + 1
    }

    /// The text of a number.
    pub fn get(&self, number: u32) -> &str {
        self.0.get_index(number as usize - 1).map_or("", String::as_str)
    }
}

/// What is written of an owner: numbers of texts, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Of the slice.
    pub name: u32,
    /// Cost class and whether it is network work.
    pub category: u32,
    /// The task that was interrupted.
    pub task: u32,
    /// The NAPI instance's address.
    pub napi: u32,
}

/// All owners so far.
#[derive(Debug, Default)]
pub struct Owners {
    /// Names of slices.
    pub names: Texts,
    /// Categories.
    pub categories: Texts,
    /// Values of arguments.
    pub values: Texts,
}

/// The columns of a batch that say who owned a stretch, as codes.
const CODES: usize = 8;

/// A column's values and each row's place among them.
struct Coded {
    keys: Int32Array,
    values: ArrayRef,
}

impl Coded {
    fn of(batch: &RecordBatch, name: &str, values: DataType) -> Result<Coded> {
        let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
        let column = batch.column_by_name(name).ok_or_else(|| bad!(Refused, "segments have no column {name}"))?;
        let column = cast(column, &kind).map_err(|error| bad!(Refused, "column {name}: {error}"))?;
        let column = column.as_dictionary::<Int32Type>();
        Ok(Coded { keys: column.keys().clone(), values: column.values().clone() })
    }

    #[inline(always)]
    fn code(&self, row: usize) -> i32 {
        if self.keys.is_null(row) {
            -1
        } else {
            self.keys.value(row)
        }
    }

    fn text(&self, row: usize) -> Option<&str> {
        let place = usize::try_from(self.code(row)).ok()?;
        Some(self.values.as_string::<i32>().value(place))
    }
}

/// The owners of a batch's rows.
pub struct OfBatch {
    context: Coded,
    comm: Coded,
    name: Coded,
    napi: Coded,
    device: Coded,
    class: Coded,
    network: Coded,
    tid: Int32Array,
    id: Int32Array,
    known: FxHashMap<([i32; CODES], i32), Owner>,
    last: Option<(([i32; CODES], i32), Owner)>,
}

impl OfBatch {
    /// Of a batch of segments.
    pub fn new(batch: &RecordBatch) -> Result<OfBatch> {
        let text = |name: &str| Coded::of(batch, name, DataType::Utf8);
        let int = |name: &str| -> Result<Int32Array> {
            let column = batch.column_by_name(name).ok_or_else(|| bad!(Refused, "segments have no column {name}"))?;
            Ok(column.as_primitive::<Int32Type>().clone())
        };
        Ok(OfBatch {
            context: text("context")?,
            comm: text("comm")?,
            name: text("name")?,
            napi: Coded::of(batch, "napi", DataType::UInt64)?,
            device: text("device")?,
            class: text("cost_class")?,
            network: text("is_network")?,
            tid: int("tid")?,
            id: int("id")?,
            known: FxHashMap::default(),
            last: None,
        })
    }

    /// The owner of a row.
    #[inline(always)]
    pub fn owner(&mut self, row: usize, owners: &mut Owners) -> Owner {
        let id = if self.id.is_null(row) { i32::MIN } else { self.id.value(row) };
        let tid = if self.tid.is_null(row) { i32::MIN } else { self.tid.value(row) };
        let of = |coded: &Coded| coded.code(row);
        let codes =
            [&self.context, &self.comm, &self.name, &self.napi, &self.device, &self.class, &self.network].map(of);
        let [context, comm, name, napi, device, class, network] = codes;
        let key = ([context, comm, name, napi, device, class, network, id], tid);
        if let Some((_, owner)) = self.last.filter(|last| last.0 == key) {
            return owner;
        }
        let owner = match self.known.get(&key) {
            Some(&owner) => owner,
            None => {
                let owner = self.named(row, owners);
                self.known.insert(key, owner);
                owner
            }
        };
        self.last = Some((key, owner));
        owner
    }

    fn named(&self, row: usize, owners: &mut Owners) -> Owner {
        let context = self.context.text(row).unwrap_or("unknown");
        let task = self.task(row);
        let network = match self.network.text(row) {
            Some("yes") => Some("network"),
            Some("unknown") => Some("perhaps network"),
            _ => None,
        };
        let category: Vec<&str> = self.class.text(row).into_iter().chain(network).collect();
        let is_own = context == "task";
        let name = if is_own { task.clone().unwrap_or_else(|| "task".to_owned()) } else { self.thief(row, context) };
        let interrupted = task.filter(|_| !is_own && context != "idle");
        let napi = usize::try_from(self.napi.code(row)).ok();
        let napi = napi.map(|place| format!("{:#x}", self.napi.values.as_primitive::<UInt64Type>().value(place)));
        Owner {
            name: owners.names.number(name),
            category: if category.is_empty() { 0 } else { owners.categories.number(category.join(",")) },
            task: interrupted.map_or(0, |task| owners.values.number(task)),
            napi: napi.map_or(0, |napi| owners.values.number(napi)),
        }
    }

    /// `openssl [1234]`.
    fn task(&self, row: usize) -> Option<String> {
        let tid = (!self.tid.is_null(row)).then(|| self.tid.value(row));
        match (self.comm.text(row), tid) {
            (Some(comm), Some(tid)) => Some(format!("{comm} [{tid}]")),
            (None, Some(tid)) => Some(format!("[{tid}]")),
            (comm, None) => comm.map(str::to_owned),
        }
    }

    /// What ran, in the words of netcost's tables.
    fn thief(&self, row: usize, context: &str) -> String {
        let device = self.device.text(row).filter(|device| !device.is_empty() && *device != NO_DEVICE);
        let name = self.name.text(row).filter(|name| !name.is_empty());
        let number = if self.id.is_null(row) { "?".to_owned() } else { self.id.value(row).to_string() };
        let suffix = device.map(|device| format!(" ({device})")).unwrap_or_default();
        match (context, name) {
            // That of the backlog, which the kernel calls (no_device).
            ("poll", _) => device.map_or("backlog poll (RPS, veth, lo)".into(), |device| format!("{device} poll")),
            ("hardirq", Some(name)) => format!("irq {number} {name}{suffix}"),
            ("hardirq", None) => format!("irq {number}{suffix}"),
            ("vector" | "softirq", Some(name)) => format!("{name}{suffix}"),
            ("vector" | "softirq", None) => format!("{context} {number}{suffix}"),
            _ => context.to_owned(),
        }
    }
}

/// A column of times.
pub fn times<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b [i64]> {
    let column = batch.column_by_name(name).ok_or_else(|| bad!(Refused, "there is no column {name}"))?;
    Ok(column.as_primitive::<Int64Type>().values())
}

/// The column of CPUs.
pub fn cpus(batch: &RecordBatch) -> Result<&[i32]> {
    let column = batch.column_by_name("cpu").ok_or_else(|| bad!(Refused, "there is no column cpu"))?;
    Ok(column.as_primitive::<Int32Type>().values())
}
