# Bins that are the same in every recording: histograms of several merge by adding their counts.

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis.stats.histogram import bins
from support.examples import examples
from support.kept import kept

NANOSECONDS = st.lists(st.integers(0, 2**62), min_size=1, max_size=50)


@examples(40)
@given(NANOSECONDS)
def test_a_value_lies_in_its_bin(values: list[int]) -> None:
    low, high = bins(np.array(values, dtype="int64"))
    for value, least, most in zip(values, low.tolist(), high.tolist(), strict=True):
        assert least <= value <= most
        # Of an eighth of its lower end at most.
        assert most - least + 1 <= max(1, least // 8)
        ends, _ = bins(np.array([least, most]))
        assert ends.tolist() == [least, least]
        assert bins(np.array([most + 1]))[0][0] == most + 1


def test_counts_and_times_are_those_of_the_softirqs() -> None:
    timeline = kept("nic-stolen-time").timeline()
    answer = timeline.ask.batches.softirq_lengths()
    softirqs = timeline.softirqs
    whole = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    for action, rows in answer.frame.groupby("action"):
        own = whole.loc[(whole["action"] == action), "self_ns"].dropna()
        assert rows["softirqs"].sum() == len(own)
        assert rows["ns"].sum() == own.sum()
        half = answer.tables["by_action"].set_index("action").loc[action, "half_within_ns"]
        assert (own <= half).mean() >= 0.5
