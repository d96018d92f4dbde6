# A comparison's write-up: in every form names of strangers are names; 72 columns in a mail. What it
# says of samples: tests/golden/write_ups.console, compare.console.

import json
import re
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import east_asian_width

import pytest
from markdown_it import MarkdownIt

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.display.metrics import deviation
from netcost_analysis.display.names import cut
from netcost_analysis.display.tables import Table
from netcost_analysis.questions.comparison.conditions import cases
from netcost_analysis.report.case_table import CaseTable
from netcost_analysis.report.mail_text import distinct_short_names, narrow, parameters
from netcost_analysis.report.shell_text import continued, shell_line
from netcost_analysis.report.write_up import WriteUp
from netcost_analysis.units import signed_share
from support import run_sets
from support.compared import recorded
from support.host import ROOT, SAMPLES
from support.kept import kept_experiment
from support.run_cli import Netcost
from support.stacks import capture_of, stack
from support.texts import HOSTILE

WIDTH = 72
BASE, NEW = (
    str(SAMPLES / "io-sizes" / f"{name}.netcost.tar.zst") for name in ("tcp-1024", "tcp-16384")
)


def test_a_page_has_its_pictures_and_one_table_of_changes() -> None:
    sides = {"base_where": {"kernel": "6.1"}, "new_where": {"kernel": "6.12"}}
    compared = netcost.compare(kept_experiment("nic-guest"), where={"flows": 1}, **sides)
    up = WriteUp(compared, ("netcost", "compare", "sample-data/nic-guest"))
    page = up.html()
    answers = [one.answer for one in up.sections if one.answer and one.answer.refusal is None]
    panels = [
        panel
        for answer in answers
        for picture in answer.question.pictures.values()
        for panel in picture.panels(answer)
    ]
    assert page.count('src="data:image/png;base64,') == len(panels) >= 2
    assert page.count("network_softirq_ns_per_packet") == 1
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", page)
    assert f"<title>{escape(up.title, quote=False)}</title>" in page
    assert max(map(len, up.text().splitlines())) <= WIDTH
    # The same words, and the verdict first: the work, who paid, what speaks against it.
    verdict = up.verdict.strip()
    assert up.markdown().partition("\n\n")[2].startswith(verdict)
    work, paid, against = verdict.split("\n\n")
    assert "packets a second" in work
    assert "CPU time" in paid
    assert "warning" in against
    assert up.text().startswith("Subject: ")
    # Every form has how far each side's observations are apart.
    forms = [" ".join(form.split()) for form in (up.text(), up.markdown(), page)]
    changes = up.answers["changes"].frame
    for one in changes["new_deviation_share"].map(deviation):
        assert all(" ".join(one.split()) in form for form in forms)
    # And which way it went.
    worse = changes.loc[changes["outcome"] == "worse", "metric"].to_list()
    assert worse
    assert f"worse: {', '.join(worse)}" in forms[0]
    # The machine, from the bundles.
    assert "- NIC eth0: virtio_net 1.0.0; mtu 1500; queues 2 combined" in up.text()


class Seen(HTMLParser):
    # The tags of a page, and what a reader reads.
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(html: str) -> Seen:
    made = Seen()
    made.feed(html)
    return made


def shown(name: str) -> str:
    # A name as a reader sees it, on one line, nothing left that steers a terminal.
    flat = name.replace("\n", " ")
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in flat)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("hostile")
    sides = []
    for seed, name in enumerate(("<i>base</i> a|b", "-o `new`")):
        path = recorded(folder / f"{name.replace('/', '_')}.data", seed, packets=300)
        labels = {f"label {number} {one}": one for number, one in enumerate(HOSTILE)}
        sides.append(netcost.run_set(path, labels={**labels, "side": f"{name} {HOSTILE[0]}"}))
    return netcost.compare(*sides)


# The one list of forms, so that a new one is tested as these are.
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_names_of_strangers_are_names(hostile: Comparison, form: str) -> None:
    up = WriteUp(hostile, ["netcost", "compare", *HOSTILE])
    made = getattr(up, form)()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", made)
    if form == "text":
        read = made
    else:
        html = made
        if form == "markdown":
            # As a reader that takes tags would show it.
            html = MarkdownIt("commonmark", {"html": True}).render(made)
        found = seen(html)
        assert not found.tags & {"b", "i", "em", "a", "script"}
        assert "heading" not in re.findall(r"<h\d[^>]*>([^<]*)</h\d>", html)
        read = found.text
    # A shell joins what a backslash at the end of a line parts.
    read = re.sub(r"(?<! )'?\\\n\$?'?", "", read) if form == "text" else read
    flat = re.sub(r"[\s\\]+", " ", read)
    for name in HOSTILE:
        # Long ones are cut where there is no room; what was given in the command is whole.
        wanted = re.sub(r"[\s\\]+", " ", shown(name)).replace("'", "")
        assert wanted in flat.replace("'", "").replace('"', ""), name
    assert "# heading" not in made.splitlines()


def test_names_are_cut_in_the_middle_and_stay_apart() -> None:
    assert cut("network_softirq_ns_per_transaction", 20) == "network_s..ansaction"
    assert cut("short", 20) == "short"
    names = [f"received_by_{word}_of_the_second_device" for word in ("alpha", "beta", "gamma")]
    short = distinct_short_names(names, 20)
    assert len(set(short.values())) == 3
    assert all(len(one) <= 20 for one in short.values())


def test_a_command_breaks_where_a_shell_lets_it() -> None:
    command = "record --load 'one two three' " + " ".join(f"--option-{n}" for n in range(9))
    lines = continued(command, WIDTH).split(" \\\n")
    assert all(len(line) <= WIDTH - 2 for line in lines)
    assert " ".join(line.strip() for line in lines) == command
    assert "'one two three'" in lines[0]


@pytest.mark.parametrize("words", [HOSTILE, ("a b", "\u00e9\x85", "it's\t\\")])
def test_a_shell_reads_the_words_that_were_given(words: tuple[str, ...]) -> None:
    line = shell_line(["printf", "%s\\0", *words])
    assert line.isprintable()
    # $'...' is bash's, and of POSIX since 2024.
    for script in (line, *(continued(line, width) for width in (24, 40, WIDTH))):
        found = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
        assert found.decode().split("\0")[:-1] == list(words)


@pytest.mark.parametrize(
    "words",
    [
        "a" * 300,
        f"'{'it is ' * 50}'",
        f"$'{chr(92)}001{'z' * 200}{chr(92)}047'",
        f'"{"x $HOME " * 40}"' + "tail" * 30,
        f"--name={'/folder' * 40}'{'; ' * 80}'\\''end'",
    ],
)
def test_a_long_word_breaks_where_a_shell_reads_it_the_same(words: str) -> None:
    command = f"printf '%s\\0' {words} next"
    lines = continued(command, WIDTH)
    assert max(map(len, lines.splitlines())) <= WIDTH
    whole, broken = (
        subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
        for script in (command, lines)
    )
    assert broken == whole


def test_parameters_break_after_a_slash() -> None:
    labels = {f"label_number_{n}": f"value_{n}" for n in range(9)}
    lines = parameters(labels).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    text = "".join(line.strip() for line in lines)
    assert text == f"{'/'.join(labels)}:{'/'.join(labels.values())}"
    assert parameters({}) == ""


def test_refused_sides_have_no_verdict(tmp_path: Path) -> None:
    sides = [
        run_sets.recorded(tmp_path / model, host={"cpu_model": model}) for model in ("EPYC", "Xeon")
    ]
    up = WriteUp(run_sets.compared(*sides), ("netcost", "compare"))
    # What does not depend on the processor comes first.
    work, costs, _ = up.verdict.split("\n\n")
    assert "ackets a second" in work
    assert up.title.startswith("packets a second ")
    assert "not compared" in costs
    assert costs.endswith("**")
    assert "**No verdict: " in costs
    # Nobody says what moved, or by how much a unit of work costs more.
    assert "moved" not in up.verdict
    assert not re.search(r"[-+]\d[\d.,]* %", costs)
    rows = [line.split() for line in up.text().splitlines() if " network_ns_per" in line]
    assert [("refused" in row) for row in rows] == [True, True]
    # Of metrics that are compared, those that are not are counted.
    changes = run_sets.compared(*sides, primary="packets_per_s").ask.comparison.changes()
    count = (changes.frame["differs"] == "refused").sum()
    assert changes["refusals"] == ()
    assert f", {count} not" in changes.words
    # A subject is about the metric that was named.
    named = WriteUp(run_sets.compared(*sides, primary="network_ns_per_packet"), ("netcost",))
    assert "CPU time" in named.title


# Recordings of samples alone: components in the place of the ledger's changes.
def test_samples_alone_are_compared_by_components(netcost: Netcost, tmp_path: Path) -> None:
    run = netcost("compare", BASE, NEW)
    assert (run.code, run.err) == (0, "")
    text = " ".join(run.out.split())
    assert "samples alone (note):" in text
    assert not re.search(r"No verdict|CPU time went", text)
    rows = [line for line in run.out.splitlines() if line.startswith("copy ")]
    assert rows[0].split()[1] == "ns"
    for ending, picture in ((".md", ""), (".html", "data:image/png")):
        target = tmp_path / f"w{ending}"
        assert netcost("compare", BASE, NEW, "-o", str(target)).code == 0
        written = target.read_text()
        assert all(one in written for one in ("each packet", "interrupts to other", picture))
    found = netcost("compare", BASE, NEW, "--json").json
    assert found["verdict"].startswith("From ")
    assert (found["changes"], found["cost_tree"]) == ([], None)
    components = found["others"]["component_changes"]
    # The subject has the one figure: what all components cost, which those of the table add up to.
    [whole] = components["primary_rows"]
    changes = components["changes"]
    assert signed_share(whole["change"]) in found["subject"]
    assert whole["base"] == pytest.approx(sum(row["base"] for row in changes))
    assert {row["weight_unit"] for row in changes} == {"ns"}
    declared = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    assert set(found) == set(declared["$defs"]["Document"]["properties"])


# Without packets that were counted there is neither.
def test_bare_recordings_have_nothing_to_compare(netcost: Netcost, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        capture_of(Path(path), stack("tcp_ack"))
    run = netcost("compare", *paths)
    assert (run.code, len(run.err.splitlines())) == (1, 1)


def test_components_stand_behind_the_ledgers_changes(netcost: Netcost, tmp_path: Path) -> None:
    base = SAMPLES / "stolen-time-functions.netcost.tar.zst"
    other = tmp_path / "other.netcost.tar.zst"
    other.write_bytes(base.read_bytes())
    text = netcost("compare", str(base), str(other)).out
    assert text.index("CPU time went") < text.index("Component changes")


# One column that is too wide: only what is cut loses anything.
def test_what_fits_a_narrow_table_keeps_its_blanks() -> None:
    lines = narrow(Table(["name"], [["two  blanks"], ["x" * (WIDTH + 9)]])).splitlines()
    assert lines[1] == "two  blanks"
    assert len(lines[2]) == WIDTH


# However long the names of folders, labels, commands, tasks, devices and metrics are, and where
# their letters take two columns.
@pytest.mark.parametrize("long", ["x" * 120, "網卡" * 35])
def test_a_mail_has_72_columns_whatever_the_names_are(tmp_path: Path, long: str) -> None:
    def too_wide(text: str) -> list[str]:
        return [
            line
            for line in text.splitlines()
            if sum(1 + (east_asian_width(char) == "W") for char in line) > WIDTH
        ]

    polls = run_sets.polling(device=long, task=run_sets.h.Task(7, long))
    sides = [
        run_sets.recorded(
            tmp_path / f"{name}{long}",
            polls,
            labels={long: f"{name}{long}", f"shared {long}": long},
            command=f"{long} --{long}",
            victim={"command": f"{long} '{long}'"},
            host={"cpu_model": long},
        )
        for name in ("a", "b")
    ]
    compared = run_sets.compared(*sides, label=(f"old {long}", f"new {long}"))
    up = WriteUp(compared, ["netcost", "compare", f"/{long}/{long}", f"it's {long}"])
    assert too_wide(up.text()) == []
    rows = netcost.RunSet(
        netcost.Run(f"{case}{load}{at}", {long: f"{case}{long}", "load": f"{load}{long}"},
                    {f"a_{long}": 1.0 + at + ord(case)})
        for case in "ab" for load in "cd" for at in range(6)
    )  # fmt: skip
    base = f"a{long}"
    table = CaseTable(cases(rows, long, base), long, base, ["netcost", "compare", long])
    assert too_wide(table.text()) == []
