# Captures come from strangers: any bytes give tables or one clear error, in bounded time and
# memory.

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native_tables import ALL_TABLES, Answer, assert_conserved
from test_containers import story

from netcost_analysis._native import Capture, CaptureError


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    told = story()
    kinds = [("file", 0), ("pipe", 0), ("file", 1), ("pipe", 2)]
    return {
        f"{mode}{packed}": told.write(folder / f"{mode}{packed}", mode, packed).read_bytes()
        for mode, packed in kinds
    }


KINDS = st.sampled_from(["file0", "pipe0", "file1", "pipe2"])


def read(path: Path) -> None:
    try:
        capture = Capture(str(path))
        capture.header()
        capture.scan()
        capture.all_events()
        answer = Answer(path, ALL_TABLES)
    except CaptureError as error:
        if not str(error) or "\n" in str(error):
            raise
    else:
        assert_conserved(answer)


@settings(max_examples=150)
@given(KINDS, st.floats(0, 1))
def test_truncation(
    whole: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, kind: str, share: float
) -> None:
    path = tmp_path_factory.mktemp("cut") / "perf.data"
    path.write_bytes(whole[kind][: int(share * len(whole[kind]))])
    read(path)


# Most of a capture is samples; the interesting bytes are the first few thousand.
@settings(max_examples=300)
@given(
    KINDS,
    st.lists(
        st.tuples(
            st.floats(0, 1) | st.floats(0, 0.05),
            st.sampled_from([1, 2, 4, 8]),
            st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_corruption(
    whole: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    damage: list[tuple[float, int, int]],
) -> None:
    data = bytearray(whole[kind])
    for share, size, value in damage:
        start = int(share * (len(data) - size))
        data[start : start + size] = bytes([value]) * size
    path = tmp_path_factory.mktemp("bad") / "perf.data"
    path.write_bytes(data)
    read(path)
