# What counts as network, and which device an interrupt line serves.

from pathlib import Path

from support.native_tables import Answer
from support.nic_captures import Case
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import NET_RX, NET_TX, OPENSSL, TIMER, UDPSINK, answer

DISK, LINK = 36, 37


def interrupts(number: int) -> list[h.Happening]:
    now = 1000 * number
    return [
        h.IrqEntry(now, 32, "virtio2-input.0"),
        h.SoftirqRaise(now + 1, NET_RX),
        h.IrqExit(now + 2, 32),
        h.SoftirqEntry(now + 3, NET_RX),
        h.NapiPoll(now + 10, "eth0", 8),
        h.SoftirqExit(now + 12, NET_RX),
        h.IrqEntry(now + 100, DISK, "virtio1-req.0"),
        h.IrqExit(now + 110, DISK),
        h.IrqEntry(now + 120, LINK, "eth0-link"),
        h.IrqExit(now + 125, LINK),
        # One line, two handlers: which of them the time was for, nobody can tell.
        h.IrqEntry(now + 130, 11, "eth0"),
        h.SoftirqRaise(now + 131, NET_RX),
        h.IrqExit(now + 132, 11),
        h.IrqEntry(now + 133, 11, "uhci_hcd:usb1"),
        h.IrqExit(now + 134, 11),
        h.SoftirqEntry(now + 135, NET_RX),
        h.NapiPoll(now + 140, "eth0", 8),
        h.SoftirqExit(now + 142, NET_RX),
        h.VectorEntry(now + 200),
        h.SoftirqRaise(now + 205, TIMER),
        h.VectorExit(now + 210),
        h.SoftirqEntry(now + 211, TIMER),
        h.SoftirqExit(now + 220, TIMER),
        h.VectorEntry(now + 300, "call_function_single"),
        h.VectorExit(now + 310, "call_function_single"),
        h.SoftirqRaise(now + 400, NET_TX),
        h.SoftirqEntry(now + 401, NET_TX),
        h.SoftirqExit(now + 410, NET_TX),
    ]


def test_who_is_network(tmp_path: Path) -> None:
    told = [one for number in range(1, 5) for one in interrupts(number)]
    got = answer(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL), known=(OPENSSL,))
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
    woken = [
        h.VectorEntry(1000),
        h.SoftirqRaise(1005, TIMER),
        h.VectorExit(1010),
        h.SoftirqEntry(1011, TIMER),
        h.Waking(1012, UDPSINK),
        h.SoftirqExit(1020, TIMER),
    ]
    told = [*woken, *(one for number in range(2, 5) for one in interrupts(number))]
    got = answer(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL), known=(OPENSSL,))
    timers = [(row["ns"], row["segments"]) for row in got.sums if row["name"] == "TIMER"]
    assert timers == [(4 * 9, 4)]


# In the guests: `virtio0-input` is the random-number device, and `eth0-rx-0` and `eth0` are two
# interrupts of one NIC.
def test_the_guests_nics_are_found(unpacked: Path) -> None:
    for guest in ("k6.1-igb-mini", "k6.12-e1000e-mini", "k6.12-virtio-mini", "k6.1rt-virtio-mini"):
        got = Answer(Case(unpacked, guest, "p_main").path, [])
        devices = {row["name"]: (row["device"], row["is_network"]) for row in got.irqs}
        of_nic = {name: said for name, said in devices.items() if belongs_to_nic(name)}
        assert of_nic, devices
        assert set(of_nic.values()) == {("eth0", "yes")}, (guest, devices)
        others = {name: said for name, said in devices.items() if not belongs_to_nic(name)}
        assert not {said for said in others.values() if said[0] == "eth0"}, (guest, devices)


def belongs_to_nic(name: str) -> bool:
    return name.startswith(("eth0", "virtio2-input", "virtio2-output"))
