# The tracing data that carries every event's format (tools/perf/util/trace-event-info.c).

from collections.abc import Mapping, Sequence

from .formats import Format
from .machine import Machine

HEADER_EVENT = (
    "# compressed entry header\n\ttype_len    :    5 bits\n"
    "\ttime_delta  :   27 bits\n"
    "\tarray       :   32 bits\n\n"
    "\tpadding     : type == 29\n\ttime_extend : type == 30\n"
    "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
)


# The file events/header_page: where the kernel's long is told, and how large a sub-buffer is.
def header_page(machine: Machine, page_size: int = 4096) -> str:
    commit, data = machine.word, 8 + machine.word
    return (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        f"\tfield: local_t commit;\toffset:8;\tsize:{commit};\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        f"\tfield: char data;\toffset:{data};\tsize:{page_size - data};\tsigned:0;\n"
    )


def tracing_data(
    machine: Machine,
    formats: Sequence[Format],
    saved_cmdlines: Mapping[int, str] = {},
    kallsyms: str = "",
    version: str = "0.6",
) -> bytes:
    def sized(content: str) -> bytes:
        return machine.pack("Q", len(content.encode())) + content.encode()

    data = b"\x17\x08\x44tracing" + version.encode() + b"\0"
    data += bytes([machine.order == ">", machine.word])
    # The size of a page.
    data += machine.pack("I", 4096)
    data += b"header_page\0" + sized(header_page(machine)) + b"header_event\0" + sized(HEADER_EVENT)
    # No formats of ftrace's own events.
    data += machine.pack("I", 0)
    systems = sorted({one.system for one in formats})
    data += machine.pack("I", len(systems))
    for system in systems:
        members = [one for one in formats if one.system == system]
        data += system.encode() + b"\0" + machine.pack("I", len(members))
        data += b"".join(sized(one.text(machine)) for one in members)
    data += machine.pack("I", len(kallsyms.encode())) + kallsyms.encode()
    # No formats of trace_printk.
    data += machine.pack("I", 0)
    if version < "0.6":
        return data
    return data + sized("".join(f"{pid} {comm}\n" for pid, comm in saved_cmdlines.items()))
