# What netcost-record found on the host itself and wrote into the manifest.

from typing import Any, TypeGuard

from .known import Completeness, Row, Said, answered

_STATES = ("complete", "incomplete", "unknown")
_KINDS = ("softirq", "irq", "vector", "packets", "switches")
_MOST = 1 << 63
# Of a line of a stranger's manifest.
_LONGEST = 400


def told(manifest: dict[str, Any]) -> Completeness | None:
    """The manifest's record, None where it has none, or one that is none."""
    said, record = told_line(manifest), manifest.get("completeness")
    if said is None or not isinstance(record, dict) or not isinstance(record.get("rows"), list):
        return None
    rows = [_row(one) for one in record["rows"]]
    whole = [row for row in rows if row is not None]
    return answered(said, whole) if len(whole) == len(rows) else None


def told_line(manifest: dict[str, Any]) -> Said | None:
    """The same without its rows."""
    record = manifest.get("completeness")
    if not isinstance(record, dict):
        return None
    verdict, state, reason = (record.get(name) for name in ("verdict", "state", "reason"))
    if state not in _STATES or not isinstance(verdict, str):
        return None
    lost = record.get("lost_events")
    return Said(
        verdict[:_LONGEST],
        state,
        reason[:_LONGEST] if isinstance(reason, str) else None,
        lost if _is_count(lost) else None,
    )


def _row(one: Any) -> Row | None:
    if not isinstance(one, dict) or one.get("what") not in _KINDS:
        return None
    cpu, name = one.get("cpu"), one.get("name")
    counted, recorded, inside = (one.get(key) for key in ("counted", "recorded", "recorded_inside"))
    if not isinstance(name, str) or not (cpu is None or _is_count(cpu)):
        return None
    if not (_is_count(counted) and _is_count(recorded) and _is_count(inside)):
        return None
    return Row(one["what"], name, cpu, counted, recorded, inside)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST
