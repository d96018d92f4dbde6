# The command line, run inside the test's own process.

import json
import sys
from typing import Any

import pytest

from netcost_analysis.cli import main as cli


class Run:
    def __init__(self, code: object, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


class Netcost:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> Run:
        self._monkeypatch.setattr(sys, "argv", ["netcost", *words])
        code: object = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        return Run(code, *self._capsys.readouterr())
