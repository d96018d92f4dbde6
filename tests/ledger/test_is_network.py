# What counts as network, and which device an interrupt line serves.

from pathlib import Path

from support.drawn import happenings, ledger_of, rounds
from support.native_tables import Answer
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.shared import Case
from support.told import OPENSSL, UDPSINK

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
