# The names of formats' own fields.

from collections.abc import Iterable

from support.perfdata.formats import Format


def names(formats: Iterable[Format]) -> dict[str, list[str]]:
    return {
        one.name: [field.name for field, _ in one.offsets()[len(one.common) :]] for one in formats
    }
