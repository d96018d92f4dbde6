"""What a reader calls each side of a comparison: names that fit beside figures, in 72 columns."""

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..capture.bundle_files import PACKED
from ..units import plural, printable
from .run import CONDITIONS

if TYPE_CHECKING:
    from .run_set import RunSet

# Most characters of a name, so that a title has room for both.
MOST = 28
_ENDINGS = (*PACKED, ".data", ".dat", ".txt")
_TRAILING = "-_. "

Names = tuple[str, str]


def cut(text: str, width: int) -> str:
    """A name on one line, cut to so many characters: the middle goes, for names differ at ends."""
    text = printable(re.sub(r"\s+", " ", text))
    if len(text) <= width:
        return text
    kept = width - 2
    head = kept // 2
    return f"{text[:head]}..{text[len(text) - (kept - head) :]}"


def side_names(base: "RunSet", new: "RunSet", differs: Mapping[str, Names]) -> Names:
    """The first of these that tells both sides apart: labels, settings of the host, paths.

    differs: the labels whose values differ.
    """
    for found in (_labelled(differs), *_by_settings(base, new), *_by_paths(base, new)):
        short = cut(found[0], MOST), cut(found[1], MOST)
        if all(short) and short[0] != short[1]:
            return short
    return "base", "new"


def _labelled(differs: Mapping[str, Names]) -> Names:
    # As many labels as fit, conditions of an experiment first.
    order = [name for name in CONDITIONS if name in differs]
    order += [name for name in differs if name not in order]
    made: Names = ("", "")
    for name in order:
        said = [f"{name.replace('_', ' ')} {value or 'unknown'}" for value in differs[name]]
        longer = tuple(
            f"{one}, {more}" if one else more for one, more in zip(made, said, strict=True)
        )
        if made[0] and max(map(len, longer)) > MOST:
            break
        made = longer[0], longer[1]
    return made


def _by_settings(base: "RunSet", new: "RunSet") -> Iterator[Names]:
    # A sysctl of the manifests that all runs of a side have, and both sides differ in.
    sides = [_settings(side) for side in (base, new)]
    apart = [name for name in sides[0] if sides[1].get(name) not in (None, sides[0][name])]
    if apart:
        yield _labelled({one.rpartition(".")[2]: (sides[0][one], sides[1][one]) for one in apart})


def _settings(side: "RunSet") -> dict[str, str]:
    bundles = [run.captures[0].bundle for run in side.recorded]
    known = [one.manifest.host.sysctls or {} if one else {} for one in bundles]
    return {
        name: str(value)
        for name, value in (known[0] if known else {}).items()
        if all(one.get(name) == value for one in known)
    }


def _by_paths(base: "RunSet", new: "RunSet") -> Iterator[Names]:
    paths = [[PurePath(run.name) for run in side] for side in (base, new)]
    stems = [[_stem(path) for path in some] for some in paths]
    folders = [{path.parent for path in some} for some in paths]
    if all(len(some) == 1 for some in stems):
        yield stems[0][0], stems[1][0]
    if all(len(some) == 1 for some in folders):
        yield from zip(*(reversed(folder.pop().parts) for folder in folders), strict=False)
    shared = [_common(some).rstrip(_TRAILING) for some in stems]
    yield shared[0], shared[1]
    more = [plural(len(some) - 1, "other run") for some in stems]
    yield tuple(f"{some[0]}, {one}" for some, one in zip(stems, more, strict=True))  # type: ignore[misc]


def _common(names: list[str]) -> str:
    alike = takewhile(lambda some: len(set(some)) == 1, zip(*names, strict=False))
    return "".join(some[0] for some in alike)


def _stem(path: PurePath) -> str:
    ending = next((one for one in _ENDINGS if path.name.endswith(one)), "")
    return path.name.removesuffix(ending) or path.name
