# What is written: folded text, speedscope's JSON, SVG; of strangers' names and call chains too.

import colorsys
import json
import random
import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from netcost_analysis import open_capture
from netcost_analysis.plots.palette import KIND
from netcost_analysis.questions.functions.flame import graph, paths
from netcost_analysis.questions.functions.flame_formats import folded, speedscope, svg
from support.called import BASE, CLOCK, Called, write
from support.perfdata import Comm, Sample, Where, write_file
from support.perfdata.sample import CONTEXT_GUEST_KERNEL, CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER
from support.svg import SVG, frames, parsed

NAMES = (
    "<script>alert(1)</script>",
    "a;b",
    "quote\"quote'",
    "]]>&amp;",
    "<!--",
    "tab\tand\x1bescape",
    "12",
    "long" * 20_000,
    "café",
    "--",
    "name_[k]",
    "line\u2028break",
    "\u202eright to left",
    "http://example.com/x",
    "javascript:alert(1)",
)


def files(folder: str, kind: str = "all") -> tuple[list[str], dict, str]:
    found = graph([paths(open_capture(folder), kind)])  # type: ignore[arg-type]
    lines = "".join(folded(found)).splitlines()
    return lines, json.loads(speedscope(found, ["one"], "ns")), svg(found, "title", "sub", "ns")


def check_svg(text: str) -> Element:
    # Well-formed, one script, and nothing that would be fetched.
    root = parsed(text)
    assert len(list(root.iter(f"{SVG}script"))) == 1
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    namespaces |= {"http://github.com/jonhoo/inferno"}
    for one in root.iter():
        assert one.tag.removeprefix(SVG) in {
            *("svg", "defs", "linearGradient", "stop", "style", "script", "rect", "text", "tspan"),
            *("g", "title"),
        }
        for name, value in one.attrib.items():
            assert "href" not in name
            assert not name.startswith("on") or (name, value) == ("onload", "init(evt)")
            assert "url(" not in value or value == "url(#background)"
    # Beside what a stranger called a function.
    kept = "".join(one.text or "" for tag in ("script", "style") for one in root.iter(SVG + tag))
    addresses = set(re.findall(r"https?://[^\s\"']+", kept))
    assert addresses <= namespaces | {
        "https://github.com/jonhoo/inferno/",
        "https://web.dev/avoid-large-complex-layouts-and-layout-thrashing/",
    }
    assert "@import" not in kept
    return root


def test_the_same_bytes_again(tmp_path: Path) -> None:
    told = [Called(("user", "asm_sysvec_x", f"f{at}", "f1", "g"), times=at + 1) for at in range(9)]
    first, second = (files(write(tmp_path / name, *told)) for name in ("a", "b"))
    assert first == second


# Siblings whose names differ behind a character that sorts before ";" stay one frame.
def test_names_of_one_beginning_are_not_torn_apart(tmp_path: Path) -> None:
    told = [Called(("f", "x")), Called(("f!y", "x")), Called(("f",)), Called(("f", "z"))]
    _, _, text = files(write(tmp_path / "x", *told))
    assert sum(title.startswith("f (3.00 ms") for title in frames(text)) == 1
    assert sum(title.startswith("f!y (1.00 ms") for title in frames(text)) == 1


def test_frames_have_the_colour_of_their_context(tmp_path: Path) -> None:
    path = ("user", "asm_common_interrupt", "__irq_exit_rcu", "handle_softirqs", "net_rx_action")
    told = [Called((*path, "__napi_poll", "f")), Called((*path, "g", "asm_sysvec_x"))]
    _, _, text = files(write(tmp_path / "x", *told), "stolen")
    told_of = {title.split(" ")[0]: one["fill"] for title, one in frames(text).items()}

    def hue(color: str) -> float:
        parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return 360 * colorsys.rgb_to_hsv(*parts)[0]

    # The shade tells neighbours apart, the hue what it is.
    for name, kind in {
        "openssl": "task",
        "asm_common_interrupt": "hardirq",
        "__irq_exit_rcu": "hardirq",
        "handle_softirqs": "softirq_other",
        "net_rx_action": "softirq",
        "g": "softirq",
        "__napi_poll": "poll",
        "f": "poll",
        "asm_sysvec_x": "vector",
    }.items():
        assert hue(told_of[name]) == pytest.approx(hue(KIND[kind]), abs=5), name
    assert len(check_svg(text).findall(f".//{SVG}tspan")) == 2 * 6
    assert text.count(">all</text>") == 1


def test_speedscope_has_its_schema(tmp_path: Path) -> None:
    told = [Called(("user", "asm_sysvec_x", "f"), times=3), Called(("g",), comm="b", tid=9)]
    _, said, _ = files(write(tmp_path / "x", *told))
    assert said["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    [profile] = said["profiles"]
    names = [one["name"] for one in said["shared"]["frames"]]
    assert (profile["type"], profile["unit"], profile["endValue"]) == (
        "sampled",
        "nanoseconds",
        4e6,
    )
    shown = [[names[at] for at in one] for one in profile["samples"]]
    assert dict(zip(map(tuple, shown), profile["weights"], strict=True)) == {
        ("openssl", "user mode", "asm_sysvec_x", "f"): 3_000_000,
        ("b", "g"): 1_000_000,
    }


def hostile(folder: Path) -> str:
    # Functions of these names, in a chain: kallsyms gives them, and tasks are called so too.
    held = [f"f{at}" for at in range(len(NAMES))]
    told = [Called(held, comm=name[:15], tid=100 + at) for at, name in enumerate(NAMES)]
    path = write(folder, *told, Called(["asm_sysvec_x", *held], comm="\x00\x1b[31m;<g>"))
    (folder / "kcore_dir" / "kallsyms").write_bytes(
        b"".join(
            b"%x T " % (BASE + 64 * at) + name.replace(" ", "").encode() + b"\xff\xfe\n"
            for at, name in enumerate(NAMES)
        )
        + b"%x T asm_sysvec_x\n" % (BASE + 64 * len(NAMES))
    )
    return path


def test_names_are_escaped(tmp_path: Path) -> None:
    lines, said, text = files(hostile(tmp_path / "x"))
    root = check_svg(text)
    assert len(lines) == len(NAMES) + 1
    for line in lines:
        path, number = line.rsplit(" ", 1)
        assert number == "1000000"
        assert " " not in path
        assert path.isprintable()
        assert len(path.split(";")) in (len(NAMES) + 1, len(NAMES) + 2)
    names = [one["name"] for one in said["shared"]["frames"]]
    assert all(name.isprintable() and len(name) <= 120 for name in names)
    titles = [one.text or "" for one in root.iter(f"{SVG}title")]
    assert any("<script>alert(1)</script>" in title for title in titles)
    assert all(title.isprintable() for title in titles)
    assert len(text) < 400_000


# perf has 127 frames unless told otherwise; a record has room for some 8,000.
@pytest.mark.parametrize("depth", [254, 255, 256, 257, 8_000])
@pytest.mark.parametrize("user", [0, 3])
def test_deep_chains_are_cut_in_their_middle(tmp_path: Path, depth: int, user: int) -> None:
    names = [f"f{at}" for at in range(7)]
    chain = ["asm_sysvec_x", *(names[at % 7] for at in range(depth - 2)), "leaf"]
    lines, said, text = files(write(tmp_path / "x", Called(["user"] * user + chain)))
    [line] = lines
    shown = line.rsplit(" ", 1)[0].split(";")
    whole = ["openssl", *(["user_mode"] if user else []), *chain]
    assert len(shown) == min(len(whole), 256)
    if len(whole) <= 256:
        assert shown == whole
    else:
        assert shown == [*whole[:128], "frames_left_out", *whole[-127:]]
    [path] = said["profiles"][0]["samples"]
    assert [said["shared"]["frames"][at]["name"].replace(" ", "_") for at in path] == shown
    root = check_svg(text)
    assert len(list(root.iter(f"{SVG}title"))) == len(shown) + 1
    assert int(root.attrib["height"]) < 5_000


# Marks that open and close nothing, one behind another.
def test_chains_of_marks(tmp_path: Path) -> None:
    marks = (CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_HV, CONTEXT_GUEST_KERNEL, 2**64 - 1, 0)
    chains = [(), (CONTEXT_KERNEL,), marks, marks * 100, (*marks, BASE + 1, *marks), (0, BASE + 1)]
    folder = tmp_path / "x"
    write(folder, Called(("f",)))
    told = [
        Sample(Where(0, 10 + at, 70, 70), ip=BASE + 1, callchain=chain, period=5)
        for at, chain in enumerate(chains)
    ]
    data = write_file([CLOCK], [], [Comm(70, 70, "x"), *told])
    (folder / "data").write_bytes(data)
    lines, said, text = files(str(folder))
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 5 * len(chains)
    assert sum(said["profiles"][0]["weights"]) == 5 * len(chains)
    check_svg(text)


# Chains that have nothing in common: of millions of frames so many as a browser can show.
def test_frames_that_are_drawn_are_bounded(tmp_path: Path) -> None:
    draw, names = random.Random(1), [f"f{at}" for at in range(300)]
    told = [Called(["asm_sysvec_x", *draw.choices(names, k=200)], times=2) for _ in range(60)]
    told += [Called(["asm_sysvec_x", *draw.choices(names, k=200)]) for _ in range(200)]
    lines, said, text = files(write(tmp_path / "x", *told))
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 320 * 10**6
    assert len(said["profiles"][0]["samples"]) == len(lines) == 260
    check_svg(text)
    # Of those in two samples there is room for all, of the others for none.
    assert 10_000 < text.count("<title>") < 13_000


# More tasks than the picture has room for: bounded, and nothing of the others' place is lost.
def test_many_narrow_tasks(tmp_path: Path) -> None:
    told = [Called(("asm_sysvec_x", "f"), f"t{at}", 1_000 + at) for at in range(5_000)]
    wide = Called(("asm_sysvec_x", "f"), "wide", 7, times=50)
    for name, given in (("a", told), ("b", [*told, wide])):
        lines, _, text = files(write(tmp_path / name, *given), "stolen")
        check_svg(text)
        titles = list(frames(text))
        assert len(lines) == len(given)
        assert any("too narrow" in title for title in titles)
        assert len(titles) <= 5
        wide = [title for title in titles if title.startswith("wide (50.0 ms,")]
        assert ["0.99%)" in title for title in wide] == [True] * (name == "b")
