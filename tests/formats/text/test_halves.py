# Texts with one half of what the ledger needs of them: its notes name the half that is not there,
# and none that is.

from pathlib import Path

import pytest

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
MEANING = {
    "irq": "device interrupts' time is in that of what they interrupted",
    "softirq": "softirqs' time is in that of the tasks they ran on",
    "local": "that context is left out",
}


def text(*without: str) -> list[str]:
    told = [part for part in PARTS * 4 if part.split(":")[0] not in without]
    return [f"{'sh':>16}-8 [000] d.h1. 1.{at:06}: {part}" for at, part in enumerate(told)]


def said(folder: Path, *without: str) -> list[str]:
    capture(folder, "\n".join(text(*without)))
    notes = Answer(folder / "trace.txt").summary["notes"]
    names = {part.split(":")[0] for part in PARTS}
    return [
        note for note in notes if "not recorded" in note and any(name in note for name in names)
    ]


@pytest.mark.parametrize("half", ["entry", "exit"])
@pytest.mark.parametrize("pair", ["irq_handler", "softirq", "local_timer"])
def test_the_half_that_is_missing_is_named_once(tmp_path: Path, pair: str, half: str) -> None:
    system = "" if pair == "local_timer" else "irq:"
    meaning = MEANING[pair.split("_")[0]]
    assert said(tmp_path, f"{pair}_{half}") == [
        f"{system}{pair}_{half} was not recorded: {meaning}"
    ]


def test_where_both_are_missing_the_first_is_named(tmp_path: Path) -> None:
    assert said(tmp_path, "softirq_entry", "softirq_exit") == [
        f"irq:softirq_entry was not recorded: {MEANING['softirq']}"
    ]
    assert said(tmp_path) == []
