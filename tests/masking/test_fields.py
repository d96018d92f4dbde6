# The fields of tracepoints: addresses in binary, names of every shape, and what nobody knows.

import ipaddress
import struct
from pathlib import Path
from typing import Any

import netcost_analysis as netcost
from netcost_analysis._native import field_kind
from netcost_analysis.masking import mask
from support.host import Fresh, missing
from support.masking import bare, found_in
from support.native_tables import events
from support.perfdata import (
    MACHINES,
    X86_64,
    Attr,
    Common,
    Field,
    Format,
    Machine,
    Sample,
    SampleType,
    Where,
    cpu,
    recording,
)
from support.perfdata import happenings as h
from support.perfdata.container import write_file
from support.perfdata.formats import c_int, comm_t, string
from support.perfdata.sample import CONTEXT_KERNEL, CONTEXT_USER
from support.tracedat import Dress, write_trace_dat
from support.tracedat import own_events as own
from support.tracedat.told import Beside

S = 1_000_000_000
KINDS = SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.RAW
A4, A6 = "192.168.7.17", "2001:db8:1:2::77"
MAC = bytes.fromhex("525400123456")


def octets(name: str, count: int) -> Field:
    return Field("__u8", name, 1, count=count)


def written(folder: Path, one: Format, values: dict[str, Any], machine: Machine = X86_64) -> Path:
    attr = Attr(one.event, one.id, (1,), 2, KINDS, 1)
    raw = one.pack(values, Common(0, 1, 500), machine)
    sample = Sample(Where(0, S, 500, 500, 0), raw=raw)
    path = folder / "in"
    path.write_bytes(write_file((attr,), (one,), (sample,), machine=machine))
    return path


def masked(folder: Path, one: Format, values: dict[str, Any], machine: Machine = X86_64) -> Any:
    source = written(folder, one, values, machine)
    mask(source, folder / "out")
    [before], [after] = events(source, one.event), events(folder / "out", one.event)
    return before, after


TCP = Format(
    "tcp",
    "tcp_retransmit_skb",
    900,
    (
        *(Field("const void *", "skaddr", 8), Field("__u16", "sport", 2)),
        *(octets("saddr", 4), octets("daddr", 4), octets("saddr_v6", 16), octets("daddr_v6", 16)),
    ),
)
PROBE = Format("tcp", "tcp_probe", 901, (octets("saddr", 28), octets("daddr", 28)))
NEIGHBOUR = Format("neigh", "neigh_update", 902, (octets("lladdr", 32), string("dev")))
BRIDGE = Format("bridge", "br_fdb_update", 903, (Field("unsigned char", "addr", 1, count=6),))


def test_addresses_of_connections(fresh: Fresh) -> None:
    here, there, other = map(ipaddress.ip_address, (A4, "192.168.7.200", A6))
    mapped = ipaddress.ip_address(f"::ffff:{there}").packed
    values = {"skaddr": 0xFFFF8881, "sport": 443, "saddr": here.packed, "daddr": there.packed}
    values |= {"saddr_v6": other.packed, "daddr_v6": mapped}
    secrets = [here.packed, there.packed, other.packed]
    for machine in ("x86_64", "s390x", "i386"):
        folder = fresh()
        before, after = masked(folder, TCP, values, MACHINES[machine])
        assert (after["sport"], after["skaddr"]) == (443, before["skaddr"])
        source, target = bytes(after["saddr"]), bytes(after["daddr"])
        # Of one subnet, and of the private ones, still.
        assert source[:2] == b"\xc0\xa8"
        assert source[:3] == target[:3] != here.packed[:3]
        assert bytes(after["daddr_v6"])[12:] == target
        assert found_in(folder / "in", secrets)
        assert found_in(folder / "out", secrets) == []


def test_sockets(fresh: Fresh) -> None:
    four, six, junk = *(ipaddress.ip_address(one).packed for one in (A4, A6)), b"\x77" * 8
    for machine in ("x86_64", "s390x"):
        folder, host = fresh(), MACHINES[machine]
        v4 = host.pack("H", 2) + struct.pack(">H", 5201) + four
        v6 = host.pack("H", 10) + struct.pack(">HI", 5201, 0) + six
        values = {"saddr": (v4 + junk).ljust(28, b"\0"), "daddr": v6.ljust(28, b"\0")}
        _, after = masked(folder, PROBE, values, host)
        source, target = bytes(after["saddr"]), bytes(after["daddr"])
        assert (source[:4], target[:4], source[8:]) == (v4[:4], v6[:4], bytes(20))
        assert found_in(folder / "out", [four, six, junk]) == []


def test_hardware_addresses(fresh: Fresh) -> None:
    wanted = bytes.fromhex("020000000001")
    _, after = masked(fresh(), NEIGHBOUR, {"lladdr": MAC + b"\x99" * 26, "dev": "eth0"})
    assert (bytes(after["lladdr"]), after["dev"]) == (wanted + bytes(26), "eth0")
    _, after = masked(fresh(), BRIDGE, {"addr": MAC})
    assert bytes(after["addr"]) == wanted


# Where a name lies, in a place of its own, at the end or in between, and how long it may be.
def test_names_of_every_length(fresh: Fresh) -> None:
    for loc in ("data", "rel"):
        for name in ("sh", "openssl", "fifteen-letters"):
            folder = fresh()
            fields = (string("parent_comm", loc), c_int("parent_pid"), string("child_comm", loc))
            one = Format("sched", "sched_process_fork", 904, (*fields, comm_t("comm")))
            values = {"parent_comm": name, "parent_pid": 7, "child_comm": "another", "comm": name}
            before, after = masked(folder, one, values)
            assert bare(before) == bare(after)
            assert after["parent_comm"] == after["comm"] != name
            assert len(after["comm"]) <= len(name)
            assert after["child_comm"] not in (name, "another", after["comm"])
            assert found_in(folder / "out", [name.encode() + b"\0", b"another"]) == []


def test_what_nobody_knows_is_zeroed_and_listed(tmp_path: Path) -> None:
    fields = (string("customer"), Field("char", "card", 1, count=20), octets("blob", 12))
    one = Format("probe_shop", "order", 905, (*fields, c_int("amount")))
    values = {"customer": "alice", "card": "4111-1111", "blob": b"secret-bytes", "amount": 42}
    source = written(tmp_path, one, values)
    told = mask(source, tmp_path / "out").changes
    [row] = events(tmp_path / "out", one.event)
    assert row["amount"] == 42
    assert not row["customer"]
    assert found_in(tmp_path / "out", [b"alice", b"4111", b"secret-bytes"]) == []
    for field in ("customer", "card", "blob"):
        assert told[f"field probe_shop:order.{field} zeroed"] == 1


# Bytes between the fields, and behind the last, that no format describes.
def test_what_no_format_describes_is_zeroed(tmp_path: Path) -> None:
    one = Format("sched", "gap", 906, (comm_t("comm"), c_int("n")))
    raw = one.pack({"comm": "openssl", "n": 3}, Common(0, 1, 500), X86_64)
    # The name ends, and an older one's rest stands behind it.
    raw = raw.replace(b"openssl\0", b"sh\0nssl\0") + b"openssl\0"
    attr = Attr(one.event, one.id, (1,), 2, KINDS, 1)
    path = tmp_path / "in"
    path.write_bytes(write_file((attr,), (one,), (Sample(Where(0, S, 500, 500, 0), raw=raw),)))
    mask(path, tmp_path / "out")
    assert found_in(path, [b"openssl", b"nssl"])
    assert found_in(tmp_path / "out", [b"openssl", b"nssl"]) == []
    [row] = events(tmp_path / "out", one.event)
    assert row["n"] == 3


# ftrace's own: what a program wrote into trace_marker.
def test_notes_in_the_trace_are_zeroed(tmp_path: Path) -> None:
    told = recording(cpu(0, h.SoftirqRaise(S, 3), h.SoftirqRaise(S + 900, 3)))
    note = Beside(0, S + 400, own.PRINT, {"ip": 1, "buf": b"alice logged in\0"})
    dress = Dress(own_formats=own.OWN, beside=(note,))
    path = write_trace_dat(told, tmp_path / "in", dress)
    masked = mask(path, tmp_path / "out")
    assert found_in(path, [b"alice"])
    assert found_in(tmp_path / "out", [b"alice"]) == []
    assert masked.changes["field ftrace:print.buf zeroed"] == 1


def test_what_fields_mean() -> None:
    for event, field, shape, size, wanted in (
        ("sched:sched_switch", "prev_comm", "text", 16, "task"),
        ("task:task_rename", "newcomm", "text", 16, "task"),
        ("irq:irq_handler_entry", "name", "text", 4, "keep"),
        ("napi:napi_poll", "dev_name", "text", 4, "keep"),
        ("sched:sched_process_exec", "filename", "text", 4, "path"),
        ("cgroup:cgroup_mkdir", "path", "text", 4, "path"),
        ("myprobe:x", "name", "text", 4, "zero"),
        ("sched:sched_switch", "prev_pid", "int", 4, "keep"),
        ("raw_syscalls:sys_enter", "args", "int", 48, "keep"),
        ("x:y", "saddr", "int", 4, "ipv4"),
        ("x:y", "daddr6", "int", 16, "ipv6"),
        ("ftrace:bprint", "buf", "int", 0, "zero"),
        ("fib:fib_table_lookup", "gw4", "bytes", 4, "ipv4"),
        ("fib6:fib6_table_lookup", "dst", "bytes", 16, "ipv6"),
        ("x:y", "data", "bytes", 64, "zero"),
        ("x:y", "common_flags", "int", 1, "keep"),
    ):
        assert field_kind(event, field, shape, size) == wanted


# The events of this kernel: none of their addresses is taken for anything else.
def test_every_address_of_this_kernels_events() -> None:
    formats = sorted(Path("/sys/kernel/tracing/events").glob("*/*/format"))
    if not formats:
        missing("needs tracefs to see this kernel's events")
    seen = set()
    for path in formats:
        event = f"{path.parts[-3]}:{path.parts[-2]}"
        for line in path.read_text().splitlines():
            declared = line.strip().removeprefix("field:").split(";")[0]
            name, _, count = declared.rpartition(" ")[2].partition("[")
            if "u8 " in declared and count.rstrip("]") in ("4", "16", "28"):
                size = int(count.rstrip("]"))
                said = field_kind(event, name, "bytes", size)
                if path.parts[-3] in ("tcp", "sock", "udp", "fib", "fib6", "icmp"):
                    assert said in ("ipv4", "ipv6", "sockaddr"), (event, name)
                    seen.add(said)
    assert seen == {"ipv4", "ipv6", "sockaddr"}


# Without frame pointers a call chain's user part is what lay on the stack.
def test_texts_on_a_stack_are_no_addresses(tmp_path: Path) -> None:
    word, address, kernel = b"/home/gr", 0x7F12_3456_789A, 0xFFFF_FFFF_8100_0010
    text = int.from_bytes(word, "little")
    chain = (CONTEXT_KERNEL, kernel, text, CONTEXT_USER, address, text, 0x55_5555_5000)
    attr = Attr("cycles", 0, (1,), 0, KINDS & ~SampleType.RAW | SampleType.CALLCHAIN, 1)
    sample = Sample(Where(0, S, 500, 500, 0), callchain=chain)
    (tmp_path / "in").write_bytes(write_file((attr,), (), (sample,)))
    listed = mask(tmp_path / "in", tmp_path / "out")
    one = netcost.open_capture(tmp_path / "out").samples("cycles").loc[0]
    # The kernel's own are not looked at: there are architectures whose addresses are anywhere.
    assert list(one["callchain"]) == [kernel, text, address, 0, 0x55_5555_5000]
    assert one["kernel_frames"] == 2
    assert [count for what, count in listed.changes.items() if "call chains" in what] == [1]
