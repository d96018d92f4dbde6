"""Converts untrusted JSON to structs: a field of the wrong type counts as absent."""

from contextlib import suppress
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Kind = TypeVar("Kind", bound=Struct)
# A value of another type, a number that is too large, a text that is not Unicode.
_UNFIT = (ValidationError, OverflowError, UnicodeEncodeError)
_fields = cache(fields)


def struct_of(kind: type[Kind], value: Any) -> Kind | None:
    """Convert a JSON object to a struct; None if a required field is absent or of the wrong type.

    A list keeps the items of its type; a tuple keeps all of them or none.
    """
    if not isinstance(value, dict):
        return None
    with suppress(*_UNFIT):
        # Most objects are valid, and converting one in a single step is 100 times as fast.
        return convert(value, kind)
    values = {}
    for field in _fields(kind):
        if field.encode_name in value:
            with suppress(*_UNFIT):
                values[field.name] = _fitting(field.type, value[field.encode_name])
    try:
        return kind(**values)
    except TypeError:
        return None


def _fitting(kind: Any, value: Any) -> Any:
    # Raises ValidationError for a value of the wrong type.
    for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if get_origin(part) is list and isinstance(value, list):
            items = []
            for item in value:
                with suppress(*_UNFIT):
                    items.append(_fitting(get_args(part)[0], item))
            return items
        if isinstance(value, dict) and isinstance(part, type) and issubclass(part, Struct):
            if (made := struct_of(part, value)) is None:
                raise ValidationError
            return made
    return convert(value, kind)
