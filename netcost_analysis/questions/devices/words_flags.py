# What looks wrong about interfaces, as a list for reading; HTML, names escaped.

import pandas as pd

from ..words import filled

# Alike flags that are told in full.
_MOST_ALIKE = 4
_SEVERITIES = {
    "warning": "CPU time or packets are lost",
    "clue": "something may be wrong",
    "note": "worth knowing",
}


def flag_list(flags: pd.DataFrame, unseen: list[str]) -> str:
    """The flags as a list, grave ones first, and what could raise none.

    Of one kind the first few are told with their figures, the others by name.

    unseen: what of the interfaces was not recorded.
    """
    lacking = ""
    if unseen:
        lacking = filled(
            "<p class='missing'>Not looked at, for it was not recorded: {unseen}. netcost-record "
            "keeps that in a bundle.</p>",
            unseen=", ".join(unseen),
        )
    if not len(flags):
        return f"<p>Nothing was found in what was recorded.</p>{lacking}"
    order = dict.fromkeys(zip(flags["severity"], flags["flag"], strict=True))
    items = "".join(
        _flag_items(flags[(flags["severity"] == severity) & (flags["flag"] == flag)])
        for severity, flag in order
    )
    shown = [name for name in _SEVERITIES if (flags["severity"] == name).any()]
    kinds = "; ".join(f"{name}: {_SEVERITIES[name]}" for name in shown)
    return f"<ul>{items}</ul><p>{kinds}.</p>{lacking}"


def _flag_items(flags: pd.DataFrame) -> str:
    first, others = flags[:_MOST_ALIKE], flags[_MOST_ALIKE:]
    if len(others) == 1:
        first, others = flags, others[:0]
    items = "".join(
        filled(
            "<li><b>{flag}</b> ({severity}): {why}.</li>",
            flag=row["flag"],
            severity=row["severity"],
            why=row["why"],
        )
        for row in first.to_dict("records")
    )
    if not len(others):
        return items
    names = [str(one) for one in others["device"].dropna()]
    return items + filled(
        "<li><b>{flag}</b> ({severity}): {more} more{names}.</li>",
        flag=first["flag"].iloc[0],
        severity=first["severity"].iloc[0],
        more=f"{len(others):,}",
        names=f": {', '.join(names)}" if names else "",
    )
