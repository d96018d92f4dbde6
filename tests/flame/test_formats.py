# What is written: folded text, speedscope's JSON, SVG; of strangers' names, call chains and bytes.

import colorsys
import json
import random
import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from netcost_analysis import CaptureError, open_capture
from netcost_analysis.errors import ArgumentError
from netcost_analysis.plots.palette import KIND
from netcost_analysis.questions.samples.flame import graph, paths
from netcost_analysis.questions.samples.flame_formats import folded, speedscope, svg
from support.perfdata import Comm, Sample, Where, write_file
from support.perfdata.sample import CONTEXT_GUEST_KERNEL, CONTEXT_HV, CONTEXT_KERNEL, CONTEXT_USER
from support.pictures import SVG, frames, parsed
from support.stacks import FREQUENT, KERNEL, Called, write

NAMES = (
    *("<script>alert(1)</script>", "a;b", "quote\"quote'", "]]>&amp;", "<!--", "--", "12", "café"),
    *("tab\tand\x1bescape", "long" * 20_000, "name_[k]", "line\u2028break", "\u202eright to left"),
    *("http://example.com/x", "javascript:alert(1)"),
)
TAGS = {
    *("svg", "defs", "linearGradient", "stop", "style", "script", "rect", "text", "tspan"),
    *("g", "title"),
}
# Namespaces, and what inferno's script names in its comments.
ADDRESSES = {
    *("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"),
    *("http://github.com/jonhoo/inferno", "https://github.com/jonhoo/inferno/"),
    "https://web.dev/avoid-large-complex-layouts-and-layout-thrashing/",
}


# Lines, the one profile with its frames, and the SVG, of which all three have the same total.
def files(folder: str, kind: str = "all") -> tuple[list[str], dict[str, Any], Element, str]:
    found = graph([paths(open_capture(folder), kind)])  # type: ignore[arg-type]
    lines, text = list(folded(found)), svg(found, "title", "sub", "ns")
    said = json.loads(speedscope(found, ["one"], "ns"))
    [profile] = said["profiles"]
    names = [one["name"] for one in said["shared"]["frames"]]
    profile |= {"schema": said["$schema"], "names": names}
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    assert total == sum(profile["weights"]) == profile["endValue"] == found.weights[0][0]
    return lines, profile, checked(text), text


# Well-formed, one script, and nothing that would be fetched.
def checked(text: str) -> Element:
    root = parsed(text)
    assert len(list(root.iter(f"{SVG}script"))) == 1
    for one in root.iter():
        assert one.tag.removeprefix(SVG) in TAGS
        for name, value in one.attrib.items():
            assert "href" not in name
            assert not name.startswith("on") or (name, value) == ("onload", "init(evt)")
            assert "url(" not in value or value == "url(#background)"
    # Beside what a stranger called a function.
    kept = "".join(one.text or "" for tag in ("script", "style") for one in root.iter(SVG + tag))
    assert set(re.findall(r"https?://[^\s\"']+", kept)) <= ADDRESSES
    assert "@import" not in kept
    return root


# Siblings whose names differ behind a character that sorts before ";" stay one frame.
def test_names_of_one_beginning_are_not_torn_apart(tmp_path: Path) -> None:
    told = [Called(("f", "x")), Called(("f!y", "x")), Called(("f",)), Called(("f", "z"))]
    titles = list(frames(files(write(tmp_path / "x", *told))[3]))
    assert sum(title.startswith("f (3.00 ms") for title in titles) == 1
    assert sum(title.startswith("f!y (1.00 ms") for title in titles) == 1


def test_frames_have_the_colour_of_their_context(tmp_path: Path) -> None:
    path = ("user", "asm_common_interrupt", "__irq_exit_rcu", "handle_softirqs", "net_rx_action")
    told = [Called((*path, "__napi_poll", "f")), Called((*path, "g", "asm_sysvec_x"))]
    _, _, root, text = files(write(tmp_path / "x", *told), "stolen")
    fills = {title.split(" ")[0]: one["fill"] for title, one in frames(text).items()}

    def hue(color: str) -> float:
        parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return 360 * colorsys.rgb_to_hsv(*parts)[0]

    # The shade tells neighbours apart, the hue what it is.
    for names, kind in {
        ("openssl",): "task",
        ("asm_common_interrupt", "__irq_exit_rcu"): "hardirq",
        ("handle_softirqs",): "softirq_other",
        ("net_rx_action", "g"): "softirq",
        ("__napi_poll", "f"): "poll",
        ("asm_sysvec_x",): "vector",
    }.items():
        for name in names:
            assert hue(fills[name]) == pytest.approx(hue(KIND[kind]), abs=5), name
    assert len(root.findall(f".//{SVG}tspan")) == 2 * 6
    assert text.count(">all</text>") == 1


def test_speedscope_has_its_schema(tmp_path: Path) -> None:
    told = [Called(("user", "asm_sysvec_x", "f"), times=3), Called(("g",), comm="b", tid=9)]
    _, profile, _, _ = files(write(tmp_path / "x", *told))
    assert profile["schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert (profile["type"], profile["unit"]) == ("sampled", "nanoseconds")
    shown = [tuple(profile["names"][at] for at in one) for one in profile["samples"]]
    assert dict(zip(shown, profile["weights"], strict=True)) == {
        ("openssl", "user mode", "asm_sysvec_x", "f"): 3_000_000,
        ("b", "g"): 1_000_000,
    }


# Functions of these names, in a chain: kallsyms gives them, and tasks are called so too.
def test_names_are_escaped(tmp_path: Path) -> None:
    held = [f"f{at}" for at in range(len(NAMES))]
    told = [Called(held, comm=name[:15], tid=100 + at) for at, name in enumerate(NAMES)]
    path = write(tmp_path / "x", *told, Called(["asm_sysvec_x", *held], comm="\x00\x1b[31m;<g>"))
    kallsyms = Path(path, "kcore_dir", "kallsyms")
    text = kallsyms.read_bytes()
    for at, name in enumerate(NAMES):
        text = text.replace(b" f%d\n" % at, b" %s\xff\xfe\n" % name.replace(" ", "").encode())
    kallsyms.write_bytes(text)
    lines, profile, root, drawn = files(path)
    assert len(lines) == len(NAMES) + 1
    for line in lines:
        shown, number = line.rstrip("\n").rsplit(" ", 1)
        assert number == "1000000"
        assert shown.isprintable()
        assert " " not in shown
        assert len(shown.split(";")) in (len(NAMES) + 1, len(NAMES) + 2)
    assert all(name.isprintable() and len(name) <= 120 for name in profile["names"])
    titles = [one.text or "" for one in root.iter(f"{SVG}title")]
    assert any("<script>alert(1)</script>" in title for title in titles)
    assert all(title.isprintable() for title in titles)
    assert len(drawn) < 400_000


# perf has 127 frames unless told otherwise; a record has room for some 8,000.
@pytest.mark.parametrize("depth", [254, 255, 256, 257, 8_000])
@pytest.mark.parametrize("user", [0, 3])
def test_deep_chains_are_cut_in_their_middle(tmp_path: Path, depth: int, user: int) -> None:
    chain = ["asm_sysvec_x", *(f"f{at % 7}" for at in range(depth - 2)), "leaf"]
    path = write(tmp_path / "x", Called(["user"] * user + chain))
    [line], profile, root, _ = files(path)
    shown = line.rsplit(" ", 1)[0].split(";")
    whole = ["openssl", *(["user_mode"] if user else []), *chain]
    cut = [*whole[:128], "frames_left_out", *whole[-127:]]
    assert shown == (whole if len(whole) <= 256 else cut)
    [places] = profile["samples"]
    assert [profile["names"][at].replace(" ", "_") for at in places] == shown
    assert len(list(root.iter(f"{SVG}title"))) == len(shown) + 1
    assert int(root.attrib["height"]) < 5_000


# Marks that open and close nothing, one behind another.
def test_chains_of_marks(tmp_path: Path) -> None:
    marks = (CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_HV, CONTEXT_GUEST_KERNEL, 2**64 - 1, 0)
    chains = [
        (),
        (CONTEXT_KERNEL,),
        marks,
        marks * 100,
        (*marks, KERNEL + 1, *marks),
        (0, KERNEL + 1),
    ]
    path = write(tmp_path / "x", Called(("f",)))
    told = [
        Sample(Where(0, 10 + at, 70, 70), ip=KERNEL + 1, callchain=chain, period=5)
        for at, chain in enumerate(chains)
    ]
    Path(path, "data").write_bytes(write_file([FREQUENT], [], [Comm(70, 70, "x"), *told]))
    assert sum(files(path)[1]["weights"]) == 5 * len(chains)


# Chains that have nothing in common: of millions of frames so many as a browser can show.
def test_frames_that_are_drawn_are_bounded(tmp_path: Path) -> None:
    draw, names = random.Random(1), [f"f{at}" for at in range(300)]
    told = [
        Called(["asm_sysvec_x", *draw.choices(names, k=200)], times=2 if at < 60 else 1)
        for at in range(260)
    ]
    lines, profile, _, text = files(write(tmp_path / "x", *told))
    assert len(profile["samples"]) == len(lines) == 260
    # Of those in two samples there is room for all, of the others for none.
    assert 10_000 < text.count("<title>") < 13_000


# More tasks than the picture has room for: bounded, and nothing of the others' place is lost.
def test_many_narrow_tasks(tmp_path: Path) -> None:
    told = [Called(("asm_sysvec_x", "f"), f"t{at}", 1_000 + at) for at in range(5_000)]
    wide = Called(("asm_sysvec_x", "f"), "wide", 7, times=50)
    lines, _, _, text = files(write(tmp_path / "a", *told, wide), "stolen")
    assert len(lines) == 5_001
    titles = list(frames(text))
    assert any("too narrow" in title for title in titles)
    assert len(titles) <= 5
    assert [title.endswith("0.99%)") for title in titles if title.startswith("wide (50.0 ms,")] == [
        True
    ]


# Bytes changed at random: a graph that adds up and can be read, or a refusal.
@pytest.mark.parametrize("seed", range(4))
def test_damaged_captures(tmp_path: Path, seed: int) -> None:
    told = (
        Called(("user", "asm_sysvec_x", "handle_softirqs", "net_rx_action"), times=5),
        Called(("do_idle", "default_idle"), "swapper", 0, times=3),
        Called(("user",), "iperf3", 9),
    )
    draw, path, drawn = random.Random(seed), Path(write(tmp_path / "x", *told)), 0
    whole = {file: file.read_bytes() for file in (path / "data", path / "kcore_dir" / "kallsyms")}
    for _ in range(40):
        for file, data in whole.items():
            bad = bytearray(data)
            for _ in range(draw.choice((0, 1, 2, 5))):
                bad[draw.randrange(len(bad))] = draw.choice((0, 1, 127, 255, draw.randrange(256)))
            file.write_bytes(bad)
        try:
            files(str(path))
        except (CaptureError, ArgumentError):
            continue
        drawn += 1
    # Most are read: otherwise little was tried.
    assert drawn > 20
