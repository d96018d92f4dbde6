# Which line and which instance took it: on tables by hand, and against perf's own text.

import pandas as pd
import pytest

from netcost_analysis.questions.stolen_time.thieves import lines_of
from support.asked import queues, thieves
from support.kept import kept
from support.printed import printed


def test_queues_of_the_nic() -> None:
    line = kept("nic-stolen-time").timeline()
    got = thieves(line).set_index(["comm", "context", "queue"])
    named = line.irqs.set_index("irq")["name"].astype(str)
    # Another line is for what was sent, others are other devices'.
    named = named[named.str.startswith("virtio2-input")]
    assert len(named) == 2
    for irq, name in named.items():
        queue = f"irq {irq} {name}"
        both = got.loc[[("openssl", kind, queue) for kind in ("hardirq", "poll")]]
        assert both["irq"].tolist() == [irq, irq]
        hardirq, poll = both["stolen_max_ns"]
        assert hardirq < poll
    polls = got.sort_index().loc[("openssl", "poll")]
    assert set(polls.index) == {f"irq {irq} {name}" for irq, name in named.items()}


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


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


# One line that raises two instances' polls is neither's; an instance that two raise, likewise.
def test_lines_that_are_shared_stay_unnamed() -> None:
    starts = [100, 200, 300, 400]
    softirqs = table(
        cpu=0,
        ordinal=[0, 1, 2, 3],
        raise_ns=pd.array([at + 5 for at in starts], dtype="Int64"),
        entry_ns=pd.array([at + 15 for at in starts], dtype="Int64"),
        polls=1,
    )
    hardirqs = table(
        cpu=0,
        entry_ns=pd.array(starts, dtype="Int64"),
        exit_ns=pd.array([at + 10 for at in starts], dtype="Int64"),
        irq=pd.array([32, 32, 33, 33], dtype="Int64"),
        name=["a", "a", "b", "b"],
        context="hardirq",
    )

    def named(*napi: int) -> dict[int, int]:
        polls = table(
            cpu=0,
            softirq_ordinal=pd.array([0, 1, 2, 3], dtype="Int64"),
            napi=pd.array(napi, dtype="UInt64"),
            device="eth0",
        )
        found = lines_of(softirqs, hardirqs, polls)
        return dict(zip(found["napi"].astype(int), found["irq"], strict=True))

    assert named(7, 7, 8, 8) == {7: 32, 8: 33}
    assert named(7, 8, 9, 9) == {9: 33}
    assert named(7, 7, 7, 7) == {}


# Recorded without the raises: the same lines.
@pytest.mark.parametrize("name", ["nic-stolen-time", "quiet-interface.netcost.tar.zst"])
def test_lines_are_the_same_without_raises(name: str) -> None:
    line = kept(name).timeline()
    softirqs = line.softirqs.assign(raise_ns=pd.array([pd.NA] * len(line.softirqs), dtype="Int64"))
    got = lines_of(softirqs, line.hardirqs, line.polls)
    known = queues(line)
    assert got[["napi", "irq"]].to_numpy().tolist() == known[["napi", "irq"]].to_numpy().tolist()


# A line that two of a hundred polls happened to be raised in is not theirs.
def test_a_coincidence_names_no_line() -> None:
    starts = [100 * number for number in range(100)]
    raised = [at + 5 if at < 200 else at + 50 for at in starts]
    softirqs = table(
        cpu=0,
        ordinal=range(100),
        raise_ns=pd.array(raised, dtype="Int64"),
        entry_ns=pd.array([at + 60 for at in starts], dtype="Int64"),
        polls=1,
    )
    hardirqs = table(
        cpu=0,
        entry_ns=pd.array([0, 100], dtype="Int64"),
        exit_ns=pd.array([10, 110], dtype="Int64"),
        irq=pd.array([32, 32], dtype="Int64"),
        name="a",
        context="hardirq",
    )
    polls = table(
        cpu=0,
        softirq_ordinal=pd.array(range(100), dtype="Int64"),
        napi=pd.array([7] * 100, dtype="UInt64"),
        device="eth0",
    )
    assert not len(lines_of(softirqs, hardirqs, polls))
