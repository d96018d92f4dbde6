# Texts with one half of what the ledger needs of them: its notes name the half that is not there,
# and none that is.

from pathlib import Path

from support.native_tables import Answer
from support.text_capture import capture

PARTS = [
    "irq_handler_entry: irq=32 name=eth0",
    "irq_handler_exit: irq=32 ret=handled",
    "softirq_raise: vec=3 [action=NET_RX]",
    "softirq_entry: vec=3 [action=NET_RX]",
    "softirq_exit: vec=3 [action=NET_RX]",
    "local_timer_entry: vector=236",
    "local_timer_exit: vector=236",
]


def text(*without: str) -> list[str]:
    told = [part for part in PARTS * 4 if part.split(":")[0] not in without]
    return [f"{'sh':>16}-8 [000] d.h1. 1.{at:06}: {part}" for at, part in enumerate(told)]


# The events that notes say were not recorded.
def said(folder: Path, *without: str) -> list[str]:
    capture(folder, "\n".join(text(*without)))
    notes = Answer(folder / "trace.txt").summary["notes"]
    names = {part.split(":")[0] for part in PARTS}
    told = [note.split()[0] for note in notes if "not recorded" in note]
    return [event for event in told if any(name in event for name in names)]


def test_the_half_that_is_missing_is_named_once(tmp_path: Path) -> None:
    for half in ("entry", "exit"):
        for pair in ("irq_handler", "softirq", "local_timer"):
            system = "" if pair == "local_timer" else "irq:"
            assert said(tmp_path, f"{pair}_{half}") == [f"{system}{pair}_{half}"]


def test_where_both_are_missing_the_first_is_named(tmp_path: Path) -> None:
    assert said(tmp_path, "softirq_entry", "softirq_exit") == ["irq:softirq_entry"]
    assert said(tmp_path) == []
