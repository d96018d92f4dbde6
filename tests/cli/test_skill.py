# SKILL.md names commands, questions and fields that there are.

import re

import click
import pytest

from netcost_analysis.answers.registry import questions
from netcost_analysis.capture.accounting import Regime
from netcost_analysis.cli.main import cli
from netcost_analysis.schema import columns
from support.host import ROOT
from support.run_cli import Netcost

SKILL = (ROOT / "SKILL.md").read_text()
NIC = str(ROOT / "sample-data" / "nic-stolen-time")
SPANS = re.findall(r"`([^`\n]+)`", SKILL)
COMMANDS = sorted({one for one in SPANS if one.startswith("netcost ")})
# Asked of samples, of two sides, of a folder: docs/cli.md runs such.
OTHERS = re.compile(r"functions|packet_components|compare|sweep|fleet|QUESTION")


@pytest.mark.parametrize("line", [one for one in COMMANDS if not OTHERS.search(one)])
def test_its_commands_run(netcost: Netcost, line: str) -> None:
    _, *words = line.replace("PATH", NIC).replace("NAME", "openssl").split()
    run = netcost(*words)
    assert (run.code, bool(run.out)) == (0, True), run.err


@pytest.mark.parametrize("line", COMMANDS)
def test_its_commands_have_their_options(line: str) -> None:
    _, name, *words = line.split()
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    known = {option for one in command.get_params(context) for option in one.opts} | {"--help"}
    assert {word for word in words if word.startswith("-")} <= known
    if name == "ask" and words[0].islower() and not words[0].startswith("-"):
        assert words[0] in questions()


def test_its_fields_and_files_are_there() -> None:
    fields = {one for one in SPANS if re.fullmatch(r"[a-z_]+_(ns|share|low|high)", one)}
    assert len(fields) > 5
    assert fields <= set(columns())
    assert {"tick", "virt_gen", "virt_native", "irq_time"} == set(Regime.__args__) & set(SPANS)
    linked = re.findall(r"\]\(([^)#]+)\)", SKILL) + re.findall(r"docs/[\w.]+\w", SKILL)
    assert all((ROOT / one).is_file() for one in linked)
