# perf's data_src, as the kernel's drivers make it and as nobody should.

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis.questions.functions.data_source import decoded
from support.examples import examples
from support.load_captures import ALL_BITS, L1, L3_MODIFIED, MEMORY, NOTHING, STORE, source

HIT = 0x02
# pebs_data_source of arch/x86/events/intel/ds.c, and perf_ibs_get_data_src of amd/ibs.c: op, level,
# result, snoop, TLB.
KNOWN = {
    L1: ("load", "L1", "hit", "none", "hit"),
    L3_MODIFIED: ("load", "L3", "hit", "modified", "hit"),
    MEMORY: ("load", "memory", "hit", "miss", "miss"),
    STORE: ("store", "L1", "hit", "unknown", "unknown"),
    NOTHING: ("unknown", "unknown", "unknown", "unknown", "unknown"),
    # "unknown L3": it missed there, and where it came from is not said.
    source(lvl=0x04, lvlnum=3): ("load", "L3", "miss", "unknown", "unknown"),
    source(lvl=HIT | 0x10, lvlnum=0xC): ("load", "line fill buffer", "hit", "unknown", "unknown"),
    source(lvl=HIT | 0x400, lvlnum=3, remote=1, snoop=0x10): (
        *("load", "remote cache", "hit", "modified", "unknown"),
    ),
    source(lvl=HIT | 0x100, lvlnum=0xD, remote=1): (
        *("load", "remote memory", "hit", "unknown", "unknown"),
    ),
    source(lvl=HIT, lvlnum=9): ("load", "CXL memory", "hit", "unknown", "unknown"),
    # Before Linux 4.14 there was no number.
    source(lvl=HIT | 0x20): ("load", "L2", "hit", "unknown", "unknown"),
    source(lvl=HIT | 0x80): ("load", "memory", "hit", "unknown", "unknown"),
    source(lvl=HIT | 0x1000): ("load", "I/O", "hit", "unknown", "unknown"),
    # Contradictions.
    source(op=0): ("unknown", "unknown", "unknown", "unknown", "unknown"),
    source(op=2 | 4): ("unknown", "unknown", "unknown", "unknown", "unknown"),
    source(lvl=HIT | 4 | 0x08 | 0x20): ("load", "unknown", "unknown", "unknown", "unknown"),
    ALL_BITS: ("unknown", "unknown", "unknown", "unknown", "unknown"),
    0: ("unknown", "unknown", "unknown", "unknown", "unknown"),
}


def test_each_word_says_its_own() -> None:
    rows = decoded(np.array(list(KNOWN), dtype="u8")).itertuples(index=False, name=None)
    assert dict(zip(KNOWN, rows, strict=True)) == KNOWN
    assert len(decoded(np.array([], dtype="u8"))) == 0


# Reserved bits say nothing, and no word has no answer.
@examples(40)
@given(st.integers(0, 2**64 - 1))
def test_any_word_is_decoded(word: int) -> None:
    row = decoded(np.array([word], dtype="u8")).iloc[0]
    assert set(row.map(type)) == {str}
    below = decoded(np.array([word & (1 << 46) - 1], dtype="u8")).iloc[0]
    assert row.to_list() == below.to_list()
