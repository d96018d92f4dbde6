# A recording of which only what a narrower machine can say is left.

from dataclasses import replace

from support.perfdata import Recording
from support.perfdata import happenings as h


# What a 32-bit machine can point at: its kernel lives in the upper half.
def narrow(one: h.Happening) -> h.Happening:
    if isinstance(one, h.NapiPoll):
        return replace(one, napi=one.napi & 0xFFFFFFFF | 0x80000000)
    if isinstance(one, h.Unrecorded | h.Spurious):
        return replace(one, what=narrow(one.what))
    return one


def narrowed(told: Recording) -> Recording:
    cpus = [
        replace(one, happenings=tuple(narrow(what) for what in one.happenings)) for one in told.cpus
    ]
    return replace(told, cpus=tuple(cpus))
