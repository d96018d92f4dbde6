# Masks hosts, addresses and identities anywhere in free text.

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from .names import Names

# Replaces a line or value of unknown meaning.
MASKED = "(masked)"

_MAC = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5,19}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
_UUID = re.compile(
    r"(?<![0-9A-Za-z-])(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32})"
    r"(?![0-9A-Za-z-])"
)
_IPV6 = re.compile(r"(?<![0-9A-Za-z:.])(?=[0-9A-Fa-f]*:[0-9A-Fa-f:]*:?)[0-9A-Fa-f:]{2,39}"
                   r"(?:\d+\.\d+\.\d+\.\d+)?(?![0-9A-Za-z:])")  # fmt: skip
# Not part of a longer dotted number, nor of a version such as "linux-6.1.0.4".
_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")


class FreeText:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: tuple[int, re.Pattern[str] | None] = (0, None)

    def masked(self, text: str) -> str:
        # Hosts first: the other replacements contain no host names.
        pattern = self._hosts()
        if pattern is not None:
            hosts = {name.lower(): new for name, new in self._names.hosts.items()}
            text = pattern.sub(lambda match: hosts[match[0].lower()], text)
        text = _UUID.sub(lambda match: self._names.identity(match[0]), text)
        text = _MAC.sub(self._mac, text)
        text = _IPV6.sub(self._address, text)
        return _IPV4.sub(self._address, text)

    def masked_json(
        self, value: Any, text: Callable[[tuple[str, ...], str], str], path: tuple[str, ...] = ()
    ) -> Any:
        # Keys are masked as free text, and each string by text(path of keys, string).
        if isinstance(value, dict):
            return {
                self.masked(key): self.masked_json(inner, text, (*path, key))
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self.masked_json(inner, text, path) for inner in value]
        return text(path, value) if isinstance(value, str) and value else value

    def left_in(self, text: str) -> str | None:
        # The kind of a name that a masked text still contains.
        low, given = text.lower(), set(self._names.map.values())
        for kind, original in self._names.map:
            known = original.lower()
            if kind in ("task", "path", "name") or known not in low or known in given:
                continue
            if re.search(rf"(?<![\w:.-]){re.escape(known)}(?![\w:-]|\.\w)", low):
                return kind
        return None

    def _hosts(self) -> re.Pattern[str] | None:
        hosts = self._names.hosts
        if self._known[0] != len(hosts):
            # Longest first, so that a name is replaced together with its domain.
            words = "|".join(sorted(map(re.escape, hosts), key=len, reverse=True))
            self._known = (
                len(hosts),
                re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE) if words else None,
            )
        return self._known[1]

    def _mac(self, match: re.Match[str]) -> str:
        original = bytes.fromhex(match[0].replace(":", ""))
        new = self._names.hardware(original)
        return match[0] if new == original else new.hex(":")

    def _address(self, match: re.Match[str]) -> str:
        text = match[0]
        # A trailing colon is not part of an address: "10.0.0.1:", "fe80::1:".
        rest = ""
        while True:
            try:
                ipaddress.ip_address(text)
                break
            except ValueError:
                if not text.endswith(":"):
                    return match[0]
                text, rest = text[:-1], ":" + rest
        return self._names.address(text) + rest
