# An interface in use, and what is suspected of one that differs.

from typing import Any

import pandas as pd

from netcost_analysis.questions.devices.device_flags import Facts, suspicions

USUAL = {
    "namespace": ".",
    "device": "eth0",
    "up": True,
    "carrier": True,
    "addresses": 1,
    "mac": "02:00:00:00:00:01",
    "is_listed": True,
    "start_ns": 0,
    "end_ns": 1_000_000_000,
    "ns": 50_000_000,
    "cpu_share": 0.05,
    "rx_packets": 10_000,
    "tx_packets": 9_000,
    "all_rx_packets": 10_000,
    "all_tx_packets": 9_000,
}


def facts(*rows: dict[str, Any], **more: Any) -> Facts:
    frame = pd.DataFrame([{**USUAL, **row} for row in rows]).astype(object)
    none = pd.DataFrame()
    return Facts(frame, more.get("saturation", none), more.get("queues", none), listed=True)


def raised(*rows: dict[str, Any], **more: Any) -> dict[tuple[str | None, str], tuple[str, str]]:
    flags = suspicions(facts(*rows, **more))
    return {(row.device, row.flag): (row.severity, row.why) for row in flags.itertuples()}
