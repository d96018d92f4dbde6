# A comparison's write-up: the verdict first, 72 columns, the same words in every form; names of
# strangers are names in each form. The texts of samples: tests/golden/write_ups.console.

import re
import shlex
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.report.plain import continued, cut, paragraphs, parameters, shell, told_apart
from netcost_analysis.report.write_up import WriteUp
from support.compared import recorded
from support.host import ROOT
from support.hostile import NAMES
from support.kept import kept_experiment

COMMAND = ("netcost", "compare", "sample-data/nic-guest")
WIDTH = 72


# Of two kernels, each recorded once.
@cache
def compared() -> Comparison:
    return netcost.compare(
        kept_experiment("nic-guest"),
        where={"flows": 1},
        base_where={"kernel": "6.1"},
        new_where={"kernel": "6.12"},
    )


@cache
def written() -> WriteUp:
    return WriteUp(compared(), COMMAND)


def test_a_mail_has_72_columns_and_nothing_bold() -> None:
    text = written().text()
    # A word that is longer, as a shell takes words, is there to be copied.
    wide = [line for line in text.splitlines() if len(line) > WIDTH]
    assert [line for line in wide if len(shlex.split(line.removesuffix(" \\"))) > 1] == []
    assert "**" not in text
    assert not re.search(r"[^\n -\U0010ffff]", text)


def test_the_verdict_is_first_in_every_form() -> None:
    up = written()
    verdict = up.answers["changes"].words.partition("**")[2].partition("**")[0]
    assert paragraphs(up.answers["changes"].words).startswith(paragraphs(verdict)[:40])
    assert up.text().startswith(paragraphs(up.answers["changes"].words)[:60])
    body = up.markdown().partition("\n\n")[2]
    assert body.startswith(f"**{verdict}**")


def test_every_title_of_evidence_names_the_sides() -> None:
    titles = [one.title for one in written().sections]
    sides = [one.partition(": ")[2] for one in titles if ": " in one]
    assert len(sides) == len(titles) - 4
    assert len(set(sides)) == 1


def test_the_figures_are_the_answers() -> None:
    up = written()
    rows = [line for line in up.text().splitlines() if line.endswith("_per_packet")]
    metrics = up.answers["changes"].frame["metric"]
    assert {line.split()[-1] for line in rows} == set(metrics[metrics.str.endswith("_per_packet")])
    spread = up.answers["observations"].tables["spread"].set_index(["metric", "side"])
    deviation = spread.loc[("network_ns_per_packet", "base"), "deviation_share"]
    [row] = [line for line in rows if "%" in line and line.endswith(" network_ns_per_packet")][:1]
    assert f"±{100 * deviation:>3.0f}%" in row


def test_each_note_is_there_once() -> None:
    up = written()
    notes = up.answers["changes"].notes
    assert notes
    for note in notes:
        assert up.text().replace("\n", " ").count(note[1:]) == 1
        assert up.markdown().count(note[1:]) == 1


def test_it_ends_with_what_makes_it_again() -> None:
    experiment = kept_experiment("nic-guest")
    up = WriteUp(compared(), COMMAND, [experiment])
    end = up.text().partition("To do this again\n----------------\n\n")[2]
    commands = [" ".join(one.replace("\\\n", " ").split()) for one in end.split("\n\n")[:-1]]
    assert commands == [" ".join(COMMAND), experiment.experiment.command]
    # Without the experiment: how its recordings were made.
    assert len(written().commands) == 1 + 1


def test_a_page_has_its_pictures_and_one_table_of_changes(tmp_path: Path) -> None:
    up = written()
    up.write(str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    answers = [one.answer for one in up.sections if one.answer and one.answer.refusal is None]
    panels = [
        panel
        for answer in answers
        for picture in answer.question.pictures.values()
        for panel in picture.panels(answer)
    ]
    assert page.count('src="data:image/png;base64,') == len(panels) >= 2
    assert page.count("network_softirq_ns_per_packet") == 1
    assert ": 1 run," in page
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", page)
    assert f"<title>{up.title}</title>" in page


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
        labels = {f"label {number} {one}": one for number, one in enumerate(NAMES)}
        sides.append(netcost.run_set(path, labels={**labels, "side": f"{name} {NAMES[0]}"}))
    return netcost.compare(*sides)


# The one list of forms, so that a new one is tested as these are.
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_names_of_strangers_are_names(hostile: Comparison, form: str) -> None:
    up = WriteUp(hostile, ["netcost", "compare", *NAMES])
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
    flat = re.sub(r"[\s\\]+", " ", read)
    for name in NAMES:
        # Long ones are cut where there is no room; what was given in the command is whole.
        wanted = re.sub(r"[\s\\]+", " ", shown(name)).replace("'", "")
        assert wanted in flat.replace("'", "").replace('"', ""), name
    titles = [line for line in made.splitlines() if line.startswith("#")]
    assert "# heading" not in titles


def test_names_are_cut_in_the_middle_and_stay_apart() -> None:
    assert cut("network_softirq_ns_per_transaction", 20) == "network_s..ansaction"
    assert cut("short", 20) == "short"
    names = [f"received_by_{word}_of_the_second_device" for word in ("alpha", "beta", "gamma")]
    short = told_apart(names, 20)
    assert len(set(short.values())) == 3
    assert all(len(one) <= 20 for one in short.values())


def test_a_command_breaks_where_a_shell_lets_it() -> None:
    command = "record --load 'one two three' " + " ".join(f"--option-{n}" for n in range(9))
    lines = continued(command).split(" \\\n")
    assert all(len(line) <= WIDTH - 2 for line in lines)
    assert " ".join(line.strip() for line in lines) == command
    assert "'one two three'" in lines[0]


@pytest.mark.parametrize("words", [NAMES, ("a b", "\u00e9\x85", "it's\t\\")])
def test_a_shell_reads_the_words_that_were_given(words: tuple[str, ...]) -> None:
    line = shell(words)
    assert line.isprintable()
    # $'...' is bash's, and of POSIX since 2024.
    script = f"printf '%s\\0' {line}"
    found = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert found.decode().split("\0")[:-1] == list(words)


def test_parameters_break_after_a_slash() -> None:
    labels = {f"label_number_{n}": f"value_{n}" for n in range(9)}
    lines = parameters(labels).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    text = "".join(line.strip() for line in lines)
    assert text == f"{'/'.join(labels)}:{'/'.join(labels.values())}"
    assert parameters({}) == ""


def test_samples_are_named_as_they_lie() -> None:
    assert (ROOT / COMMAND[-1]).is_dir()
