//! Which device an interrupt line serves.
//!
//! Handlers are named by drivers, devices by users; what joins them is that the line raises
//! NET_RX and the softirq then polls the device.

use rustc_hash::FxHashMap;

use crate::intern::{Interner, NONE};
use crate::ledger::thief::Network;

#[derive(Debug, Default)]
struct Line {
    names: Vec<u32>,
    entries: i64,
    net_rx: i64,
    devices: Vec<(u32, i64)>,
}

/// Every interrupt line seen.
#[derive(Debug, Default)]
pub struct Irqs {
    lines: FxHashMap<i64, Line>,
    devices: Vec<u32>,
}

/// What is known of a line in the end.
#[derive(Debug, Clone)]
pub struct IrqRow {
    /// Number.
    pub irq: i64,
    /// First name.
    pub name: u32,
    /// Interned device or `NONE`.
    pub device: u32,
    /// Whether it serves the network.
    pub network: Network,
    /// Times entered.
    pub count: i64,
}

impl Irqs {
    /// A handler of the line was entered.
    #[inline(always)]
    pub fn entered(&mut self, irq: i64, name: u32) {
        let line = self.lines.entry(irq).or_default();
        line.entries += 1;
        if !line.names.contains(&name) && line.names.len() < 8 {
            line.names.push(name);
        }
    }

    /// The line raised NET_RX.
    pub fn raised_net_rx(&mut self, irq: i64) {
        self.lines.entry(irq).or_default().net_rx += 1;
    }

    /// A poll of `device` followed a NET_RX that these lines raised.
    pub fn polled(&mut self, lines: &[i64], device: u32, strings: &Interner) {
        if !self.devices.contains(&device) && strings.get(device) != "(no_device)" {
            self.devices.push(device);
        }
        for irq in lines {
            let devices = &mut self.lines.entry(*irq).or_default().devices;
            match devices.iter_mut().find(|(known, _)| *known == device) {
                Some((_, count)) => *count += 1,
                None => devices.push((device, 1)),
            }
        }
    }

    /// Every line, by number. A line is of the device it led to most, if that is over half of
    /// its polls, or of the one whose name its own name begins with. `told`: raises were
    /// recorded, so a line without NET_RX is no network line.
    pub fn resolve(&self, strings: &Interner, told: bool) -> Vec<IrqRow> {
        let mut rows: Vec<IrqRow> = self.lines.iter().map(|(&irq, line)| self.row(irq, line, strings, told)).collect();
        rows.sort_by_key(|row| row.irq);
        rows
    }

    fn row(&self, irq: i64, line: &Line, strings: &Interner, told: bool) -> IrqRow {
        let total: i64 = line.devices.iter().map(|device| device.1).sum();
        let led_to = line.devices.iter().max_by_key(|device| device.1).filter(|device| device.1 * 2 > total);
        let named = || {
            let mut all = self.devices.iter().copied();
            all.find(|&device| line.names.iter().any(|&name| belongs(strings.get(name), strings.get(device))))
        };
        let device = led_to.map(|device| device.0).or_else(named).unwrap_or(NONE);
        let shared = line.names.len() > 1;
        let network = match (line.net_rx > 0 || device != NONE, shared) {
            (true, true) => Network::Unknown,
            (true, false) => Network::Yes,
            (false, _) if told => Network::No,
            (false, _) => Network::Unknown,
        };
        IrqRow { irq, name: line.names.first().copied().unwrap_or(NONE), device, network, count: line.entries }
    }
}

/// `eth0`, `eth0-rx-0` and `eth0:1` belong to eth0; `eth01` does not.
fn belongs(handler: &str, device: &str) -> bool {
    let rest = handler.strip_prefix(device);
    !device.is_empty() && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_find_their_device() {
        let mut strings = Interner::default();
        let mut code = |text: &str| strings.code(text.as_bytes());
        let (input, eth0, link, disk) = (code("virtio2-input.0"), code("eth0"), code("eth0-link"), code("nvme0q1"));
        let mut irqs = Irqs::default();
        for (irq, name) in [(25, input), (26, link), (27, disk)] {
            irqs.entered(irq, name);
        }
        irqs.raised_net_rx(25);
        irqs.polled(&[25], eth0, &strings);
        let rows = irqs.resolve(&strings, true);
        let facts: Vec<(i64, u32, Network)> = rows.iter().map(|row| (row.irq, row.device, row.network)).collect();
        assert_eq!(facts, vec![(25, eth0, Network::Yes), (26, eth0, Network::Yes), (27, NONE, Network::No)]);
    }
}
