# Plants each fault of faults.toml in a copy of the repository and says which test catches it: that
# of caught.tsv first, then the crate's or the nearest folders', then, with all that are left
# planted at once, the whole gate. A test that fails without the fault too catches nothing.
# Usage: python tests/mutants/run.py [--write] [--nearest] [--work FOLDER] [ID...]
# Ends with 1 if a fault is caught later than in caught.tsv, or not at all.

import argparse
import csv
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TABLE = HERE / "caught.tsv"
SHARED = ROOT.parent / "shared"
LANES = {"gate": "not slow and not live", "live": "not slow and live", "slow": "slow"}
NEAR = {
    "native/src/ledger": ["tests/ledger", "tests/promises", "tests/questions/stolen_time"],
    "native/src/perf": ["tests/formats/perf_data", "tests/formats"],
    "native/src/ring": ["tests/formats/trace_dat", "tests/formats"],
    "native/src/text": ["tests/formats/text", "tests/formats"],
    "native/src/pairing": ["tests/questions/batches", "tests/questions/stolen_time"],
    "native/src/mask": ["tests/masking"],
    "netcost_analysis/questions": ["tests/questions", "tests/cli"],
    "netcost_analysis/comparison": ["tests/comparison", "tests/questions/comparison"],
    "netcost_analysis/parsers": ["tests/parsers"],
    "netcost_analysis/snapshots": ["tests/parsers"],
    "capture/lab": ["tests/lab"],
    "capture": ["tests/kit"],
}
# Quick to build, quick enough to run.
PROFILE = {"package.netcost.opt-level": 1, "package.netcost.codegen-units": 16}
IS_PLANTED = """
#[inline]
fn fault(number: u32) -> bool {
    static PLANTED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let said = || std::env::var("PLANTED_FAULTS").ok().and_then(|bits| bits.parse().ok());
    PLANTED.get_or_init(|| said().unwrap_or(0)) >> number & 1 == 1
}
"""
CARGO = "cargo test "
OPTIONS = ("-v", "-rfE", "--tb=line", "-p", "no:cacheprovider")
LIMIT = ("--timeout", "60", "--timeout-method", "thread")
# What hangs is caught too, by the limit of the gate, or of no word for so long.
SILENT_S = 200
UNIT_TESTS = re.compile(rb"#\[cfg\(test\)\]\n *mod tests.*", re.DOTALL)


class Fault(NamedTuple):
    id: str
    file: str
    old: str
    new: str
    near: Sequence[str] = ()

    @property
    def is_native(self) -> bool:
        return self.file.startswith("native/")

    # Of the topic's folder where it has one, first what names the file.
    def nearest(self, root: Path) -> list[str]:
        if self.near:
            return list(self.near)
        source = max((one for one in NEAR if self.file.startswith(one + "/")), key=len)
        own = f"{NEAR[source][0]}/{Path(self.file).relative_to(source).parts[0]}"
        named = re.compile(rf"\b{Path(self.file).stem}\b")
        found: list[str] = [CARGO] if self.is_native else []
        for folder in [own] if (root / own).is_dir() else NEAR[source]:
            files = sorted((root / folder).rglob("test_*.py"))
            files.sort(key=lambda file: not named.search(file.read_text()))
            found += (str(file.relative_to(root)) for file in files)
        return list(dict.fromkeys(found))


class Caught(NamedTuple):
    lane: str
    test: str


SURVIVED = Caught("none", "")


# The copy that is changed. Its native module has all of the native faults, and PLANTED_FAULTS says
# which of them are planted: so it is built once.
class Tree:
    def __init__(self, work: Path, native: Sequence[Fault]) -> None:
        self.work, self.root, self.log = work, work / "tree", work / "log"
        self.native = [fault.id for fault in native]
        shutil.rmtree(self.root, ignore_errors=True)
        # Where tests look for strangers' captures.
        (work / SHARED.name).unlink(missing_ok=True)
        self.root.mkdir(parents=True)
        (work / SHARED.name).symlink_to(SHARED)
        tracked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(tracked, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
        for name in names.stdout.splitlines():
            if (source := ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, self.root / name, follow_symlinks=False)
        module = "netcost_analysis/_native.abi3.so"
        shutil.copy2(self.built(native) if native else ROOT / module, self.root / module)

    def built(self, native: Sequence[Fault]) -> Path:
        for number, fault in enumerate(native):
            self.plant(fault, f"crate::fault({number})")
        with (self.root / "native" / "src" / "lib.rs").open("a") as library:
            library.write(IS_PLANTED)
        kept = self.work / f"native-{self.key()}.so"
        if not kept.exists():
            self.cargo("build", "--package", "netcost-python")
            if self.status:
                raise SystemExit(f"the native faults do not build: {self.log}")
            built = self.work / "target" / "release" / "lib_native.so"
            subprocess.run(["strip", "-o", kept, built], check=True)
        return kept

    # Its own tests change nothing.
    def key(self) -> str:
        native, key = self.root / "native", hashlib.sha256(repr(PROFILE).encode())
        for file in sorted([*native.glob("src/**/*.rs"), *native.glob("python/**/*.rs")]):
            key.update(UNIT_TESTS.sub(b"", file.read_bytes()))
        key.update((native / "Cargo.lock").read_bytes())
        return key.hexdigest()[:12]

    def cargo(self, *words: str) -> str:
        settings = (f"profile.release.{name}={value}" for name, value in PROFILE.items())
        profile = [word for one in settings for word in ("--config", one)]
        target = ["--target-dir", str(self.work / "target")]
        return self.run(["cargo", words[0], "--release", *target, *profile, *words[1:]], "native")

    # What it says; what hangs is ended.
    def run(self, command: Sequence[str], folder: str = "") -> str:
        given = {"PYTHONPATH": str(self.root), "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": ""}
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.root / folder,
                env={**os.environ, **given, "PYO3_PYTHON": sys.executable},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            while process.poll() is None and time.time() - self.log.stat().st_mtime < SILENT_S:
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        self.status = process.wait()
        return self.log.read_text(errors="replace")

    def plant(self, fault: Fault, condition: str = "") -> None:
        text = (self.root / fault.file).read_text()
        if text.count(fault.old) != 1:
            raise SystemExit(f"{fault.id}: not once in {fault.file}: draw it again")
        self.write(fault.file, text.replace(fault.old, fault.new.replace("FAULT", condition)))

    @contextmanager
    def planted(self, faults: Sequence[Fault]) -> Iterator[None]:
        others = [fault for fault in faults if not fault.is_native]
        before = {name: (self.root / name).read_text() for name in {one.file for one in others}}
        native = (self.native.index(fault.id) for fault in faults if fault.is_native)
        os.environ["PLANTED_FAULTS"] = str(sum(1 << number for number in native))
        try:
            for fault in others:
                self.plant(fault)
            yield
        finally:
            os.environ["PLANTED_FAULTS"] = "0"
            for name, text in before.items():
                self.write(name, text)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.write_text(text)
        # Python compares seconds.
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            compiled.unlink()

    def failing(self, tests: Sequence[str], lane: str, *options: str) -> list[str]:
        names = [test.removeprefix(CARGO) for test in tests if test.startswith(CARGO)]
        paths = [test for test in tests if (self.root / test.split("::")[0]).exists()]
        return (self.failing_in_crate(names) if names and lane == "gate" else []) or (
            self.failing_in_pytest(paths, lane, *options) if paths else []
        )

    # No name means all of them.
    def failing_in_crate(self, names: Sequence[str]) -> list[str]:
        some = ["--", "--exact", *names] if any(names) else []
        said = self.cargo(
            "test", "--package", "netcost", "--lib", "--tests", "--no-fail-fast", *some
        )
        found = re.findall(r"^test (\S+).* (?:\.\.\. FAILED|over 60 seconds)$", said, re.MULTILINE)
        return [CARGO + name for name in dict.fromkeys(found)]

    def failing_in_pytest(self, paths: Sequence[str], lane: str, *options: str) -> list[str]:
        limit = LIMIT if lane == "gate" else ()
        command = [sys.executable, "-u", "-m", "pytest", *OPTIONS, *limit, "-m", LANES[lane]]
        said = self.run([*command, *options, *paths])
        found = re.findall(r"^(?:FAILED|ERROR) (\S+\.py\S*?(?:\[.*?\])?)(?: - .*)?$", said, re.M)
        # None was selected, or the one that is asked for is gone.
        if found or self.status in (0, 4, 5):
            return list(dict.fromkeys(found))
        return re.findall(r"^(tests/\S+::.*?)(?: [A-Z+]+ .*| *)$", said, re.MULTILINE)[-1:]

    # Of `tests`, in order, the first that fails with the fault, twice, and passes without.
    def first(self, fault: Fault, tests: Sequence[str], lane: str) -> str:
        skipped: list[str] = []
        while True:
            with self.planted([fault]):
                found = self.failing(tests, lane, "-x", *(f"--deselect={one}" for one in skipped))
            if not found:
                return ""
            if not self.failing(found[:1], lane):
                with self.planted([fault]):
                    if self.failing(found[:1], lane):
                        return found[0]
            print(f"{found[0]} fails by chance, or always: not by {fault.id}", file=sys.stderr)
            if found[0] in skipped:
                return ""
            skipped += found[:1]


def caught_by(tree: Tree, fault: Fault, tests: Sequence[str], lanes: Sequence[str]) -> Caught:
    found = ((lane, tree.first(fault, tests, lane)) for lane in lanes if tests)
    return next((Caught(lane, test) for lane, test in found if test), SURVIVED)


# All at once, then those that fail, for each fault: until what is left makes nothing fail.
def together(tree: Tree, left: list[Fault]) -> Iterator[tuple[Fault, Caught]]:
    workers = ["-n", str(os.cpu_count()), "--dist", "loadfile"]
    while left:
        with tree.planted(left):
            failed = tree.failing_in_pytest(["tests"], "gate", *workers)
        found = [(one, caught_by(tree, one, failed, ["gate"])) for one in left]
        yield from found
        still = [one for one, caught in found if not caught.test]
        left = still if len(still) < len(left) else []


def read_table() -> dict[str, Caught]:
    with TABLE.open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return {row["id"]: Caught(row["lane"], row["test"]) for row in rows}


def write_table(faults: Sequence[Fault], caught: dict[str, Caught]) -> None:
    with TABLE.open("w", newline="") as lines:
        table = csv.writer(lines, delimiter="\t", lineterminator="\n")
        table.writerow(("id", "file", "lane", "test"))
        table.writerows((one.id, one.file, *caught[one.id]) for one in faults if one.id in caught)


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--write", action="store_true", help="keep what is found in caught.tsv")
    arguments.add_argument("--nearest", action="store_true", help="the nearest tests alone")
    arguments.add_argument("--lanes", default="gate,live", help="the nearest tests of these lanes")
    arguments.add_argument("--work", type=Path, default=ROOT / "build" / "faults")
    arguments.add_argument("ids", nargs="*")
    given = arguments.parse_args()
    faults = [Fault(**one) for one in tomllib.loads((HERE / "faults.toml").read_text())["fault"]]
    chosen = [one for one in faults if not given.ids or one.id in given.ids]
    is_native = any(one.is_native for one in chosen)
    tree = Tree(given.work.resolve(), [one for one in faults if is_native and one.is_native])
    known, caught = read_table(), {}

    def note(fault: Fault, found: Caught) -> None:
        caught[fault.id] = found
        print(fault.id, *found, sep="\t", flush=True)
        if given.write:
            write_table(faults, {**read_table(), **caught})

    lanes = given.lanes.split(",")
    for fault in chosen:
        tests = [known[fault.id].test] if known.get(fault.id, SURVIVED).test else []
        found = caught_by(tree, fault, tests, list(LANES))
        near = fault.nearest(tree.root)
        note(fault, found if found.test else caught_by(tree, fault, near, lanes[:1]))
    left = [one for one in chosen if not caught[one.id].test]
    for fault, found in together(tree, left) if not given.nearest else ():
        note(fault, found)
    for fault in left:
        if not caught[fault.id].test:
            note(fault, caught_by(tree, fault, fault.nearest(tree.root), lanes[1:]))
    order = [*LANES, SURVIVED.lane].index
    before = {one.id: order(known.get(one.id, SURVIVED).lane) for one in chosen}
    later = [name for name, found in caught.items() if order(found.lane) > before[name]]
    print(f"{sum(bool(one.test) for one in caught.values())} of {len(chosen)} are caught")
    print(*(f"{name}: no longer by {known[name].test}" for name in later), sep="\n")
    return int(bool(later))


if __name__ == "__main__":
    sys.exit(main())
