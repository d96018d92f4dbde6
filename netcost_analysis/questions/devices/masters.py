# Rows of device_cost by the bond, team or bridge that devices are ports of.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...capture.links import known_interfaces

if TYPE_CHECKING:
    from ...capture.bundle import Bundle


def masters_of(bundle: "Bundle | None") -> pd.DataFrame:
    """A row per port: namespace, device, master; empty where the bundle knows of none."""
    none = pd.DataFrame({"namespace": [], "device": [], "master": []}, dtype=object)
    if bundle is None:
        return none
    try:
        known = known_interfaces(bundle)
    except CaptureError:
        return none
    ports = known.loc[known["master"].notna(), ["namespace", "device", "master"]]
    return ports.astype(object).reset_index(drop=True)


def by_master(
    rows: pd.DataFrame, ports: pd.DataFrame, added: list[str], traffic: list[str]
) -> pd.DataFrame:
    """Rows of ports as one of their master; others as they are.

    rows: of device_cost. ports: as masters_of returns them. added: columns of times and counts,
    known of a group where they are of any of it; traffic: known where they are of all its ports.
    A master's own traffic is its ports', counted once more, and left out.
    """
    named = ports.drop_duplicates("device", keep=False).set_index("device")["master"]
    exact = ports.set_index(["namespace", "device"])["master"]
    masters = [
        exact.get((row.namespace, row.device))
        if row.namespace is not None
        # Of a poll nobody knows the namespace.
        else named.get(row.device)
        for row in rows.itertuples()
    ]
    own = rows["device"].isin(ports["master"])
    keyed = rows.assign(
        device=[of or device for of, device in zip(masters, rows["device"], strict=True)],
        carries=[of is not None for of in masters],
    )
    alone = keyed[~keyed["carries"] & ~own]
    found = [alone.drop(columns="carries")]
    for (_, device), group in keyed[keyed["carries"] | own].groupby(
        ["namespace", "device"], dropna=False, sort=False
    ):
        port = group[group["carries"]]
        one = group.iloc[[0]].drop(columns="carries").copy()
        one["device"] = str(device)
        for name in added:
            one[name] = group[name].sum(min_count=1)
        same = len(port) and port["start_ns"].nunique() == 1 and port["end_ns"].nunique() == 1
        for name in traffic:
            carried: Any = port[name].sum(skipna=False) if same else pd.NA
            one[name] = carried
        one["start_ns"], one["end_ns"] = group["start_ns"].min(), group["end_ns"].max()
        one["interval_error_ns"] = group["interval_error_ns"].max()
        one["unknown_cpu_share"] = group["unknown_cpu_share"].max()
        one["utilisation_share"] = pd.NA
        for side in ("rx", "tx"):
            packets = one[f"{side}_packets"].astype("Float64")
            one[f"{side}_packet_bytes"] = one[f"{side}_bytes"] / packets.mask(packets <= 0)
        found.append(one)
    return pd.concat(found, ignore_index=True)
