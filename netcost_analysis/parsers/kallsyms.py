# /proc/kallsyms: a symbol a line, "ffffffff81000000 T name [module]".

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_HIGHEST = 2**64


def parse_kallsyms(text: str) -> "pd.DataFrame":
    # A row per symbol, in the recorded order; lines that are none are left out.
    import numpy as np
    import pandas as pd

    addresses: list[int] = []
    types: list[str] = []
    names: list[str] = []
    modules: list[str | None] = []
    for line in text.split("\n"):
        words = line.split()
        if len(words) < 3 or len(words[1]) != 1:
            continue
        try:
            address = int(words[0], 16)
        except ValueError:
            continue
        if not 0 <= address < _HIGHEST:
            continue
        addresses.append(address)
        types.append(words[1])
        names.append(words[2])
        modules.append(words[3].strip("[]") if len(words) > 3 else None)
    return pd.DataFrame(
        {
            "address": np.array(addresses, dtype="u8"),
            "type": pd.Categorical(types),
            "name": pd.Series(names, dtype="str"),
            "module": pd.Categorical(modules),
        }
    )
