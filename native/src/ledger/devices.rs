//! Network devices that were polled, and which of them an interrupt's handler is named after.

use rustc_hash::FxHashMap;

use crate::intern::Interner;
use crate::ledger::stem::devices_of;

/// How the kernel calls the device of a poll that has none.
pub(crate) const NO_DEVICE: &str = "(no_device)";

/// Every device that was polled.
#[derive(Debug, Default)]
pub struct Devices {
    /// When that was first.
    first: FxHashMap<u32, i64>,
    /// The last one, with the same.
    last: Option<(u32, i64)>,
}

impl Devices {
    /// One was polled.
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

    /// Adds what another CPU polled.
    pub fn add(&mut self, other: Devices) {
        other.first.into_iter().for_each(|(device, first)| self.polled(device, first));
    }

    /// The same by name.
    pub fn by_name(&self, strings: &Interner) -> ByName {
        let found = self.first.iter().map(|(&device, &first)| (strings.get(device).to_owned(), (first, device)));
        // What the kernel says of an instance that is no device's.
        ByName { devices: found.filter(|(name, _)| name != NO_DEVICE).collect() }
    }
}

/// Devices by their names, each with the time of its first poll.
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
