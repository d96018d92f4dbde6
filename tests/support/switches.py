# Text of ftrace with switches alone: nothing of networking was recorded.

from pathlib import Path

_LINE = (
    "{comm:>16}-{tid:<7} [000] d..2. {second}.{us:06d}: sched_switch: prev_comm={comm} "
    "prev_pid={tid} prev_prio=120 prev_state=R ==> next_comm={other} next_pid={next} next_prio=120"
)
# A clock that counts from 1970.
_SECOND = 1_700_000_000


# Of one CPU: a task, idle, ..., a millisecond each; of one switch a window without length.
def switches(path: Path, count: int = 4) -> Path:
    tasks = [("swapper/0", 0), ("openssl", 500)]
    lines = ["# tracer: nop", "#", "# entries-in-buffer/entries-written: 1/1   #P:1", "#"]
    for at in range(count):
        (comm, tid), (other, following) = tasks[at % 2], tasks[1 - at % 2]
        given = {"comm": comm, "tid": tid, "other": other, "next": following}
        lines.append(_LINE.format(second=_SECOND, us=1000 * at, **given))
    path.write_text("\n".join(lines) + "\n")
    return path
