"""What this capture cannot answer, and what would record it."""

import shlex

from ..._native import CaptureError
from ...answers.question import Answer, question
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
from ...timeline.timeline import Timeline

# Of capture/lib/options.sh.
_DEFAULT_PROFILE = "stolen"
# Ends by itself, and says how much it got done.
_VICTIM = "openssl speed -seconds 5 -bytes 1024 -evp sha256"


@question(columns=("question", "why", "answers"), rows=40)
def unanswered(timeline: Timeline) -> Answer:
    """Which questions this capture cannot answer, and what is missing for each.

    A row per question, with what it would show. missing is "unseen" where its events were recorded
    but show nothing for it. Source: what each question declares.
    """
    from ...answers.registry import questions

    # Without a ledger there is no timeline to ask.
    _ = timeline.summary
    capture, every = timeline.capture, questions()
    frame = timeline.ask.table
    frame = frame[frame["asked_of"] == "recording"].drop(columns="asked_of")
    unseen: dict[str, CaptureError] = {}
    for name in frame["question"]:
        try:
            if (seen := every[name].seen) is not None:
                seen(timeline)
        except CaptureError as error:
            unseen[name] = error
            row = (frame["question"] == name) & (frame["missing"] == "")
            frame.loc[row, ["missing", "why"]] = ["unseen", str(error)]
    frame = frame[frame["missing"] != ""]
    needed = (group for name in sorted(frame["question"]) for group in every[name].groups)
    missing = unmet(capture, tuple(dict.fromkeys(needed)))
    unprofiled = tuple(group for group in missing if profile_of((group,)) is None)
    profiles = {error.profile for error in unseen.values() if isinstance(error, ProfileError)}
    profiles |= {recorded_profile(capture), *(profile_of((group,)) for group in missing)}
    if frame["missing"].eq("samples").any():
        profiles.add("functions")
    manifest = capture.bundle.manifest if capture.bundle else Manifest()
    return Answer(
        frame,
        by_name=events_of(unprofiled),
        next_command=_command(manifest, _named(profiles)),
        has_load=_has_load(manifest),
    )


def _named(profiles: set[str | None]) -> str:
    # As netcost-record takes them: of those that hold each other the largest, and those beside it.
    chain = [name for name in PROFILES if name in profiles and name not in BESIDE]
    beside = [name for name in (*BESIDE, "functions") if name in profiles]
    return ",".join([*(chain[-1:] or [_DEFAULT_PROFILE]), *beside])


def _has_load(manifest: Manifest) -> bool:
    return manifest.load is not None and manifest.load.command is not None


def _command(manifest: Manifest, profiles: str) -> str:
    # The line of netcost-record that records profiles as a bundle was recorded: with its victim,
    # CPUs and network namespaces; one without a victim gets one, and a run of that alone.
    victim = manifest.victim or Victim()
    words = ["capture/netcost-record", "-o", "DIR", "--profile", profiles]
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
