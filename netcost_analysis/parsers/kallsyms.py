# /proc/kallsyms: a symbol per line, "ffffffff81000000 T name [module]".

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_HIGHEST = 2**64
# A line, and a line whose address is not hidden.
_SYMBOL = re.compile(r"^[0-9a-f]{8,16} [A-Za-z] \S", re.MULTILINE)
_PLACED = re.compile(r"^0*[1-9a-f][0-9a-f]* [A-Za-z] \S", re.MULTILINE)


def has_symbols(text: str) -> bool:
    return _SYMBOL.search(text) is not None


def has_addresses(text: str) -> bool:
    # The kernel shows addresses only to root; hidden ones are zeros.
    return _PLACED.search(text) is not None


def parse_kallsyms(text: str) -> "pd.DataFrame":
    # A row per symbol in file order; invalid lines are left out.
    import numpy as np
    import pandas as pd

    symbols: list[tuple[int, str, str, str | None]] = []
    for line in text.split("\n"):
        words = line.split()
        if len(words) < 3 or len(words[1]) != 1:
            continue
        try:
            address = int(words[0], 16)
        except ValueError:
            continue
        if 0 <= address < _HIGHEST:
            module = words[3].strip("[]") if len(words) > 3 else None
            symbols.append((address, words[1], words[2], module))
    addresses, types, names, modules = zip(*symbols, strict=True) if symbols else ((), (), (), ())
    return pd.DataFrame(
        {
            "address": np.array(addresses, dtype="u8"),
            "type": pd.Categorical(types),
            "name": pd.Series(names, dtype="str"),
            "module": pd.Categorical(modules),
        }
    )
