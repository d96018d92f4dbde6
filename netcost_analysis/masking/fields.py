# What the fields of tracepoints hold: which of them name tasks, files and hosts, and which are
# addresses. The formats that a recording brings say only where they are and how long.

import re

# Names of devices, functions, states and the like, which say nothing about whose host it is.
_KEPT_TEXT = re.compile(
    r"name|dev|dev_name|device|driver|driver_name|devname|kind|action|func|function|fn|func_name"
    r"|symbol|module|mod_name|clock_name|reason|state|group|pmu|regulator|governor|ifname|in_dev"
    r"|out_dev|upper_dev|lower_dev|chip|handler|call|subsys|rcuname|gp_oldstate|gpevent|cbevent"
    r"|qsevent|s|msg_type|bus|iface|ndev_name|br_dev|brdev|port_dev|vrf|workqueue|rwbs"
)
# Of the kernel's own systems: probes of users have systems, and fields, that they named.
_SYSTEM = re.compile(
    r"irq|irq_vectors|irq_matrix|napi|net|skb|sock|tcp|udp|icmp|qdisc|bridge|fib|fib6|neigh|xdp"
    r"|page_pool|mptcp|rcu|timer|alarmtimer|workqueue|clk|devlink|power|cpuhp|module|iommu|thermal"
    r"|ras|sched|ipi|csd|writeback|block|rpm|dma|dma_fence|regulator|hwmon|virtio|vhost|tun|mlx5"
    r"|ice|i40e|e1000e|osnoise|initcall|percpu|smbus|mdio"
)
_TASK = re.compile(r"(.*_)?(old|new|prev|next|parent|child|target)?_?comm")
_PATH = re.compile(
    r"(file_?name|path|filp|pathname|interp|cmdline|exe|oldpath|newpath|dst_path|root)"
)
_IPV4 = re.compile(r"(saddr|daddr|src|dst|gw4?|ip|src_ip|dst_ip|primary_key4|addr|local|remote)")
_IPV6 = re.compile(
    r"(saddr|daddr|src|dst|gw|ip|addr)_?(v6|6)|gw6?|src|dst|saddr|daddr|primary_key6|ip6|grp"
)
_HARDWARE = re.compile(r"(.*_)?(mac|lladdr|addr|bssid|hwaddr|dmac|smac|da|sa|ra|ta)")
_SOCKET = re.compile(r"[sd]addr|l?addr|raddr|(src|dst)_?addr")
_PACKED_SOCKETS = (28, 128)


def meaning(event: str, field: str, shape: str, size: int) -> str:
    # What native does with a field: keep, zero, or a kind of name. shape: int, text or bytes. size:
    # how many bytes of it a recording has, whatever the declaration says.
    system = event.partition(":")[0]
    low = field.lower()
    if field.startswith("common_"):
        return "keep"
    if system == "ftrace" and low == "buf":
        # What programs and the kernel's trace_printk write, numbers with texts between them.
        return "zero"
    if shape == "int" and size == 16 and _IPV6.fullmatch(low):
        return "ipv6"
    if shape == "int":
        # Numbers; IPv4 addresses where the name leaves no doubt.
        return "ipv4" if size == 4 and low in ("saddr", "daddr", "src_ip", "dst_ip") else "keep"
    if shape == "text":
        return _text(system, low)
    return _bytes(low, size)


def _text(system: str, field: str) -> str:
    if _TASK.fullmatch(field):
        return "task"
    if system == "ftrace":
        # What programs write into the trace (trace_marker), and formats of the kernel's printk.
        return "zero"
    if _PATH.fullmatch(field):
        return "path"
    if field in ("hostname", "nodename", "server", "servername"):
        return "host"
    return "keep" if _KEPT_TEXT.fullmatch(field) and _SYSTEM.fullmatch(system) else "zero"


def _bytes(field: str, size: int) -> str:
    if _TASK.fullmatch(field):
        # Declared with another length than it has: up to its NUL it is a name all the same.
        return "task"
    if size in _PACKED_SOCKETS and _SOCKET.fullmatch(field):
        return "sockaddr"
    if size == 4 and _IPV4.fullmatch(field):
        return "ipv4"
    if size == 16 and _IPV6.fullmatch(field):
        return "ipv6"
    if size in (6, 32) and _HARDWARE.fullmatch(field):
        return "mac"
    # A cpumask, a bit map, a socket's cookie or a packet's own bytes: nobody knows which.
    return "zero"
