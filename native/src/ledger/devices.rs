//! Network devices that were polled, and which of them an interrupt handler is named after.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::intern::Interner;
use crate::ledger::request::DeviceName;
use crate::ledger::stem::devices_of;
use crate::ledger::thief::Thief;

/// What the kernel calls the device of a poll that has none.
pub(crate) const NO_DEVICE: &str = "(no_device)";

/// Every device that was polled.
#[derive(Debug, Default)]
pub struct Devices {
    /// Time of each device's first poll.
    first: FxHashMap<u32, i64>,
    /// The device polled last, with the time of its first poll.
    last: Option<(u32, i64)>,
}

impl Devices {
    /// Notes a poll of a device.
    #[inline(always)]
    pub fn polled(&mut self, device: u32, now: i64) {
        if !self.last.is_some_and(|last| last.0 == device && last.1 <= now) {
            self.polled_another(device, now);
        }
    }

    fn polled_another(&mut self, device: u32, now: i64) {
        let first = self.first.entry(device).or_insert(now);
        *first = now.min(*first);
        self.last = Some((device, *first));
    }

    /// Adds another CPU's devices.
    pub fn add(&mut self, other: Devices) {
        other.first.into_iter().for_each(|(device, first)| self.polled(device, first));
    }

    /// Looks devices up by name.
    pub fn by_name(&self, strings: &Interner) -> ByName {
        let found = self.first.iter().map(|(&device, &first)| (strings.get(device).to_owned(), (first, device)));
        // NO_DEVICE names NAPI instances that belong to no device.
        ByName { devices: found.filter(|(name, _)| name != NO_DEVICE).collect() }
    }
}

/// Devices of several namespaces that share a name and have a single NAPI instance each.
#[derive(Debug, Default)]
pub struct Namesakes {
    names: FxHashSet<String>,
    /// What each device and instance is shown as.
    shown: FxHashMap<(u32, u64), u32>,
    /// Number of instances per device.
    count: FxHashMap<u32, u32>,
}

impl Namesakes {
    /// Takes those of these names whose devices can be told apart.
    pub fn new(names: &[DeviceName]) -> Namesakes {
        let shared = names.iter().filter(|name| name.is_told_apart());
        Namesakes { names: shared.map(|shared| shared.name.clone()).collect(), ..Namesakes::default() }
    }

    /// What the device of an instance is shown as: `eth0 (1)` is the one of that name that was polled first.
    #[inline(always)]
    pub fn shown(&mut self, device: u32, napi: u64, strings: &mut Interner) -> u32 {
        if self.names.is_empty() {
            return device;
        }
        *self.shown.entry((device, napi)).or_insert_with(|| {
            let name = strings.get(device);
            if !self.names.contains(name) {
                return device;
            }
            let count = self.count.entry(device).or_default();
            *count += 1;
            strings.code(format!("{name} ({count})").as_bytes())
        })
    }
}

/// Sentences about polled names whose devices cannot be told apart.
pub fn ambiguous(names: &[DeviceName], thieves: &[Thief], strings: &Interner) -> Vec<String> {
    let mut polled: FxHashMap<&str, FxHashSet<u64>> = FxHashMap::default();
    for (thief, napi) in thieves.iter().filter_map(|thief| Some((thief, thief.napi?))) {
        polled.entry(strings.get(thief.device)).or_default().insert(napi);
    }
    let known = names.iter().filter_map(|name| Some((name, polled.get(&*name.name)?.len())));
    let (shared, single): (Vec<_>, Vec<_>) = known.partition(|(name, _)| name.devices > 1);
    let more = |(name, polled): &&(&DeviceName, usize)| name.instances.is_some_and(|most| *polled > most);
    let unexplained: Vec<_> = single.iter().filter(more).collect();
    let several = "devices in several network namespaces have this name, and a poll does not say which one it polled";
    let hidden = "more NAPI instances were polled than it has queues: it was reset meanwhile, or another network \
                  namespace has a device of this name (--netns would record it)";
    let said = |names: Vec<&str>, why| match names[..] {
        [] => None,
        [one] => Some(format!("{one}: {why}. The figures for {one} cover all of them")),
        [one, ..] => {
            Some(format!("{one} and {} more devices: {why}. Their figures cover all of them", names.len() - 1))
        }
    };
    let shared = said(shared.iter().map(|(name, _)| &*name.name).collect(), several);
    let unexplained = said(unexplained.iter().map(|(name, _)| &*name.name).collect(), hidden);
    [shared, unexplained].into_iter().flatten().collect()
}

/// Devices by name, each with the time of its first poll.
#[derive(Debug)]
pub struct ByName {
    devices: FxHashMap<String, (i64, u32)>,
}

impl ByName {
    /// The device that one of these handlers is named after; of several, the one that was polled first.
    pub fn named_after<'s>(&self, handlers: impl Iterator<Item = &'s str>) -> Option<u32> {
        handlers.flat_map(devices_of).filter_map(|name| self.devices.get(name)).min().map(|found| found.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intern::NONE;
    use crate::ledger::thief::Thieves;

    fn named(devices: usize, instances: Option<usize>) -> DeviceName {
        DeviceName { name: "eth0".to_owned(), devices, instances }
    }

    #[test]
    fn devices_of_one_name_are_numbered_as_they_are_polled() {
        let mut strings = Interner::default();
        let (eth0, lan) = (strings.code(b"eth0"), strings.code(b"lan"));
        let mut shown = |namesakes: &mut Namesakes, device, napi| {
            let code = namesakes.shown(device, napi, &mut strings);
            strings.get(code).to_owned()
        };
        let mut shared = Namesakes::new(&[named(2, Some(2))]);
        let polls = [(eth0, 9), (lan, 1), (eth0, 4), (eth0, 9), (lan, 2)];
        let names = polls.map(|(device, napi)| shown(&mut shared, device, napi));
        assert_eq!(names, ["eth0 (1)", "lan", "eth0 (2)", "eth0 (1)", "lan"]);
        assert_eq!(shown(&mut Namesakes::default(), eth0, 9), "eth0");
    }

    #[test]
    fn what_is_of_several_devices_is_said() {
        let mut strings = Interner::default();
        let eth0 = strings.code(b"eth0");
        let mut thieves = Thieves::new(&[], &mut strings);
        thieves.hardirq(3, eth0);
        let is_said =
            |thieves: &Thieves, devices, most| !ambiguous(&[named(devices, most)], &thieves.all, &strings).is_empty();
        assert!(!is_said(&thieves, 2, None));
        thieves.poll(7, eth0);
        thieves.poll(8, eth0);
        thieves.poll(8, NONE);
        let cases = [(2, None), (2, Some(3)), (1, Some(1)), (1, Some(2)), (1, None)];
        assert_eq!(cases.map(|(devices, most)| is_said(&thieves, devices, most)), [true, true, true, false, false]);
    }

    #[test]
    fn of_several_devices_the_first_gave_the_name() {
        let mut strings = Interner::default();
        let (rest, eth0, queue) = (strings.code(b"(no_device)"), strings.code(b"eth0"), strings.code(b"eth0-rx"));
        let (mut devices, mut others) = (Devices::default(), Devices::default());
        devices.polled(rest, 1);
        devices.polled(eth0, 30);
        others.polled(queue, 20);
        others.polled(eth0, 10);
        let of = |devices: &Devices, handler| devices.by_name(&strings).named_after([handler].into_iter());
        assert_eq!((of(&devices, "eth0-rx-0"), of(&others, "eth0-rx-0")), (Some(eth0), Some(eth0)));
        assert_eq!((of(&devices, "eth01"), of(&devices, "(no_device)")), (None, None));
        others.polled(queue, 5);
        devices.add(others);
        assert_eq!(of(&devices, "eth0-rx-0"), Some(queue));
    }
}
