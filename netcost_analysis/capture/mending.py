# Manifests that an older netcost-record wrote under a locale with a decimal comma: awk put it into
# the victim's times, and `"user_s": 1,000000` is no JSON.

import json
import re
from typing import Any

# The numbers with six decimals that it wrote. In a string the quotes would be escaped.
_COMMA = re.compile(
    r'("(user_s|system_s|wall_s|duration_s)":[ \t]*[0-9]{1,12}),([0-9]{6})(?=[ \t\r\n]*[,}])'
)


def manifest_of(text: str) -> tuple[Any, str | None]:
    """What a manifest says, and what had to be mended for that, None where nothing.

    Raises ValueError, or RecursionError, where it is no JSON even so.
    """
    try:
        return json.loads(text), None
    except ValueError:
        mended = _COMMA.sub(r"\1.\3", text)
        if mended == text:
            raise
        manifest = json.loads(mended)
    found = [(match[2], match[3]) for match in _COMMA.finditer(text)]
    names = ", ".join(dict.fromkeys(name for name, _ in found))
    note = f"decimal commas in {names} were read as points: recorded under such a locale"
    # The same awk did not read the fraction of a time with a point.
    cut = list(dict.fromkeys(name for name, decimals in found if not int(decimals)))
    if cut:
        note += f"; {', '.join(cut)} may be up to a second more, for its decimals are gone"
    return manifest, note
