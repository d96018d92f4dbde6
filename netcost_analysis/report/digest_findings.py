"""Selects a digest's answers, by the rule that docs/cli.md states."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from ..answers.answer import NO_WINDOW
from ..answers.registry import questions
from ..display.tables import listed
from ..display.templates import as_text
from ..progress import each
from ..units import absent

if TYPE_CHECKING:
    from ..answers.answer import Answer
    from ..answers.ask import Ask

# The maximum number of findings in a digest, and the smallest share of time that one is about.
MOST, LEAST_SHARE = 5, 0.01
# A paragraph's sentences are kept up to this many characters; the first always is.
_LONG = 300
_SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z0-9])")
CERTAINTY = "certainty"
ASKING = "asking the questions"


class Finding(Struct, kw_only=True):
    """What an answer says. `netcost ask QUESTION` has the rest.

    share: the part of share_of that it is about; both null if findings have no common measure.
    """

    question: str
    share: float | None = None
    share_of: str | None = None
    says: str


class Untold(Struct, kw_only=True):
    """What cannot be told.

    lacks: what is missing, a word of `capture.ask.table`; "certainty" if the question has an answer
    that decides nothing. why: the reason for the first question.
    """

    questions: list[str]
    lacks: str
    why: str


class _Kind(NamedTuple):
    # share: returns the share that ranks the answer; None if it has nothing to say. unless: a
    # question that says the same.
    question: str
    share_of: str
    share: "Callable[[Answer], Any]"
    unless: str = ""


def _first(answer: "Answer", column: str, of: str = "", is_: Any = None, is_not: Any = None) -> Any:
    # The first known value of a column, in rows where `of` is is_, or is not is_not.
    rows = answer.frame.reset_index()
    if of:
        rows = rows[rows[of] == is_ if is_not is None else rows[of] != is_not]
    values = rows[column].dropna()
    return None if values.empty else values.iloc[0]


def _of_kernel(answer: "Answer") -> Any:
    # The largest component of kernel work: a program's own work is no finding.
    return _first(answer, "busy_share", "component", is_not="application")


def _at(part: str, field: str) -> "Callable[[Answer], Any]":
    return lambda answer: (answer[part] or {}).get(field)


# Findings about a recording.
_KINDS = (
    _Kind(
        "accounts",
        "the run, by the account farthest off",
        lambda of: abs(_first(of, "residual_share", "estimate", of["in_all"]["farthest"]) or 0),
    ),
    _Kind("effective_share", "a CPU", _at("of_victim", "overcharged_share"), unless="accounts"),
    _Kind(
        "remedies",
        "the victim's time on CPU",
        lambda of: _first(of, "gain_max_share", "finding", "gain"),
    ),
    _Kind(
        "waited_for",
        "the victim's lifetime",
        lambda of: _first(of, "lifetime_share", "comm", of["victim"]),
    ),
    _Kind(
        "migration_verdict",
        "the time it ran",
        lambda of: _first(of, "at_stake_high_share", "explains", "yes"),
    ),
    _Kind("device_summary", "a CPU", lambda of: _first(of, "cpu_share")),
    _Kind("client_and_server", "its time on CPU", lambda of: _first(of, "network_softirq_share")),
    _Kind("softirq_time", "all CPU time", _at("in_all", "cpu_share")),
    _Kind("components", "busy samples", _of_kernel),
    _Kind("packet_components", "busy samples", _of_kernel),
    _Kind(
        "energy_by_owner",
        "the energy",
        lambda of: _first(of, "owner_share", "owner_kind", "network"),
    ),
)
# Every question that a digest asks of a recording.
ASKED = (
    *("recording", "headline", "unanswered", "completeness", "coverages", "caveats"),
    *("network_overhead", "stolen", "ledger"),
    *(kind.question for kind in _KINDS),
)
# Findings about several recordings have a fixed order: a cost per packet and a share of time have
# no common measure.
_OF_MANY = {
    "experiment": (
        *("cheaper_path", "hidden_cost", "hidden_cost_predictions", "one_cpu_control"),
        *("findings", "components_by_size", "destinations", "saturation", "by_rate"),
        "energy_by_size",
    ),
    "fleet": ("trend", "outliers", "by_kernel", "by_driver", "by_host"),
}


def of_one(ask: "Callable[[str], Answer]") -> list[Finding]:
    """The findings about a recording that matter most.

    A warning about a device comes first, as it means lost CPU time or packets. The others are
    ordered by their share of time.
    """
    findings = {}
    for kind in _KINDS:
        if kind.unless in findings or (answer := ask(kind.question)).refusal is not None:
            continue
        share, says = kind.share(answer), told(answer)
        if says and not absent(share) and share >= LEAST_SHARE:
            findings[kind.question] = Finding(
                question=kind.question, share=float(share), share_of=kind.share_of, says=says
            )
    ranked = sorted(findings.values(), key=lambda finding: -(finding.share or 0))
    return [*_warnings(ask), *ranked][:MOST]


def _warnings(ask: "Callable[[str], Answer]") -> Iterator[Finding]:
    devices = ask("device_summary")
    for row in listed(devices["flags"]) if devices.refusal is None else ():
        if row["severity"] == "warning":
            yield Finding(question="device_flags", says=row["why"])
            return


def of_many(kind: str, ask: "Ask") -> list[Finding]:
    """The first findings about an experiment or a fleet."""
    findings: list[Finding] = []
    for name in each(ASKING, _OF_MANY[kind]):
        if len(findings) == MOST:
            break
        answer = ask(name)
        if answer.refusal is None and (says := told(answer)):
            findings.append(Finding(question=name, says=says))
    return findings


def undecided(ask: "Callable[[str], Answer]") -> Iterator[Untold]:
    """Questions whose answers decide nothing here."""
    migrated, remedies = ask("migration_verdict"), ask("remedies")
    if migrated.refusal is None and migrated.frame["explains"].iloc[0] == "cannot tell":
        yield Untold(questions=["migration_verdict"], lacks=CERTAINTY, why=told(migrated))
    if remedies.refusal is None and (why := _first(remedies, "why", "finding", "unknown")):
        remedy = _first(remedies, "remedy", "finding", "unknown")
        yield Untold(questions=["remedies"], lacks=CERTAINTY, why=f"{remedy}: {why}")


def unanswered(ask: "Callable[[str], Answer]") -> Iterator[Untold]:
    """What a recording lacks, with the questions that need it; what most need comes first."""
    answer, sampled = ask("unanswered"), ask("components")
    if answer.refusal is not None:
        yield Untold(questions=[], lacks="ledger", why=str(answer.refusal))
        if sampled.refusal is not None:
            yield Untold(questions=[], lacks="samples", why=str(sampled.refusal))
        return
    by_lack: dict[str, list[dict[str, Any]]] = {}
    for row in listed(answer.frame):
        by_lack.setdefault(row["missing"], []).append(row)
    for lacks, rows in sorted(by_lack.items(), key=lambda item: -len(item[1])):
        asked = [row["question"] for row in rows]
        yield Untold(questions=asked, lacks=lacks, why=rows[0]["why"])


def knows(answer: "Answer", column: str) -> bool:
    """Whether an answer has a value in a column."""
    return answer.refusal is None and _first(answer, column) is not None


def told(answer: "Answer") -> str:
    """The first sentences of an answer's words, as text."""
    for paragraph in as_text(answer.words).split("\n\n"):
        first, *items = paragraph.strip().split("\n- ")
        if first.endswith(":"):
            # The introduction of a list says nothing without an item.
            first = " ".join([first, *items[:1]])
        if first and NO_WINDOW[1:] not in first:
            return sentences(first)
    return ""


def sentences(text: str) -> str:
    """The first sentences of a text, up to a length and to one that introduces a list."""
    first, *others = _SENTENCE.split(" ".join(text.split()))
    kept = first
    for sentence in others:
        if sentence.endswith(":") or len(kept) + len(sentence) >= _LONG:
            break
        kept = f"{kept} {sentence}"
    return kept


def is_of_timeline(name: str) -> bool:
    """Whether a question takes a window. Others are asked of a whole recording."""
    return questions()[name].sources[0] == "Timeline"


def comparing(path: object, labels: Mapping[str, list[str]]) -> str:
    """The command that compares two values of the last label, with the others alike."""
    *others, (name, (base, new, *_)) = labels.items()
    words = ["netcost", "compare", str(path)]
    for label_name, values in others:
        words += ["--where", f"{label_name}={values[0]}"]
    return shlex.join([*words, "--base-where", f"{name}={base}", "--new-where", f"{name}={new}"])
