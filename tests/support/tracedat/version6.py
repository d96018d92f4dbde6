# A trace.dat of version 6 (trace-cmd up to 2.9.7, and later with --file-version 6): all headers in
# one fixed order, then for each buffer a table of its CPUs, and their pages.

from support.perfdata.features import sized
from support.perfdata.machine import padded

from . import options
from .contents import SECTIONS, Buffer, Contents


def write(one: Contents, old_clock: bool = False) -> bytes:
    """
    The bytes of the file.

    :param old_clock: the clock as 2.9 wrote it, not as 3.1 does
    """
    machine, top = one.machine, one.top
    data = one.magic(6) + b"".join(section(one) for section in SECTIONS.values())
    count = max(map(cpus, one.buffers))
    data += machine.pack("I", count) + b"options  \0"
    # The option says that a clock stands behind the table.
    shown = () if old_clock else (one.clock_file,)
    clock_option = [options.Option(options.TRACECLOCK, shown)] if top.text is None else []
    for option in (*clock_option, *one.options):
        data += option.encode(machine)
    # An instance's option says where its table stands: it is filled in once that is known.
    places = {}
    for instance in one.instances:
        option = options.Option(options.BUFFER, ((8, 0), instance.name))
        places[instance.name] = len(data) + 6
        data += option.encode(machine)
    data += machine.pack("H", options.DONE)
    if top.text is not None:
        return data + b"latency  \0" + top.text.encode()
    clock = one.clock_file if old_clock else f"[{top.clock}]"
    whole = bytearray(data)
    table(whole, one, top, count, clock)
    for instance in one.instances:
        place = places[instance.name]
        whole[place : place + 8] = machine.pack("Q", len(whole))
        table(whole, one, instance, count, clock)
    return bytes(whole)


# A CPU is known by its place in the table, of which all have the same length: gaps in their numbers
# are CPUs without data.
def cpus(buffer: Buffer) -> int:
    return max(buffer.rings, default=-1) + 1


def table(whole: bytearray, one: Contents, buffer: Buffer, count: int, clock: str) -> None:
    machine = one.machine
    pages = [buffer.rings.get(cpu, b"") for cpu in range(count)]
    text = sized(clock, machine)
    first = len(whole) + 10 + 16 * count + len(text)
    first += -first % one.page_size
    rows, offset = b"", first
    for data in pages:
        rows += machine.pack("QQ", offset, len(data))
        offset += len(padded(data, one.page_size))
    whole += b"flyrecord\0" + rows + text
    whole += bytes(first - len(whole)) + b"".join(padded(data, one.page_size) for data in pages)
