"""What this capture cannot answer, and what would record it."""

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..._native import CaptureError
from ...answers.question import question
from ...capture.manifest import Manifest, Victim
from ...capture.requires import (
    BESIDE,
    PROFILES,
    ProfileError,
    events_of,
    profile_of,
    recorded_profile,
    unmet,
)

if TYPE_CHECKING:
    import pandas as pd

    from ...answers.answer import Answer
    from ...capture.bundle import Bundle
    from ...timeline.timeline import Timeline

# Of capture/lib/options.sh.
DEFAULT_PROFILE = "stolen"
# Ends by itself, and says how much it got done.
_VICTIM = "openssl speed -seconds 5 -bytes 1024 -evp sha256"


@question(columns=("question", "answers", "why"), rows=40, inputs=("softirqs", "polls"))
def unanswered(timeline: "Timeline") -> "pd.DataFrame":
    """Which questions this capture cannot answer, and what is missing for each.

    A row per question: topic, question, answers (what it would say), missing ("events", "samples",
    "bundle", "victim", "files", "ledger", "recording", or "unseen": its events were recorded and
    show nothing of it), why (the same in a sentence).

    Source: what each question declares.
    """
    frame = timeline.ask.table
    frame = frame[frame["asked_of"] == "recording"].drop(columns="asked_of")
    unseen = _unseen(timeline, frame.loc[frame["missing"] == "", "question"])
    for name, error in unseen.items():
        frame.loc[frame["question"] == name, ["missing", "why"]] = ["unseen", str(error)]
    return frame[frame["missing"] != ""]


def _unseen(timeline: "Timeline", names: "Iterable[str]") -> dict[str, CaptureError]:
    # Of these questions those of which the events show nothing, and why.
    from ...answers.registry import questions

    found = {}
    for one in (questions()[name] for name in names):
        try:
            if one.seen is not None:
                one.seen(timeline)
        except CaptureError as error:
            found[one.name] = error
    return found


class Unanswered(NamedTuple):
    """What would answer more.

    questions: how many are unanswered. by_name: the tracepoints that they lack and no profile of
    netcost-record has. command: the line of netcost-record that records what they lack, and what
    this capture has besides, its victim among it. has_load: whether LOAD stands there.
    """

    questions: int
    by_name: tuple[str, ...]
    command: str
    has_load: bool


@unanswered.figures
def _figures(answer: "Answer") -> Unanswered:
    from ...answers.registry import questions

    names, asked = set(answer.frame["question"]), questions()
    needed = dict.fromkeys(group for name in sorted(names) for group in asked[name].groups)
    missing = unmet(answer.capture, tuple(needed))
    unseen = _unseen(answer.timeline, sorted(names))
    unprofiled = [group for group in missing if profile_of((group,)) is None]
    profiles = {
        recorded_profile(answer.capture),
        *(profile_of((group,)) for group in missing),
        *(one.profile for one in unseen.values() if isinstance(one, ProfileError)),
    }
    chain = [name for name in PROFILES if name in profiles and name not in BESIDE]
    profile = ",".join(
        [
            *(chain[-1:] or [DEFAULT_PROFILE]),
            *(one for one in BESIDE if one in profiles),
            *(["functions"] if answer.frame["missing"].eq("samples").any() else ()),
        ]
    )
    bundle = answer.bundle
    return Unanswered(
        questions=len(names),
        by_name=events_of(tuple(unprofiled)),
        command=command(bundle, profile),
        has_load=bundle is not None and _has_load(bundle.manifest),
    )


def _has_load(manifest: Manifest) -> bool:
    return manifest.load is not None and manifest.load.command is not None


def command(bundle: "Bundle | None", profile: str) -> str:
    """The line of netcost-record that records a profile as a bundle was recorded.

    Parameters
    ----------
    bundle : Bundle or None
        With its victim, CPUs and network namespaces, and LOAD for its load; one without a victim
        gets one, and a run of that alone.
    profile : str
        Of capture/profiles; several with commas between them.

    Returns
    -------
    str
        For a shell.
    """
    manifest = bundle.manifest if bundle else Manifest()
    victim = manifest.victim or Victim()
    words = ["capture/netcost-record", "-o", "DIR", "--profile", profile]
    if manifest.cpus not in (None, "all"):
        words += ["--cpus", manifest.cpus]
    for name in manifest.network_namespaces if manifest.network_namespaces != ["."] else ():
        words += ["--netns", name]
    words += ["--victim", victim.command or _VICTIM]
    if victim.command and victim.cpu is not None:
        words += ["--victim-cpu", str(victim.cpu)]
    if manifest.calibration is not None:
        words.append("--calibrate")
    elif manifest.baseline or not victim.command:
        words.append("--baseline")
    if _has_load(manifest):
        # Not its own: who lists questions does not read a long command of a stranger's first.
        words += ["--load", "LOAD"]
    return shlex.join(words)
