# The sums read as victims and thieves: plain rows, which ledger() and stolen() add up, and frames.
# pandas is imported only where a frame is made.

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..schema import column
from ..units import absent
from .by import By, victim_keys

if TYPE_CHECKING:
    import pandas as pd

# Contexts that run on top of whatever task is current.
INTERRUPT_CONTEXTS = ("hardirq", "vector", "softirq", "poll", "nmi")
# The column for the time of each kind of interrupt that kinds_of() distinguishes.
KIND_COLUMNS = {
    "hardirq": "hardirq_ns",
    "vector": "vector_ns",
    "poll": "poll_ns",
    "softirq": "network_outside_polls_ns",
    "softirq_other": "other_softirq_ns",
    "nmi": "nmi_ns",
}
_THIEF_KEYS = ["context", "id", "name", "device"]
NOBODY = "(unknown)"
# The backlog's NAPI instance has no netdev; the kernel writes NO_DEV (trace/events/napi.h).
NO_DEVICE = "(no_device)"
BACKLOG_POLL = "backlog poll (RPS, veth, lo)"
# A comm, (tid, comm), or a CPU number.
Victim = Any


class Owned(NamedTuple):
    # A row of the sums. tid: None if the task is unknown, 0 for idle tasks. thief: what ran, in
    # words.
    cpu: int
    tid: int | None
    comm: str
    context: str
    id: int | None
    name: str | None
    device: str | None
    cost_class: str
    is_network: str
    ns: int
    thief: str

    @property
    def of_task(self) -> bool:
        # Whether it is time on CPU of a known task; the idle task does not count.
        return bool(self.tid)


def owned(sums: Mapping[str, Sequence[Any]], by: By) -> list[Owned]:
    """The sums as plain rows; sums: native's columns."""
    labels: dict[tuple[Any, ...], str] = {}
    names = ("cpu", "tid", "comm", *_THIEF_KEYS, "cost_class", "is_network", "ns")
    rows = []
    for cpu, tid, comm, context, id_, name, device, cost_class, network, ns in zip(
        *(sums[name] for name in names), strict=True
    ):
        key = context, id_, name, device
        if key not in labels:
            labels[key] = thief_label(*key, by)
        rows.append(
            Owned(
                cpu,
                tid,
                NOBODY if comm is None else comm,
                *key,
                cost_class or "",
                network or "unknown",
                ns,
                labels[key],
            )
        )
    return rows


def of_its_own(row: Owned) -> bool:
    """Whether the task itself ran, excluding network work of kernel threads."""
    return row.of_task and row.context == "task" and row.cost_class != "scheduled"


def victim_of(row: Owned, by: By) -> Victim:
    """The victim whose time a row is."""
    if by == "tid":
        return row.tid, row.comm
    return row.cpu if by == "cpu" else row.comm


def summed(rows: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """ns by key, in the order of each key's first row."""
    total: dict[Any, int] = {}
    for key, ns in rows:
        total[key] = total.get(key, 0) + ns
    return total


def by_total(total: Mapping[Any, int]) -> list[Any]:
    """The keys, most ns first, then by name."""
    return sorted(sorted(total), key=lambda key: -total[key])


def victim_index(victims: Sequence[Victim], by: By) -> "pd.Index":
    """Victims as the index of a frame."""
    import pandas as pd

    names = victim_keys(by)
    if by != "tid":
        return pd.Index(victims, name=names[0], dtype="int64" if by == "cpu" else object)
    tids = pd.array([tid for tid, _ in victims], dtype="Int32")
    comms = pd.Index([comm for _, comm in victims], dtype=object)
    return pd.MultiIndex.from_arrays([tids, comms], names=names)


def victims_frame(
    rows: Mapping[Victim, Mapping[str, Any]], names: Sequence[str], by: By
) -> "pd.DataFrame":
    """The named figures of each victim as a frame, with the types declared in columns.toml."""
    import pandas as pd

    types = {name: declared.dtype for name in names if (declared := column(name))}
    made = {
        name: pd.array([row[name] for row in rows.values()], dtype=types[name])  # type: ignore[call-overload]
        for name in names
    }
    return pd.DataFrame(made, index=victim_index(list(rows), by))


def lives_by(lives: Mapping[str, list[Any]], by: By, name: str) -> dict[Victim, int]:
    """A column of the lives (Timeline.columns), summed by victim."""
    keys: Iterable[Any] = lives["comm"]
    if by == "tid":
        keys = zip(lives["tid"], lives["comm"], strict=True)
    return summed(zip(keys, lives[name], strict=True))


def sums_by_thief(sums: "pd.DataFrame", by: By) -> "pd.DataFrame":
    # The sums with plain keys and a thief for each row.
    frame = sums[["cpu", "tid", "context", "id", "name", "device", "ns", "segments"]].copy()
    frame["comm"] = plain_names(sums["comm"])
    frame["context"] = sums["context"].astype(object)
    frame["cost_class"] = sums["cost_class"].astype(object).where(sums["cost_class"].notna(), "")
    frame["is_network"] = (
        sums["is_network"].astype(object).where(sums["is_network"].notna(), "unknown")
    )
    frame["thief"] = thief_labels(frame, by)
    return frame


def plain_names(names: "pd.Series[str]") -> "pd.Series[str]":
    # Categories of different tables do not compare, and groupby lists categories without rows.
    return names.astype(object).where(names.notna(), NOBODY)


def of_tasks(rows: "pd.DataFrame") -> "pd.DataFrame":
    # Rows of known tasks: their time on CPU.
    return rows[rows["tid"].notna() & (rows["tid"] != 0).fillna(False).astype(bool)]


def within_figures(rows: "pd.DataFrame") -> dict[str, "pd.Series[bool]"]:
    # Which rows of tasks add up to each figure of stolen().
    import pandas as pd

    inside = rows["context"].isin(INTERRUPT_CONTEXTS)
    surely = inside & (rows["cost_class"] == "stolen")
    perhaps = surely | (inside & (rows["cost_class"] == "stolen_or_synchronous"))
    return {
        "on_cpu_ns": pd.Series(True, index=rows.index),
        "task_ns": rows["context"] == "task",
        "stolen_ns": surely,
        "stolen_max_ns": perhaps,
        "stolen_network_ns": surely & (rows["is_network"] == "yes"),
        "stolen_network_max_ns": perhaps & (rows["is_network"] != "no"),
        "synchronous_ns": inside & (rows["cost_class"] == "synchronous"),
        "scheduled_ns": rows["cost_class"] == "scheduled",
    }


def kind_of(context: str, is_network: str | None) -> str:
    """What ran in a row of segments or sums, in the classes of kinds_of()."""
    return "softirq_other" if context == "softirq" and is_network != "yes" else context


def kinds_of(rows: "pd.DataFrame") -> "pd.Series[str]":
    """What ran in each row of segments or sums, in the classes that pictures distinguish.

    rows: with columns context and is_network. Returns the context, or "softirq_other" for a softirq
    that is not certainly the network's; same index.
    """
    context = rows["context"].astype(object)
    network = rows["is_network"].astype(object) == "yes"
    return context.where(~((context == "softirq") & ~network), "softirq_other")


def per_victim(rows: "pd.DataFrame", keys: list[str], index: "pd.Index") -> "pd.Series[int]":
    # ns by victim, 0 for a victim without rows.
    return rows.groupby(keys, dropna=False)["ns"].sum().reindex(index, fill_value=0).astype("int64")


def known_if(known: bool, ns: "pd.Series[int]") -> "pd.Series[int]":
    # ns as Int64, all NA if the values are not known.
    import pandas as pd

    return ns.astype("Int64") if known else pd.Series(pd.NA, index=ns.index, dtype="Int64")


def is_device(name: object) -> bool:
    return isinstance(name, str) and name not in ("", NO_DEVICE)


def thief_labels(frame: "pd.DataFrame", by: By = "comm") -> "pd.Series[str]":
    # What ran in each row, in words.
    import pandas as pd

    context, id_, name, device = (frame[column].astype(object) for column in _THIEF_KEYS)
    rows = list(zip(context, id_, name, device, strict=True))
    labels = {row: thief_label(*row, by) for row in dict.fromkeys(rows)}
    return pd.Series([labels[row] for row in rows], index=frame.index, dtype=object)


def thief_label(context: str, id_: object, name: object, device: object, by: By = "comm") -> str:
    # "eth0 poll", "irq 26 virtio2-input.0 (eth0)", "NET_RX", "local_timer"; with by="device" all
    # that eth0 did is "eth0".
    known_device = is_device(device)
    if by == "device" and known_device:
        return str(device)
    named = name if isinstance(name, str) and name else None
    if context == "poll":
        # The kernel calls the backlog's NAPI instance (no_device).
        return f"{device} poll" if known_device else BACKLOG_POLL
    suffix = f" ({device})" if known_device else ""
    number = "?" if absent(id_) else str(id_)
    if context == "hardirq":
        return f"irq {number} {named}{suffix}" if named else f"irq {number}{suffix}"
    if context == "vector":
        return f"{named or f'vector {number}'}{suffix}"
    if context == "softirq":
        return f"{named or f'softirq {number}'}{suffix}"
    return "NMI" if context == "nmi" else context
