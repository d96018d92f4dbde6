# What `perf record -o -` writes: everything is a record.

from collections.abc import Iterable, Sequence

from .attr import Attr
from .container import Records, magic
from .encoder import Encoder
from .features import COMPRESSED, TRACING_DATA, USUAL_HEADER, Header, features
from .formats import Format
from .machine import X86_64, Machine, padded
from .packing import compressed_records
from .synthesised import EventType, HeaderFeature, Other

HEADER_ATTR, HEADER_TRACING_DATA = 64, 66
# ChromeOS' old pipes had a record type per feature: this plus the feature, up to the last.
OLD_FEATURES, LAST_OLD_FEATURE = 66, 14


def attr_record(attr: Attr, machine: Machine) -> Other:
    # misc means nothing here, and perf 3.3 left in it what was on its stack.
    return Other(HEADER_ATTR, padded(attr.encode(machine), 8) + machine.words(attr.ids), 4140)


# Like AUXTRACE: header.size covers the size word and not what follows it.
def tracing_record(tracing: bytes, machine: Machine) -> bytes:
    data = padded(tracing, 8)
    return machine.pack("IHH", HEADER_TRACING_DATA, 0, 12) + machine.pack("I", len(data)) + data


def write_pipe(
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Records,
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
    *,
    compressed: int = 0,
) -> bytes:
    """
    Bytes of a perf.data pipe.

    :param compressed: 0, or the version (1, 2) of the COMPRESSED records to pack the data into
    """
    encoder = Encoder(attrs, machine)
    found = features(machine, header, attrs, formats)
    tracing = found.pop(TRACING_DATA, None)
    if compressed:
        found[COMPRESSED] = machine.pack("IIIII", compressed, 1, 1, 4, 528384)
    result = magic(machine) + machine.pack("Q", 16)
    result += encoder.all(attr_record(attr, machine) for attr in attrs)
    result += encoder.all(HeaderFeature(bit, data) for bit, data in sorted(found.items()))
    if tracing is not None:
        result += tracing_record(tracing, machine)
    data = encoder.all(records)
    return result + (compressed_records(data, compressed, machine) if compressed else data)


# perf before 3.11: no features in a pipe, names as records of their own. ChromeOS' perf put the
# features in front of everything, under numbers that mean other things elsewhere.
def write_old_pipe(
    attrs: Sequence[Attr],
    formats: Iterable[Format],
    records: Records,
    header: Header = USUAL_HEADER,
    machine: Machine = X86_64,
    *,
    chrome: bool = False,
) -> bytes:
    encoder = Encoder(attrs, machine)
    found = features(machine, header, attrs, formats)
    tracing = found.pop(TRACING_DATA, None)
    result = magic(machine) + machine.pack("Q", 16)
    if chrome:
        old = {bit: data for bit, data in found.items() if bit <= LAST_OLD_FEATURE}
        result += encoder.all(Other(OLD_FEATURES + bit, data) for bit, data in old.items())
    result += encoder.all(attr_record(attr, machine) for attr in attrs)
    result += encoder.all(EventType(attr.config, attr.name) for attr in attrs)
    if tracing is not None:
        result += tracing_record(tracing, machine)
    return result + encoder.all(records)
