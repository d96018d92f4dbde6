# The functions of the package that a command enters, imports excluded: how far it is from what a
# user types to the line that computes a figure.
#     python -m benchmarks.stops stolen CAPTURE

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import netcost_analysis
from netcost_analysis.cli.main import main

_PACKAGE = str(Path(netcost_analysis.__file__).parent)


class _Noted:
    """What was entered, by file and name. What runs while a module is imported does not count."""

    def __init__(self) -> None:
        self.entered: dict[CodeType, None] = {}
        self._importing = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._importing and code.co_filename.startswith(_PACKAGE):
            self.entered[code] = None

    def named(self) -> Iterator[tuple[str, str]]:
        for code in self.entered:
            # Comprehensions and lambdas are lines of the function that they stand in.
            if not code.co_name.startswith("<"):
                yield str(Path(code.co_filename).relative_to(_PACKAGE)), code.co_qualname


if __name__ == "__main__":
    sys.argv = ["netcost", *sys.argv[1:]]
    noted = _Noted()
    sys.setprofile(noted)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.setprofile(None)
    stops = list(noted.named())
    for file, name in stops:
        print(f"{file}: {name}")
    print(f"{len(stops)} functions in {len({file for file, _ in stops})} files")
