//! What the fields of tracepoints hold: which of them name tasks, files and hosts, and which are
//! addresses. The formats that a recording brings say only where they are and how long.

use super::Kind;

/// Names of devices, functions, states and the like, which say nothing about whose host it is.
const KEPT_TEXTS: &str = "name dev dev_name device driver driver_name devname kind action func function fn \
    func_name symbol module mod_name clock_name reason state group pmu regulator governor ifname in_dev out_dev \
    upper_dev lower_dev chip handler call subsys rcuname gp_oldstate gpevent cbevent qsevent s msg_type bus iface \
    ndev_name br_dev brdev port_dev vrf workqueue rwbs";
/// Of the kernel's own systems: probes of users have systems, and fields, that they named.
const SYSTEMS: &str = "irq irq_vectors irq_matrix napi net skb sock tcp udp icmp qdisc bridge fib fib6 neigh xdp \
    page_pool mptcp rcu timer alarmtimer workqueue clk devlink power cpuhp module iommu thermal ras sched ipi csd \
    writeback block rpm dma dma_fence regulator hwmon virtio vhost tun mlx5 ice i40e e1000e osnoise initcall percpu \
    smbus mdio";
const PATHS: &str = "filename file_name path filp pathname interp cmdline exe oldpath newpath dst_path root";
const HOSTS: &str = "hostname nodename server servername";
const IPV4: &str = "saddr daddr src dst gw gw4 ip src_ip dst_ip primary_key4 addr local remote";
const IPV4_NUMBERS: &str = "saddr daddr src_ip dst_ip";
const IPV6: &str = "gw gw6 src dst saddr daddr primary_key6 ip6 grp";
/// Of IPv6 with "6", "_6" or "_v6" behind them.
const IPV6_STEMS: &str = "saddr daddr src dst gw ip addr";
/// Anything may stand before the last underscore.
const HARDWARE: &str = "mac lladdr addr bssid hwaddr dmac smac da sa ra ta";
const SOCKETS: &str = "saddr daddr laddr addr raddr src_addr srcaddr dst_addr dstaddr";
const BEFORE_COMM: &str = "old new prev next parent child target";

/// Shapes of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Numbers.
    Int,
    /// Characters.
    Text,
    /// Bytes without a declared meaning.
    Bytes,
}

/// What a field holds. `size`: its bytes in the recording, whatever the declaration says.
pub fn of_field(event: &str, field: &str, shape: Shape, size: usize) -> Kind {
    let system = event.split(':').next().unwrap_or_default();
    let low = field.to_lowercase();
    let is = |names: &str| is_one_of(names, &low);
    let is_ipv6 = || size == 16 && (is(IPV6) || is_ipv6_stem(&low));
    match shape {
        _ if field.starts_with("common_") => Kind::Keep,
        // Written by programs or by trace_printk: text and numbers mixed.
        _ if system == "ftrace" && low == "buf" => Kind::Zero,
        Shape::Int if is_ipv6() => Kind::Ipv6,
        // IPv4 addresses where the name leaves no doubt.
        Shape::Int if size == 4 && is(IPV4_NUMBERS) => Kind::Ipv4,
        Shape::Int => Kind::Keep,
        // Bytes too: a name whose declared length is not its own is read as bytes, and still ends at its NUL.
        Shape::Text | Shape::Bytes if is_task(&low) => Kind::Task,
        // Texts that programs write into the trace (trace_marker), and formats of trace_printk.
        Shape::Text if system == "ftrace" => Kind::Zero,
        Shape::Text if is(PATHS) => Kind::Path,
        Shape::Text if is(HOSTS) => Kind::Host,
        Shape::Text if is(KEPT_TEXTS) && is_one_of(SYSTEMS, system) => Kind::Keep,
        Shape::Text => Kind::Zero,
        Shape::Bytes if matches!(size, 28 | 128) && is(SOCKETS) => Kind::Socket,
        Shape::Bytes if size == 4 && is(IPV4) => Kind::Ipv4,
        Shape::Bytes if is_ipv6() => Kind::Ipv6,
        Shape::Bytes
            if matches!(size, 6 | 32) && low.rsplit('_').next().is_some_and(|end| is_one_of(HARDWARE, end)) =>
        {
            Kind::Mac
        }
        // A cpumask, a bit map, a socket's cookie or a packet's own bytes: nobody knows which.
        Shape::Bytes => Kind::Zero,
    }
}

fn is_one_of(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|one| one == name)
}

fn is_ipv6_stem(field: &str) -> bool {
    let stem = field.strip_suffix("v6").or(field.strip_suffix('6'));
    stem.is_some_and(|stem| is_one_of(IPV6_STEMS, stem.strip_suffix('_').unwrap_or(stem)))
}

/// `comm` behind anything and an underscore, or one of the words.
fn is_task(field: &str) -> bool {
    let Some(before) = field.strip_suffix("comm") else { return false };
    let ends = |before: &str| before.is_empty() || before.ends_with('_');
    ends(before) || BEFORE_COMM.split_ascii_whitespace().any(|word| before.strip_suffix(word).is_some_and(ends))
}
