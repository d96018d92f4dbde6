# The parts of a trace.dat that both versions have: one after the other in 6, each a section in 7.

from collections.abc import Sequence

from support.perfdata.formats import Format
from support.perfdata.machine import Machine
from support.perfdata.tracing import HEADER_EVENT, header_page

from .contents import Contents


def header_info(one: Contents) -> bytes:
    page = header_page(one.machine, one.top.page_size)
    data = b"header_page\0" + sized(page, one.machine)
    return data + b"header_event\0" + sized(HEADER_EVENT, one.machine)


def own_formats(one: Contents) -> bytes:
    return one.machine.pack("I", len(one.own_formats)) + texts(one.own_formats, one.machine)


def event_formats(one: Contents) -> bytes:
    systems = sorted({format_.system for format_ in one.formats})
    data = one.machine.pack("I", len(systems))
    for system in systems:
        members = [format_ for format_ in one.formats if format_.system == system]
        data += system.encode() + b"\0" + one.machine.pack("I", len(members))
        data += texts(members, one.machine)
    return data


def kallsyms(one: Contents) -> bytes:
    return one.machine.pack("I", len(one.kallsyms.encode())) + one.kallsyms.encode()


def printk(one: Contents) -> bytes:
    return one.machine.pack("I", len(one.printk.encode())) + one.printk.encode()


def cmdlines(one: Contents) -> bytes:
    lines = (f"{pid} {comm}\n" for pid, comm in one.cmdlines.items())
    return sized("".join(lines), one.machine)


def texts(formats: Sequence[Format], machine: Machine) -> bytes:
    return b"".join(sized(one.text(machine), machine) for one in formats)


def sized(text: str, machine: Machine) -> bytes:
    return machine.pack("Q", len(text.encode())) + text.encode()
