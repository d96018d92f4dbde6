# What a base installation answers: without numpy, pandas and whatever else an extra brings.

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple, get_args

from netcost_analysis.errors import EXTRAS
from netcost_analysis.timeline.by import By
from support.host import ROOT
from support.kept import kept

SAMPLES = ROOT / "sample-data"
NIC, SAMPLED = str(SAMPLES / "nic-stolen-time"), str(SAMPLES / "io-sizes/udp-64.netcost.tar.zst")
# One process runs them all, and finds none of the extras' modules.
BASE = """
import contextlib, io, json, sys
asked, absent = json.load(sys.stdin)
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
from netcost_analysis.cli.main import main
ran = []
for words in asked:
    sys.argv, status = ["netcost", *words], 0
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                main()
            except SystemExit as stop:
                status = stop.code or 0
    ran.append([status, out.getvalue(), err.getvalue()])
json.dump(ran, sys.stdout)
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def in_base(asked: list[list[str]]) -> list[Ran]:
    absent = [module for modules in EXTRAS.values() for module in modules]
    done = subprocess.run(
        [sys.executable, "-c", BASE],
        input=json.dumps([asked, absent]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [Ran(*one) for one in json.loads(done.stdout)]


def check(asked: list[list[str]]) -> None:
    for words, ran in zip(asked, in_base(asked), strict=True):
        assert ran.code == 0, (words, ran.err)
        assert ran.out, words


# Of the second the kernel counted more than was recorded, and some of its time is nobody's. Every
# form is printed, and every way to group.
def test_ledger_and_stolen() -> None:
    asked = []
    for sample, start in (("nic-stolen-time", "3.5"), ("stolen-time-tcp.netcost.tar.zst", "0.5")):
        path = str(SAMPLES / sample)
        # While openssl ran.
        window = ["--start", start, "--end", "4", "--cpu", "0"]
        tid = next(row.tid for row in kept(path).timeline().owned_by() if row.comm == "openssl")
        asked += [["stolen", path, *words] for words in ([], window, ["--victim", str(tid)])]
        asked += [["stolen", path, "--victim", "openssl", "--json"]]
        asked += [["ledger", path, *words] for words in (window, [*window, "--json"])]
    nic = ["ledger", NIC, "--start", "3.5", "--end", "4", "--cpu", "0"]
    check([*asked, *([*nic, "--by", by] for by in get_args(By)[1:])])


# Whose processes a service, and whose a recorder's are, the forks say.
def test_stolen_by_what_was_forked() -> None:
    paths = ("attached-service.netcost.tar.zst", "nic-stolen-time/trace.perf.data")
    check([["stolen", str(SAMPLES / path)] for path in paths])


def test_info_functions_flame_events_and_view(tmp_path: Path) -> None:
    asked = [["functions", SAMPLED, *words] for words in ([], ["--user"], ["--cpu", "0"])]
    asked.append(["functions", SAMPLED, "--start", "0.2", "--end", "0.6"])
    # With and without softnet_stat of both sides; an experiment.
    asked += [["info", path] for path in (NIC, str(SAMPLES / "veth-stolen-time"))]
    asked.append(["info", str(SAMPLES / "io-sizes")])
    asked += [["events", SAMPLED, "cpu-clock", *words] for words in ([], ["--start", "0.4"])]
    asked.append(["events", NIC, "napi:napi_poll", "--limit", "9"])
    asked = [[*words, *form] for words in asked for form in ([], ["--json"])]
    asked.append(["events", SAMPLED, "cpu-clock", "--user"])
    asked += [["view", NIC, "--text"], ["view", NIC, "-o", str(tmp_path / "view.html")]]
    # More segments than a page holds: it takes the longest episodes.
    large = str(SAMPLES / "stolen-time-tcp.netcost.tar.zst")
    asked.append(["view", large, "-o", str(tmp_path / "large.html")])
    for kind, ending in (("stolen", "svg"), ("all", "folded"), ("all", "speedscope.json")):
        asked.append(["flame", SAMPLED, "--kind", kind, "-o", str(tmp_path / f"x.{ending}")])
    asked += [["mask", SAMPLED, str(tmp_path / "masked.tar.zst")], ["kit", str(tmp_path / "kit")]]
    check(asked)


def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    named = {"report": "report", "fleet": "fleet"}
    out = ["-o", str(tmp_path / "made.html")]
    asked = [
        ["ask", "poll_sizes", NIC],
        ["compare", NIC, NIC],
        ["convert", NIC, "-o", str(tmp_path / "tables")],
        ["convert", NIC, "-o", str(tmp_path / "x.perfetto-trace")],
        ["energy", NIC],
        ["events", NIC, "napi:napi_poll", "-o", str(tmp_path / "polls.csv")],
        ["flame", SAMPLED, "--base", SAMPLED, "-o", str(tmp_path / "made.svg")],
        ["fleet", NIC, "-o", str(tmp_path / "answers")],
        ["fleet-report", str(SAMPLES / "fleet")],
        ["report", NIC, *out],
        ["sweep", str(SAMPLES / "datapath-sweep")],
    ]
    for words, ran in zip(asked, in_base(asked), strict=True):
        assert ran.code == 1, words
        assert ran.err.count("\n") == 1, ran.err
        extra = named.get(words[0], "analysis")
        command = re.escape(f"pip install 'netcost-analysis[{extra}]'")
        assert re.fullmatch(f"netcost: {words[0]} needs \\w+: {command}\n", ran.err), ran.err
    assert list(tmp_path.iterdir()) == []


# The distributions of an extra, and the modules that errors.py knows it by.
def test_extras_are_those_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras, modules = project["optional-dependencies"], {"markdown-it-py": "markdown_it"}
    base = {re.split("[>=]", one)[0] for one in project["dependencies"]}
    assert base == {"click", "msgspec", "rich", "tqdm"}
    for extra, brings in EXTRAS.items():
        names = [re.split("[>=]", one)[0].lower() for one in extras[extra]]
        own = {modules.get(name, name) for name in names if not name.startswith("netcost")}
        assert own <= {module.lower() for module in brings}, extra
    assert set(extras) == {*EXTRAS, "all"}
