use super::*;
use crate::bytes::Order;

/// The event of these flags, by their bits as a machine of this byte order has them.
fn named(order: Order, kind: u32, config: u64, flags: u64, precise: u8) -> String {
    let flags = flags | u64::from(if order == Order::Big { precise >> 1 | (precise & 1) << 1 } else { precise }) << 15;
    let flag = |byte: u8| if order == Order::Big { byte.reverse_bits() } else { byte };
    let mut bytes = [0; 64];
    bytes[..4].copy_from_slice(&order.u32_bytes(kind));
    bytes[8..16].copy_from_slice(&order.u64_bytes(config));
    bytes[40..48].copy_from_slice(&flags.to_le_bytes().map(flag));
    Attr::parse(&bytes, order).map(|attr| name(&attr)).unwrap_or_default()
}

// Numbers that no table knows still give every event a name of its own.
#[test]
fn events_have_the_names_that_perf_gives_them() {
    for (wanted, kind, config) in [
        ("cycles", 0, 0),
        ("instructions", 0, 1),
        ("cache-misses", 0, 3),
        ("stalled-cycles-frontend", 0, 7),
        ("ref-cycles", 0, 9),
        ("type 0 config 0x63", 0, 99),
        ("cpu-clock", 1, 0),
        ("page-faults", 1, 2),
        ("context-switches", 1, 3),
        ("cpu-migrations", 1, 4),
        ("bpf-output", 1, 10),
        ("L1-dcache-load-misses", 3, 0x10000),
        ("L1-icache-load-misses", 3, 0x10001),
        ("LLC-loads", 3, 0x2),
        ("LLC-stores", 3, 0x102),
        ("dTLB-load-misses", 3, 0x10003),
        ("branch-load-misses", 3, 0x10005),
        ("node-prefetch-misses", 3, 0x10206),
        ("type 3 config 0xffffff", 3, 0xff_ffff),
        ("raw 0x1b2", 4, 0x1b2),
        ("type 17 config 0x5", 17, 5),
    ] {
        for order in [Order::Little, Order::Big] {
            assert_eq!(named(order, kind, config, 0, 0), wanted, "{order:?}");
        }
    }
}

// How precise an address is is a number, and not two flags: a big-endian machine's compiler puts its bits the other way.
// perf shows cycles:p of such a machine as cycles:pp.
#[test]
fn modifiers_say_what_restricts_an_event() {
    for (wanted, flags, precise) in [
        ("cycles:p", 0, 1),
        ("cycles:pp", 0, 2),
        ("cycles:ppp", 0, 3),
        ("cycles:u", 1 << 5 | 1 << 6, 0),
        ("cycles:khp", 1 << 4, 1),
        ("cycles:G", 1 << 19, 0),
    ] {
        for order in [Order::Little, Order::Big] {
            assert_eq!(named(order, 0, 0, flags, precise), wanted, "{order:?}");
        }
    }
}
