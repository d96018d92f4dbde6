# Which line and which instance took it: against perf's own text, and on described timelines.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.asked import queues
from support.host import SAMPLES
from support.kept import kept
from support.oracle import perf_script, printed
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, irq, softirq, timeline


# Which handler raised NET_RX, and whom it polled next: read off the lines of perf script.
def test_perf_script_pairs_the_same_lines_and_instances() -> None:
    seen: dict[tuple[str, str], int] = {}
    handler: dict[int, str | None] = {}
    raisers: dict[int, set[str]] = {}
    polled: dict[int, set[str]] = {}
    for number, _, _, event, text in printed("nic-stolen-time"):
        words = text.split()
        if event == "irq:irq_handler_entry":
            handler[number] = words[0].removeprefix("irq=")
        elif event == "irq:irq_handler_exit":
            handler[number] = None
        elif event == "irq:softirq_raise" and words[0] == "vec=3":
            raisers.setdefault(number, set()).add(handler.get(number) or "none")
        elif event == "irq:softirq_entry" and words[0] == "vec=3":
            asked = raisers.pop(number, set())
            polled[number] = set()
            handler[-1 - number] = next(iter(asked)) if len(asked) == 1 else None
        elif event == "napi:napi_poll" and number in polled:
            polled[number].add(words[5])
        elif event == "irq:softirq_exit" and words[0] == "vec=3":
            whom, line = polled.pop(number, set()), handler.get(-1 - number)
            if len(whom) == 1 and line not in (None, "none"):
                key = (str(line), next(iter(whom)))
                seen[key] = seen.get(key, 0) + 1
    got = queues(kept("nic-stolen-time").timeline())
    assert len(got) == 2
    for row in got.itertuples():
        counts = {napi: n for (line, napi), n in seen.items() if line == str(row.irq)}
        assert max(counts, key=lambda napi: counts[napi]) == hex(int(row.napi))  # type: ignore[arg-type]


# The lines of instances, of softirqs with a poll each behind interrupts of 10 us, or alone.
def named(path: Path, softirqs: list[tuple[int | None, int]], has_raises: bool) -> dict[int, int]:
    happened: list[h.Happening] = []
    for number, (line, napi) in enumerate(softirqs, 1):
        now = number * 1_000_000
        raise_ = [h.SoftirqRaise(now + 5_000, NET_RX)] if has_raises else []
        handler = raise_ if line is None else irq(now, now + 10_000, *raise_, line=line)
        began = now + (60_000 if line is None else 15_000)
        poll = h.NapiPoll(began + 1_000, napi=napi)
        happened += [*handler, *softirq(began, began + 2_000, poll)]
    found = queues(timeline(path, cpu(0, *happened, task=OPENSSL)))
    return dict(zip(found["napi"].astype(int), found["irq"], strict=True))


# One line that raises two instances' polls is neither's; an instance that two raise, likewise; a
# line that two of a hundred polls happened to be raised in is not theirs.
@pytest.mark.parametrize("has_raises", [True, False])
@pytest.mark.parametrize(
    ("softirqs", "lines"),
    [
        ([(32, 7), (32, 7), (33, 8), (33, 8)], {7: 32, 8: 33}),
        ([(32, 7), (32, 8), (33, 9), (33, 9)], {9: 33}),
        ([(32, 7), (32, 7), (33, 7), (33, 7)], {}),
        ([(32, 7)] * 2 + [(None, 7)] * 98, {}),
    ],
)
def test_lines_that_are_shared_or_a_coincidence_stay_unnamed(
    tmp_path: Path, softirqs: list[tuple[int | None, int]], has_raises: bool, lines: dict[int, int]
) -> None:
    assert named(tmp_path, softirqs, has_raises) == lines


# A real recording without the raises: the same lines.
def test_lines_are_the_same_without_raises(tmp_path: Path) -> None:
    lines = perf_script(netcost.Bundle(SAMPLES / "nic-stolen-time").trace, "--ns").splitlines()
    text = tmp_path / "perf.txt"
    text.write_text("\n".join(line for line in lines if " irq:softirq_raise: " not in line) + "\n")
    capture = netcost.open_capture(text)
    assert not capture.info["events"].get("irq:softirq_raise")
    got, known = queues(capture.timeline()), queues(kept("nic-stolen-time").timeline())
    assert len(known) == 2
    columns = ["napi", "irq"]
    assert got[columns].astype(object).to_numpy().tolist() == known[columns].to_numpy().tolist()
