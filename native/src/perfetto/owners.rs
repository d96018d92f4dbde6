//! Owners of time in words, each text once.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::intern::NONE;
use crate::ledger::resolve::{Known, Names, NETWORKS};
use crate::ledger::segment::Packed;
use crate::ledger::thief::{Class, Context};
use crate::ledger::NO_DEVICE;
use crate::narrow::Narrow;

/// Texts by number, from 1: Perfetto takes 0 for none.
#[derive(Debug, Default)]
pub struct Texts(IndexSet<String, FxBuildHasher>);

impl Texts {
    fn number(&mut self, text: String) -> u32 {
        self.0.insert_full(text).0.narrow::<u32>() + 1
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

/// Victim, thief and class of a segment.
type Key = (u32, u32, Class);

/// All owners so far.
#[derive(Debug, Default)]
pub struct Owners {
    /// Names of slices.
    pub names: Texts,
    /// Categories.
    pub categories: Texts,
    /// Values of arguments.
    pub values: Texts,
    known: FxHashMap<Key, Owner>,
    last: Option<(Key, Owner)>,
}

impl Owners {
    /// The owner of a segment.
    #[inline(always)]
    pub fn of(&mut self, row: &Packed, names: &Names) -> Owner {
        let key = (row.victim, row.thief(), row.class());
        if let Some((_, owner)) = self.last.filter(|last| last.0 == key) {
            return owner;
        }
        let owner = match self.known.get(&key) {
            Some(&owner) => owner,
            None => {
                let owner = self.named(key, names);
                self.known.insert(key, owner);
                owner
            }
        };
        self.last = Some((key, owner));
        owner
    }

    fn named(&mut self, (victim, thief, class): Key, names: &Names) -> Owner {
        let (of, known) = (names.thief(thief), names.known(thief));
        let context = of.context;
        let network = match NETWORKS.get(known.network as usize) {
            Some(&"yes") => Some("network"),
            Some(&"unknown") => Some("perhaps network"),
            _ => None,
        };
        let class = (class != Class::None).then(|| Class::NAMES[class as usize]);
        let category: Vec<&str> = class.into_iter().chain(network).collect();
        let (task, is_own) = (task(victim, names), context == Context::Task);
        let name = match &task {
            Some(task) if is_own => task.clone(),
            _ => told(context, known, names),
        };
        let interrupted = task.filter(|_| !is_own && context != Context::Idle);
        let mut value = |text: Option<String>| text.map_or(0, |text| self.values.number(text));
        let (task, napi) = (value(interrupted), value(of.napi.map(|napi| format!("{napi:#x}"))));
        let category = if category.is_empty() { 0 } else { self.categories.number(category.join(",")) };
        Owner { name: self.names.number(name), category, task, napi }
    }
}

/// `openssl [1234]`.
fn task(victim: u32, names: &Names) -> Option<String> {
    let (tid, comm) = names.victim(victim)?;
    let comm = if comm == NONE { String::new() } else { format!("{} ", names.reader.strings.get(comm)) };
    Some(format!("{comm}[{tid}]"))
}

/// What ran, in the words of netcost's tables.
fn told(context: Context, of: &Known, names: &Names) -> String {
    let text = |code: u32| Some(names.reader.strings.get(code)).filter(|text| !text.is_empty());
    let device = text(of.device).filter(|device| *device != NO_DEVICE);
    let number = of.id.map_or_else(|| "?".to_owned(), |id| id.to_string());
    let suffix = device.map(|device| format!(" ({device})")).unwrap_or_default();
    match (context, text(of.name)) {
        // That of the backlog, which the kernel calls (no_device).
        (Context::Poll, _) => device.map_or("backlog poll (RPS, veth, lo)".into(), |device| format!("{device} poll")),
        (Context::Hardirq, Some(name)) => format!("irq {number} {name}{suffix}"),
        (Context::Hardirq, None) => format!("irq {number}{suffix}"),
        (Context::Vector | Context::Softirq, Some(name)) => format!("{name}{suffix}"),
        (Context::Vector | Context::Softirq, None) => format!("{} {number}{suffix}", Context::NAMES[context as usize]),
        _ => Context::NAMES[context as usize].to_owned(),
    }
}
