"""JSON that strangers wrote, as structs: a field that is not of its type counts as absent."""

from contextlib import suppress
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Kind = TypeVar("Kind", bound=Struct)
# What is not of a type: another one, a number too large, a text that is no Unicode.
_UNFIT = (ValidationError, OverflowError, UnicodeEncodeError)
_fields = cache(fields)


def struct_of(kind: type[Kind], said: Any) -> Kind | None:
    """What an object of JSON says in the fields of a struct; None where one that it needs is not.

    Of a list the items stay that are of its type, of a tuple all or none.
    """
    if not isinstance(said, dict):
        return None
    with suppress(*_UNFIT):
        # Most objects are whole, and converting one at once takes a hundredth of the time.
        return convert(said, kind)
    values = {}
    for field in _fields(kind):
        if field.encode_name in said:
            with suppress(*_UNFIT):
                values[field.name] = _fitting(field.type, said[field.encode_name])
    try:
        return kind(**values)
    except TypeError:
        return None


def _fitting(kind: Any, value: Any) -> Any:
    # Raises ValidationError for what is not of that type.
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
