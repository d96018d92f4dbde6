# Which line and which instance took it: against perf's own text, and on tables by hand.

import pandas as pd
import pytest

from netcost_analysis.questions.stolen_time.thieves import lines_of
from support.asked import queues
from support.kept import kept
from support.oracle import printed


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


# The lines of instances, of softirqs with a poll each and of interrupts of 10 ns.
def named(
    raised: list[int], entered: list[int], interrupts: list[tuple[int, int]], napi: list[int]
) -> dict[int, int]:
    starts, irqs = zip(*interrupts, strict=True)
    order = range(len(raised))
    softirqs = {"ordinal": order, "raise_ns": raised, "entry_ns": entered}
    hardirqs = {"entry_ns": starts, "exit_ns": [at + 10 for at in starts], "irq": irqs}
    found = lines_of(
        pd.DataFrame(softirqs, dtype="Int64").assign(cpu=0, polls=1),
        pd.DataFrame(hardirqs, dtype="Int64").assign(
            cpu=0, name=[f"line {irq}" for irq in irqs], context="hardirq"
        ),
        pd.DataFrame({"softirq_ordinal": order}, dtype="Int64").assign(
            cpu=0, napi=pd.array(napi, dtype="UInt64"), device="eth0"
        ),
    )
    return dict(zip(found["napi"].astype(int), found["irq"], strict=True))


# One line that raises two instances' polls is neither's; an instance that two raise, likewise.
@pytest.mark.parametrize(
    ("napi", "lines"),
    [([7, 7, 8, 8], {7: 32, 8: 33}), ([7, 8, 9, 9], {9: 33}), ([7, 7, 7, 7], {})],
)
def test_lines_that_are_shared_stay_unnamed(napi: list[int], lines: dict[int, int]) -> None:
    starts = [100, 200, 300, 400]
    interrupts = list(zip(starts, [32, 32, 33, 33], strict=True))
    assert named([at + 5 for at in starts], [at + 15 for at in starts], interrupts, napi) == lines


# A line that two of a hundred polls happened to be raised in is not theirs.
def test_a_coincidence_names_no_line() -> None:
    starts = [100 * number for number in range(100)]
    raised = [at + 5 if at < 200 else at + 50 for at in starts]
    assert named(raised, [at + 60 for at in starts], [(0, 32), (100, 32)], [7] * 100) == {}


# Recorded without the raises: the same lines.
@pytest.mark.parametrize("name", ["nic-stolen-time", "quiet-interface.netcost.tar.zst"])
def test_lines_are_the_same_without_raises(name: str) -> None:
    line = kept(name).timeline()
    softirqs = line.softirqs.assign(raise_ns=pd.array([pd.NA] * len(line.softirqs), dtype="Int64"))
    got = lines_of(softirqs, line.hardirqs, line.polls)
    known = queues(line)
    assert got[["napi", "irq"]].to_numpy().tolist() == known[["napi", "irq"]].to_numpy().tolist()
