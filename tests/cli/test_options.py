# Every option of every command, with values that it does not take: what is wrong whatever the
# capture is wrong usage, exit status 2; what only this capture has not is 1.

from pathlib import Path

import click
import pytest

from netcost_analysis.cli.main import cli
from support.compared import recorded
from support.host import ROOT
from support.run_cli import Netcost

NIC = str(ROOT / "sample-data" / "nic-stolen-time")
SWEEP = str(ROOT / "sample-data" / "datapath-sweep")
NOT_SECONDS = (("-1", 2), ("-0.5", 2), ("nan", 2), ("inf", 2), ("soon", 2))
SAMPLES = str(ROOT / "sample-data" / "io-sizes" / "tcp-64.netcost.tar.zst")
WRONG = {
    "window": (("nothing", 2), ("", 2)),
    "start": (*NOT_SECONDS, ("900", 1)),
    "end": (*NOT_SECONDS, ("0", 2)),
    "cpus": (("-1", 2), ("one", 2), ("7", 1)),
    "limit": (("-1", 2), ("few", 2)),
    "by": (("task", 2),),
    "label": (("one", 2),),
    "git": (("nothing", 2),),
    # Texts of a mail: whatever they are, it has them.
    **dict.fromkeys(("base_commit", "new_commit", "reported_by", "closes"), (("", 2),)),
    "options": (("by", 2), ("nothing=1", 2), ("by=nothing", 2)),
    "table": (("nothing", 2),),
    "event": (("nothing", 1), ("branches", 1)),
    "rules": (("nothing", 2), (NIC, 2), (f"{NIC}/manifest.json", 1)),
    "columns": (("nothing", 2), ("", 2)),
    "output": (("x.txt", 2), ("x", 2)),
    "notebook": (("nothing", 2),),
    "experiment": (("nothing", 1),),
    "victim": (("nobody", 1),),
    # A dataset has no counters.
    "victims": (("nobody", 2),),
    "buffer": (("nothing", 1),),
    "victim_output": (("nothing", 1), (f"{NIC}/manifest.json", 1), (NIC, 1)),
    "baseline_output": (("nothing", 1), (f"{NIC}/manifest.json", 1), (NIC, 1)),
    "kernel_config": (("nothing", 1), (f"{NIC}/manifest.json", 1), (NIC, 1)),
    "before": (("nothing", 1), (f"{NIC}/manifest.json", 1), (NIC, 1)),
    "after": (("nothing", 1), (f"{NIC}/manifest.json", 1), (NIC, 1)),
    "victim_cpu": (("-1", 2), ("one", 2)),
    "tsc_hz": (("2400", 2), ("nan", 2), ("-1", 2), ("fast", 2), ("2.4e9", 1)),
    "kallsyms": (("nothing", 1), (f"{NIC}/manifest.json", 1), (NIC, 1)),
    "symbols": (("nothing", 1), (f"{NIC}/manifest.json", 1)),
    "map_path": (("no/where", 1),),
    "name": (("a/b", 2), ("", 2)),
    "base_more": (("nothing", 1),),
    "new_more": (("nothing", 1),),
    "where": (("kernel", 2), ("kernels=6", 1), ("kernel=6", 1)),
    "base_where": (("kernel", 2), ("kernels=6", 1), ("kernel=6", 1)),
    "new_where": (("kernel", 2), ("kernels=6", 1), ("kernel=6", 1)),
    "port": (("-1", 2), ("65536", 2), ("http", 2), ("", 2)),
    "width": (("49", 2), ("-1", 2), ("wide", 2), ("1000000", 2)),
    "per": (("packets", 2), ("transaction", 1)),
    "primary": (("nothing", 1),),
    "client": (("nobody", 1),),
    "server": (("nobody", 1),),
    "unjudged": (("maybe", 2), ("", 2)),
    "conditions": (("nothing", 2), ("nothing > 5", 2), ("batch_mean > five", 2)),
    "sweep output": (("x.csv", 2), ("x", 2)),
    "compare output": (("x.csv", 2), ("x", 2)),
    "convert output": ((NIC, 2), (f"{NIC}/manifest.json", 2), ("no/where", 1)),
    "tables": (("nothing", 2), ("", 2), ("segments,nothing", 2)),
    "events": (("nothing", 1), ("napi:nothing", 1), (",", 2)),
    "samples": (("nothing", 1), (",", 2)),
    "fleet output": ((NIC, 2), (f"{NIC}/manifest.json", 2)),
    "fleet-report output": (("x.csv", 2), ("x", 2)),
    "scheduler": (("nothing://there", 1),),
    "workers": (("-1", 2), ("one", 2), ("0", 2)),
    "flame kind": (("synchronous", 2), ("", 2)),
    "flame event": (("nothing", 1), ("", 1)),
    "flame cpu": (("-1", 2), ("one", 2), ("7", 1)),
    "flame base": (("nothing", 1), (NIC, 1), (f"{NIC}/manifest.json", 1)),
}
# What a command needs to get as far as its options.
WORDS = {
    "ask": ("stolen", NIC),
    "convert": (NIC, "-o", "out"),
    "sweep": (SWEEP,),
    "fleet": (NIC, "-o", "out"),
    "functions": (SAMPLES,),
    "events": (NIC, "irq:softirq_entry"),
    "flame": (SAMPLES, "-o", "out.svg"),
    "mask": (NIC, "out.tar.zst"),
    "report": (NIC, "-o", "out.html"),
    "view": (NIC, "--text"),
}


CONTEXT = click.Context(cli)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("compared")
    return [str(recorded(folder / f"{seed}.data", seed, packets=50)) for seed in (1, 2)]


@pytest.mark.parametrize("command", cli.list_commands(CONTEXT))
def test_values_that_an_option_does_not_take(
    netcost: Netcost,
    compared: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    declared = cli.get_command(CONTEXT, command)
    assert declared is not None
    words = compared if command == "compare" else WORDS.get(command, (NIC,))
    for option in declared.params:
        if not isinstance(option, click.Option) or option.is_flag:
            continue
        for value, status in WRONG.get(f"{command} {option.name}") or WRONG[str(option.name)]:
            run = netcost(command, *words, option.opts[-1], value)
            assert (run.code, run.out) == (status, ""), (option.opts, value)
            assert "bug" not in run.err
            if status == 1:
                assert run.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
