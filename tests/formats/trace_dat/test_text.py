# What a latency tracer leaves: text in place of pages, in a trace.dat all the same.

from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import rows
from support.story import story
from support.tracedat import Buffer, Dress, Packing, version6, version7

LINES = (
    "         openssl-500     [001] d.h1.  1000.000001: softirq_raise: vec=3 [action=NET_RX]",
    "         openssl-500     [001] ..s1.  1000.000003: softirq_entry: vec=3 [action=NET_RX]",
    "         openssl-500     [001] ..s1.  1000.000009: softirq_exit: vec=3 [action=NET_RX]",
)
TEXT = "# tracer: irqsoff\n#\n" + "".join(f"{line}\n" for line in LINES)
DRESSES = {
    "6": Dress(6),
    "7": Dress(7, Packing("none")),
    "7 zstd": Dress(7),
    "7 zstd, a page a chunk": Dress(7, Packing(chunk_pages=1)),
    "7 zlib": Dress(7, Packing("zlib")),
}
every_dress = pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)


def written(path: Path, dress: Dress, text: str) -> Path:
    contents = dress.contents(story())
    contents = replace(contents, buffers=(Buffer(clock="local", text=text),))
    six = dress.version == 6
    path.write_bytes(version6.write(contents) if six else version7.write(contents, dress.packing))
    return path


def test_the_text_of_a_latency_tracer(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        for times in (1, 1000):
            path = written(
                tmp_path / "trace.dat", dress, TEXT + "".join(f"{LINES[2]}\n" * (times - 1))
            )
            capture = Capture(str(path))
            counts = {name: count for name, count in capture.scan()["events"].items() if count}
            assert counts == {
                "irq:softirq_raise": 1,
                "irq:softirq_entry": 1,
                "irq:softirq_exit": times,
            }
            [raised] = rows(capture.events("irq:softirq_raise"))
            names = ("time_ns", "common_cpu", "common_pid", "vec", "common_flags")
            assert [raised[name] for name in names] == [1000_000_001_000, 1, 500, 3, 9]
            header = capture.header()
            assert (header["version"], header["resolution_ns"]) == (dress.version, 1000)


def test_no_line_of_an_event(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        for text in ("", "# tracer: irqsoff\n#\n"):
            path = written(tmp_path / "trace.dat", dress, text)
            try:
                assert sum(Capture(str(path)).scan()["events"].values()) == 0
            except CaptureError as refused:
                if "\n" in str(refused):
                    raise
