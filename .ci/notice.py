# NOTICE: what the native module links in, under which licence, with the texts that go with copies.
# Usage: .ci/notice.py >NOTICE (make notice), or --check: whether NOTICE is what it would write

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MANIFEST = "native/python/Cargo.toml"
TARGET = "x86_64-unknown-linux-gnu"
# Of those that a crate leaves to choose from, the first of these is taken.
TAKEN = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "CDDL-1.0")
HEAD = """\
netcost is under the Apache License 2.0 (LICENSE).

Its native module is linked with the Rust crates below, and with Rust's standard library, by the
Rust project's contributors. Of that, and of each crate that leaves a choice, the Apache License 2.0
is taken where it is one of them. Nothing of any crate was changed.

The source of inferno, by Jon Gjengset and contributors, is at https://github.com/jonhoo/inferno.
Each flame graph that `netcost flame` writes as SVG contains inferno's script for search and zoom.
"""
RULE = "-" * 80


def linked() -> list[dict[str, Any]]:
    # Without what is used to build only: build scripts and macros.
    words = f"cargo metadata --locked --format-version 1 --filter-platform {TARGET}"
    said = subprocess.run(
        [*words.split(), "--manifest-path", MANIFEST], check=True, capture_output=True
    ).stdout
    metadata = json.loads(said)
    packages = {one["id"]: one for one in metadata["packages"]}
    needed = {one["id"]: one["deps"] for one in metadata["resolve"]["nodes"]}
    found: dict[str, Any] = {}
    waiting = [one for one, package in packages.items() if package["name"] == "netcost-python"]
    while waiting:
        one = waiting.pop()
        if one in found or any("proc-macro" in of["kind"] for of in packages[one]["targets"]):
            continue
        found[one] = packages[one]
        kept = (of for of in needed[one] if any(kind["kind"] is None for kind in of["dep_kinds"]))
        waiting += [of["pkg"] for of in kept]
    crates = (package for package in found.values() if package["source"] is not None)
    return sorted(crates, key=lambda package: (package["name"], package["version"]))


def taken(crate: dict[str, Any]) -> list[str]:
    # What its licence comes to: of A OR B one, of A AND B both.
    expression = crate["license"].replace("/", " OR ").replace("(", "").replace(")", "")
    every = [part.strip().split(" WITH ")[0] for part in expression.split(" AND ")]
    chosen = []
    for part in every:
        offered = [one.strip().split(" WITH ")[0] for one in part.split(" OR ")]
        chosen += [next(one for one in TAKEN if one in offered)]
    return chosen


def texts(crate: dict[str, Any], licences: list[str]) -> Iterator[str]:
    for file in sorted(Path(crate["manifest_path"]).parent.iterdir()):
        name = file.name.upper()
        is_licence = name.startswith(("LICENSE", "COPYING")) and licences != ["Apache-2.0"]
        if is_licence or name.startswith("NOTICE"):
            text = file.read_text(encoding="utf-8").strip()
            # LICENSE has that one.
            if not text.startswith("Apache License"):
                yield text


def notice() -> str:
    by_licence, by_text = defaultdict(list), defaultdict(list)
    for crate in linked():
        name, licences = f"{crate['name']} {crate['version']}", taken(crate)
        by_licence[" and ".join(licences)].append(name)
        for text in texts(crate, licences):
            by_text[text].append(name)
    parts = [HEAD]
    for licence, names in sorted(by_licence.items()):
        parts.append(f"Under {licence}:\n" + "".join(f"  {name}\n" for name in names))
    for text, names in by_text.items():
        parts.append(f"{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    made = notice()
    if sys.argv[1:] == ["--check"]:
        sys.exit(
            Path("NOTICE").read_text(encoding="utf-8") != made and "NOTICE is old: make notice"
        )
    sys.stdout.write(made)
