# A line's device is the one that was polled in most of the NET_RX softirqs that this line raised:
# each softirq speaks once per device, however often it polls it, and for the lines that raised it.

from itertools import combinations
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.interfaces import bundle_lines
from netcost_analysis.questions.devices.device_lines import evidence, raised_by
from support.drawn import happenings, ledger_of, rounds
from support.host import SAMPLES
from support.native_tables import Answer
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata.tracepoints import FORMATS
from support.shared import CASES, GUESTS, Case
from support.told import OPENSSL, UDPSINK

IRQ25 = "0 irq 25 virtio0-input.0, 1 raise NET_RX, 2 end irq 25, "
IRQ26 = "10 irq 26 virtio1-input.0, 11 raise NET_RX, 12 end irq 26, "
ETH0, ETH1 = "poll eth0 1 64 0x10", "poll eth1 1 64 0x20"


def softirq(at: int, *polls: str) -> str:
    told = "".join(f"{at + 5 * place} {poll}, " for place, poll in enumerate(polls, 1))
    return f"{at} NET_RX, {told}{at + 5 * len(polls) + 1} end NET_RX, "


@pytest.mark.parametrize(
    ("five_times", "then", "devices"),
    [
        # The poll after irq 26 is still of the softirq that irq 25 had raised.
        (
            f"{IRQ25} 5 NET_RX, 8 {ETH0}, {IRQ26} 40 {ETH0}, 41 end NET_RX, {softirq(50, ETH1)}",
            *("", {25: "eth0", 26: "eth1"}),
        ),
        # By polls line 26 would be eth0's, 15 to 6; by softirqs it is eth1's, 6 to 5.
        (
            IRQ25 + IRQ26 + softirq(100, ETH0, ETH0, ETH0, ETH1),
            f"{IRQ25} {softirq(100, ETH0)} 1010 irq 26 virtio1-input.0, 1011 raise NET_RX, "
            f"1012 end irq 26, {softirq(1100, ETH1)}",
            {25: "eth0", 26: "eth1"},
        ),
        # ksoftirqd or the loop in handle_softirqs ran NET_RX again for what was raised meanwhile,
        # by nobody's line.
        (
            f"{IRQ25} {softirq(100, ETH0)} 200 raise NET_RX, {softirq(210, ETH1)} "
            f"300 raise NET_RX, {softirq(310, ETH1)}",
            *("", {25: "eth0"}),
        ),
        # A tie says network, and not which.
        (
            IRQ25 + IRQ26 + softirq(100, ETH0, ETH1),
            IRQ25 + softirq(100, ETH0, ETH0, ETH0),
            {25: "eth0", 26: None},
        ),
    ],
    ids=["raised in a softirq", "polled often", "raised by no line", "tie"],
)
def test_a_lines_device_is_what_most_of_its_softirqs_polled(
    tmp_path: Path, five_times: str, then: str, devices: dict[int, str | None]
) -> None:
    last = happenings(f"{then} 90_000 waking udpsink", [7000])
    got = ledger_of(tmp_path, rounds(five_times, 5, *last))
    assert {row["irq"]: row["device"] for row in got.irqs} == devices
    assert {row["is_network"] for row in got.irqs} == {"yes"}


# What counts as network, and which device an interrupt line serves.


# Line 11 has two handlers: which of them the time was for, nobody can tell.
ROUND = (
    "0 irq 32 virtio2-input.0, 1 raise NET_RX, 2 end irq 32, 3 NET_RX, 10 poll eth0 8, "
    "12 end NET_RX, 100 irq 36 virtio1-req.0, 110 end irq 36, 120 irq 37 eth0-link, "
    "125 end irq 37, 130 irq 11 eth0, 131 raise NET_RX, 132 end irq 11, "
    "133 irq 11 uhci_hcd:usb1, 134 end irq 11, 135 NET_RX, 140 poll eth0 8, 142 end NET_RX, "
    "200 vector, 205 raise TIMER, 210 end vector, 211 TIMER, 220 end TIMER, "
    "300 vector call_function_single, 310 end vector call_function_single, "
    "400 raise NET_TX, 401 NET_TX, 410 end NET_TX"
)


def test_who_is_network(tmp_path: Path) -> None:
    got = ledger_of(tmp_path, rounds(ROUND, 4))
    said = {(row["context"], row["name"]): row["is_network"] for row in got.sums}
    wanted = {
        ("hardirq", "virtio2-input.0"): "yes",
        ("hardirq", "virtio1-req.0"): "no",
        ("hardirq", "eth0-link"): "yes",
        ("hardirq", "eth0"): "unknown",
        ("hardirq", "uhci_hcd:usb1"): "unknown",
        ("vector", "local_timer"): "no",
        ("vector", "call_function_single"): "unknown",
        ("softirq", "TIMER"): "no",
        ("softirq", "NET_RX"): "yes",
        ("softirq", "NET_TX"): "yes",
    }
    assert {key: said[key] for key in wanted} == wanted
    assert {row["is_network"] for row in got.sums if row["context"] == "poll"} == {"yes"}
    assert {row["is_network"] for row in got.sums if row["context"] in ("task", "idle")} <= {None}
    devices = {row["name"]: row["device"] for row in got.irqs}
    assert devices["virtio2-input.0"] == devices["eth0-link"] == "eth0"
    assert devices["virtio1-req.0"] is None


# Whether that run woke a NAPI thread, the rest of the recording tells. None is there: it is a run
# like the others.
def test_a_run_that_wakes_a_task_without_a_name_has_no_row_of_its_own(tmp_path: Path) -> None:
    woken = happenings(
        "1000 vector, 1005 raise TIMER, 1010 end vector, 1011 TIMER, 1012 waking udpsink, "
        "1020 end TIMER"
    )
    told = [*woken, *happenings(ROUND, (2000, 3000, 4000)), h.Waking(9000, UDPSINK)]
    got = ledger_of(tmp_path, cpu(0, *told, task=OPENSSL))
    timers = [(row["ns"], row["segments"]) for row in got.sums if row["name"] == "TIMER"]
    assert timers == [(4 * 9, 4)]


# In the guests: `virtio0-input` is the random-number device, and `eth0-rx-0` and `eth0` are two
# interrupts of one NIC.
def test_the_guests_nics_are_found(unpacked: Path) -> None:
    for guest in GUESTS:
        got = Answer(Case(unpacked, guest, "p_main").path, [])
        devices = {row["name"]: (row["device"], row["is_network"]) for row in got.irqs}
        of_nic = {name: said for name, said in devices.items() if belongs_to_nic(name)}
        assert of_nic, devices
        assert set(of_nic.values()) == {("eth0", "yes")}, (guest, devices)
        others = {name: said for name, said in devices.items() if not belongs_to_nic(name)}
        assert not {said for said in others.values() if said[0] == "eth0"}, (guest, devices)


def belongs_to_nic(name: str) -> bool:
    return name.startswith(("eth0", "virtio2-input", "virtio2-output"))


# What a line is, by its name, by whom its handler wakes, and by what it raises: where several are
# known they agree, and where some are taken away the answer is the same, or unknown.


BUNDLES = sorted(SAMPLES.glob("nic-guest*/*.zst"))
RAISES = ("irq:softirq_raise",)
WAKINGS = ("sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new")
WITNESSES = (RAISES, WAKINGS, ("napi:napi_poll",), ("sched:sched_switch",))
SUBSETS = [
    tuple(name for some in chosen for name in some)
    for size in range(1, len(WITNESSES) + 1)
    for chosen in combinations(WITNESSES, size)
]
Lines = dict[int, tuple[str | None, str]]


def lines(got: Answer) -> Lines:
    return {row["irq"]: (row["device"], row["is_network"]) for row in got.irqs}


# `fewer` may say less than `whole`, and nothing else.
def assert_not_contradicted(whole: Lines, fewer: Lines) -> None:
    assert set(fewer) == set(whole)
    for irq, (device, network) in fewer.items():
        assert device in (None, whole[irq][0]), (irq, device, whole[irq])
        assert network in ("unknown", whole[irq][1]), (irq, network, whole[irq])


# By turns: irq 32 raises NET_RX that polls eth0; 33 wakes the thread that polls eth1; 34 is a disk.
# Their names say as much: a thread's is of its device.
THREAD = "napi/eth1-8194=30"
KNOWN = (OPENSSL, UDPSINK, h.Task(30, "napi/eth1-8194"))
DRAWN = rounds(
    "0 irq 32 eth0-TxRx-0, 2 raise NET_RX, 4 end irq 32, 4 NET_RX, 50 poll eth0 3 64 0x10, "
    f"50 end NET_RX, 100 irq 33 eth1-TxRx-0, 102 waking {THREAD}, 104 end irq 33, "
    f"110 switch {THREAD}, 150 poll eth1 3 64 0x20, 160 switch openssl asleep, "
    "200 irq 34 nvme0q1, 202 waking udpsink, 204 end irq 34, 210 switch udpsink, "
    "220 switch openssl asleep",
    8,
)
WHOLE = {32: ("eth0", "yes"), 33: ("eth1", "yes"), 34: (None, "no")}


@pytest.mark.parametrize("missing", SUBSETS, ids="-".join)
def test_with_fewer_witnesses_a_line_is_the_same_or_unknown(
    tmp_path: Path, missing: tuple[str, ...]
) -> None:
    formats = tuple(one for one in FORMATS if one.event not in missing)
    got = lines(ledger_of(tmp_path, DRAWN, known=KNOWN, formats=formats))
    assert_not_contradicted(WHOLE, got)


def test_with_all_witnesses_lines_are_known(tmp_path: Path) -> None:
    got = ledger_of(tmp_path, DRAWN, known=KNOWN)
    assert lines(got) == WHOLE
    assert [row["known_by"] for row in got.irqs] == ["polls", "wake-ups", None]


# The event under a name that nobody asks for: as if it had not been recorded.
def hidden(path: Path, folder: Path, *events: str) -> Path:
    data = path.read_bytes()
    for event in events:
        name = b"name: %s\n" % event.split(":")[1].encode()
        data = data.replace(name, name.replace(b"_", b"x", 1))
    blind = folder / "blind.data"
    blind.write_bytes(data)
    return blind


def assert_hiding_contradicts_nothing(path: Path, folder: Path) -> None:
    whole = lines(Answer(path, []))
    assert "yes" in {network for _, network in whole.values()}
    for missing in SUBSETS:
        assert_not_contradicted(whole, lines(Answer(hidden(path, folder, *missing), [])))


def test_hiding_a_samples_events_contradicts_nothing(tmp_path: Path) -> None:
    assert_hiding_contradicts_nothing(SAMPLES / "nic-stolen-time" / "trace.perf.data", tmp_path)


@pytest.mark.parametrize("names", CASES, ids="-".join)
def test_hiding_a_guests_events_contradicts_nothing(
    tmp_path: Path, unpacked: Path, names: tuple[str, str]
) -> None:
    assert_hiding_contradicts_nothing(Case(unpacked, *names).path, tmp_path)


# By name (what /proc/interrupts and ip say), and by what the NET_RX polled that it raised first.
@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name)
def test_a_samples_lines_are_the_same_by_name_and_by_raise(path: Path) -> None:
    timeline = netcost.open_capture(path).timeline()
    by_name = bundle_lines(timeline.capture.bundle)
    led = evidence(raised_by(timeline)[0], {})
    most = led[(led["polled"] * 2 > led["raised"]) & (led["device"] != "(no_device)")]
    by_raise = dict(zip(most["irq"], most["device"], strict=True))
    both = set(by_name) & set(by_raise)
    assert both
    assert {irq: by_name[irq] for irq in both} == {irq: by_raise[irq] for irq in both}
    for row in timeline.irqs.itertuples(index=False):
        assert (row.irq in by_name) == (row.is_network == "yes"), row
        if row.irq in by_name:
            assert row.device == by_name[row.irq]
