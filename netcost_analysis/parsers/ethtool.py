# What `ethtool -S` and `ethtool -i` print.

import re

_STATISTIC = re.compile(r"^[ \t]*(\S.{0,200}?): ([0-9]{1,18})$", re.MULTILINE)
_FIELD = re.compile(r"^([\w-]+): (.+)$", re.MULTILINE)


def parse_ethtool_statistics(text: str) -> dict[str, int]:
    """What `ethtool -S` printed: counter to value, as the driver names it."""
    return {name: int(value) for name, value in _STATISTIC.findall(text)}


def parse_ethtool_driver(text: str) -> dict[str, str]:
    """What `ethtool -i` printed: "driver", "bus-info" and other fields to their values."""
    return dict(_FIELD.findall(text))
