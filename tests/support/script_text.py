# A described recording as perf script would print it, but for its losses.

from pathlib import Path

import pyarrow as pa

from netcost_analysis._native import Capture
from support.perfdata import Recording

VEC = "vec={vec} [action=]"
WAKEUP = "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:03}"
PRINTED = {
    "irq:irq_handler_entry": "irq={irq} name={name}",
    "irq:irq_handler_exit": "irq={irq} ret=handled",
    **dict.fromkeys(("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"), VEC),
    "napi:napi_poll": (
        "napi poll on napi struct {napi:016x} for device {dev_name} work {work} budget {budget}"
    ),
    **dict.fromkeys(("sched:sched_waking", "sched:sched_wakeup"), WAKEUP),
    "sched:sched_migrate_task": (
        "comm={comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"
    ),
    "sched:sched_switch": (
        "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={state} ==> "
        "next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}"
    ),
}


def write_text(told: Recording, path: Path, head: str = "") -> Path:
    lines = []
    for name, table in Capture(str(told.write(path.with_suffix(".data")))).all_events().items():
        for row in pa.table(table).to_pylist():
            row["state"] = "S" if row.get("prev_state") else "R"
            seconds, ns = divmod(row["time_ns"], 10**9)
            who = f"{row['common_comm']} {row['common_pid']} [{row['common_cpu']:03}]"
            text = PRINTED[name].format(**row)
            lines.append((row["time_ns"], f"{who} {seconds}.{ns:09}: {name}: {text}\n"))
    path.write_text(head + "".join(text for _, text in sorted(lines, key=lambda one: one[0])))
    return path
