# Sums of polls that a test writes down, as native makes them of tables.

import pandas as pd

from netcost_analysis.questions.batches.poll_sums import NO_WORK, Gathered, gathered_of

_OWNER = ["device", "cpu"]


def gathered_from(polls: pd.DataFrame, outside_ns: int, irq_ns: int) -> Gathered:
    # Each poll in a softirq of its own, which spends so much outside of it, and which a vector
    # raised, whose interrupt took so much. polls: device, cpu, work, self_ns.
    known = polls["work"].notna()
    own = polls[[*_OWNER, "work"]].fillna({"work": NO_WORK}).astype({"work": "int64"})
    own["polls"], own["known"] = 1, known.astype("int64")
    own["known_ns"] = polls["self_ns"].where(known, 0).astype("int64")
    own[["whole", "whole_ns"]] = own[["known", "known_ns"]]
    counted = ["polls", "known", "known_ns", "whole", "whole_ns"]
    counts = own.groupby(_OWNER)[counted].sum().reset_index()
    around = counts[_OWNER].assign(shared=1, line=-1, again=0)
    for prefix, number in {"": counts["polls"], "known_": counts["known"]}.items():
        shares = {"outside_polls_ns": outside_ns, "irq_ns": irq_ns, "raised": 1}
        around = around.assign(**{f"{prefix}{name}": number * of for name, of in shares.items()})
    lines = ["cpu", "device", "irq", "irqs", "irq_ns"]
    received = own[own["work"] > 0]
    return gathered_of(
        {
            "sizes": own.groupby([*_OWNER, "work"])[counted].sum().reset_index(),
            "around": around,
            "lines": pd.DataFrame(columns=lines, dtype="Int64"),
            "stretches": _stretches(received),
            "seen": received.groupby(_OWNER)["polls"].sum().reset_index(),
            "power": pd.DataFrame({"power": [0]}),
        }
    )


def _stretches(polls: pd.DataFrame) -> pd.DataFrame:
    # Few polls: each is one. Squares of their ns come as two halves.
    work, ns = polls["work"], polls["known_ns"]
    return polls[[*_OWNER, "polls"]].assign(
        stretch=polls.groupby(_OWNER).cumcount(),
        kind=[(size - 1).bit_length() for size in work.tolist()],
        packets=work,
        ns=ns,
        squares=work * work,
        products=work * ns,
        high=ns * ns // 2**32,
        low=ns * ns % 2**32,
    )
