# What netcost-record --check says, taken apart.


def verdict(text: str) -> dict[str, tuple[str, str]]:
    lines = [line.split(maxsplit=2) for line in text.splitlines() if not line.startswith("verdict")]
    return {what: (state, why) for what, state, why in lines}
