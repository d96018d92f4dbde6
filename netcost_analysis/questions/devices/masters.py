# Rows of device_cost by the bond, team or bridge that devices are ports of.

from typing import TYPE_CHECKING

import pandas as pd

from ..._native import CaptureError
from ...capture.links import empty, known_interfaces

if TYPE_CHECKING:
    from ...capture.bundle import Bundle


def masters_of(bundle: "Bundle | None") -> pd.DataFrame:
    """A row per port: namespace, device, master; empty where the bundle knows of none."""
    try:
        known = empty() if bundle is None else known_interfaces(bundle)
    except CaptureError:
        known = empty()
    ports = known.loc[known["master"].notna(), ["namespace", "device", "master"]]
    return ports.astype(object).reset_index(drop=True)


def by_master(
    rows: pd.DataFrame, ports: pd.DataFrame, added: list[str], traffic: list[str]
) -> pd.DataFrame:
    """Rows of ports as one of their master; others as they are.

    ports: of masters_of. added: columns of times and counts, known of a group where they are of any
    of it; traffic: known where they are of all its ports, over the same time. A master's own
    traffic is its ports', counted once more, and left out.
    """
    keys = ["namespace", "device"]
    # A poll does not say which namespace its device is of.
    named = ports.drop_duplicates("device", keep=False).set_index("device")["master"].to_dict()
    exact = ports.set_index(keys)["master"].to_dict()
    masters = [
        named.get(device) if namespace is None else exact.get((namespace, device))
        for namespace, device in zip(rows["namespace"], rows["device"], strict=True)
    ]
    master = pd.Series(masters, index=rows.index, dtype=object)
    is_port, is_master = master.notna(), rows["device"].isin(ports["master"])
    grouped = rows.assign(device=master.fillna(rows["device"]))[is_port | is_master]
    if not len(grouped):
        return rows
    number = grouped.groupby(keys, dropna=False, sort=False).ngroup()
    groups = grouped.groupby(number)
    ports_of = grouped[is_port[grouped.index]].groupby(number)
    table = groups[added].sum(min_count=1).join(groups[keys].head(1).set_index(number.unique()))
    ends = {"start_ns": "min", "end_ns": "max"}
    table = table.join(groups.agg({**ends, "interval_error_ns": "max", "unknown_cpu_share": "max"}))
    same = (ports_of[list(ends)].nunique() == 1).all(axis=1)
    table = table.join(ports_of[traffic].sum(skipna=False).where(same))
    for side in ("rx", "tx"):
        packets = table[f"{side}_packets"].astype("Float64")
        table[f"{side}_packet_bytes"] = table[f"{side}_bytes"] / packets.mask(packets <= 0)
    table["utilisation_share"] = pd.NA
    return pd.concat([rows[~(is_port | is_master)], table], ignore_index=True)
