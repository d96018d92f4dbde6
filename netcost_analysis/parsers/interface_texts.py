# Texts about interfaces: ethtool -S and -i, and the files of /sys/class/net, which netcost-record
# lists in settings/queues as "PATH VALUE".

import re
from typing import Any

_STATISTIC = re.compile(r"^[ \t]*(\S.{0,200}?): ([0-9]{1,18})$", re.MULTILINE)
_FIELD = re.compile(r"^([\w-]+): (.+)$", re.MULTILINE)
_QUEUES = re.compile(r"/sys/class/net/([^/\s]+)/(?:queues/(rx|tx)-\d{1,6}/)?(\w+) (.*)")


def parse_ethtool_statistics(text: str) -> dict[str, int]:
    """The counters of `ethtool -S`: the driver's name to value."""
    return {name: int(value) for name, value in _STATISTIC.findall(text)}


def parse_ethtool_driver(text: str) -> dict[str, str]:
    """The fields of `ethtool -i`: "driver", "bus-info" and others to their values."""
    return dict(_FIELD.findall(text))


def queue_settings(text: str) -> dict[str, dict[str, Any]]:
    """master, rx_queues, rps, threaded and speed_bits_per_s of each device in settings/queues."""
    settings: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        match = _QUEUES.fullmatch(line)
        if match is None:
            continue
        name, direction, key, value = match.groups()
        fields = settings.setdefault(name, {})
        if direction == "rx" and key == "rps_cpus":
            fields["rx_queues"] = fields.get("rx_queues", 0) + 1
            steered = bool(re.search(r"[1-9a-f]", value))
            fields["rps"] = bool(fields.get("rps")) or steered
        elif direction is None and key == "threaded":
            fields["threaded"] = value == "1" if value in ("0", "1") else None
        elif direction is None and key == "master":
            fields["master"] = value
        elif direction is None and key == "speed":
            fields["speed_bits_per_s"] = _speed(value)
    return settings


def _speed(value: str) -> int | None:
    # From Mbit/s. SPEED_UNKNOWN is -1, which some kernels print unsigned.
    if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) == 0:
        return None
    return int(value) * 1_000_000
