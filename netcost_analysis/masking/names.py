# The replacement for each name in a masked recording, and the private map of them.

import ipaddress
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from .._native import CaptureError
from .addresses import Addresses, HardwareAddresses

KINDS = ("host", "task", "path", "ipv4", "ipv6", "mac", "id", "name")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Prefixes of replacements: the second is for originals too short for the first.
_CALLED = {"host": ("host", "h"), "task": ("task", "t"), "path": ("/file", "/")}
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\\\udc80-\udcff]")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")

# How tools print the idle task, and a task of unknown name.
_NOBODY = re.compile(r"swapper(/\d+)?|idle|<idle>|<\.\.\.>|:?-1")
# Threads that every kernel has.
_KERNEL_THREAD = re.compile(
    r"ksoftirqd/\d+|kworker/.*|migration/\d+|cpuhp/\d+"
    r"|rcu_[a-z_]+(/\d+)?|rcu[a-z]*/[\d/]+|irq/\d+-.*|napi/.*|backlog_napi/\d+|ktimers(oftd)?/\d+"
    r"|kthreadd|kswapd\d+|kcompactd\d+|khugepaged|kauditd|watchdogd?(/\d+)?|idle_inject/\d+"
    r"|vhost-\d+|oom_reaper|kdevtmpfs|posixcputmr/\d+|khungtaskd|ksmd|hwrng|kdamond\.\d+|psimon"
    r"|pool_workqueue_(release)?|kthrotld|jbd2/.*|scsi_(eh|tmf)_\d+|card\d-crtc\d"
)
# Mappings and files that every host has.
_COMMON_PATH = re.compile(
    r"\[.*\](_text|_stext)?|//anon|/anon_hugepage.*|/dev/zero.*|/proc(/.*)?|/sys(/.*)?|/dev/null|/"
    r"|/lib/modules/.*|/usr/lib/modules/.*|anon_inode:.*|socket:|pipe:|bpf_.*"
)
_COMMON_HOSTS = {"localhost", "localhost.localdomain", "(none)", "unknown"}


def is_kernel_thread(name: str) -> bool:
    return _KERNEL_THREAD.fullmatch(name) is not None


def is_kept_task(name: str) -> bool:
    return is_kernel_thread(name) or _NOBODY.fullmatch(name) is not None


def _is_kept(kind: str, name: str) -> bool:
    if kind == "task":
        return is_kept_task(name)
    if kind == "path":
        return _COMMON_PATH.fullmatch(name) is not None
    # A host name of digits alone would match other numbers.
    return kind == "host" and (name.lower() in _COMMON_HOSTS or name.isdigit())


class Names:
    # All texts and traces of a bundle share one map.

    def __init__(self) -> None:
        self.map: dict[tuple[str, str], str] = {}
        self._used: dict[str, set[str]] = {kind: set() for kind in KINDS}
        # Replacements from an earlier masking, which must not be masked again.
        self._masked: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self._next = dict.fromkeys(KINDS, 1)
        self._addresses = Addresses()
        self._hardware = HardwareAddresses()
        self._foreign: list[str] = []

    def name(self, kind: str, original: str) -> str:
        # For a host, task or path. The replacement has no more bytes than the original.
        if not original or _is_kept(kind, original):
            return self.map.get((kind, original), original)
        return self._known(kind, original, lambda: self._new_name(kind, original))

    def _new_name(self, kind: str, original: str) -> str:
        length = len(original.encode("utf-8", "surrogateescape"))
        while True:
            number = self._next[kind]
            for called in _CALLED[kind]:
                name = f"{called}{number}"
                if len(name) <= length:
                    self._next[kind] += 1
                    if name not in self._used[kind] and name != original:
                        return name
                    break
            else:
                return self._short_name(kind, original, length)

    def _short_name(self, kind: str, original: str, length: int) -> str:
        # A letter, then up to three letters or digits.
        begin = "/" if kind == "path" else ""
        width = min(length - len(begin), 4)
        for number in range(26 * 36 ** (width - 1) if width > 0 else 0):
            letters, rest = "", number
            for _ in range(width - 1):
                letters, rest = _LETTERS[rest % 36] + letters, rest // 36
            name = begin + _LETTERS[rest] + letters
            if name != original and name not in self._used[kind]:
                return name
        return "?" * length

    def label(self, original: str) -> str:
        # For a file, folder or network namespace. The label may be longer than the original.
        def numbered() -> str:
            while True:
                name = f"name{self._next['name']}"
                self._next["name"] += 1
                if name not in self._used["name"] and name != original:
                    return name

        return self._known("name", original, numbered) if original else original

    def host(self, original: str) -> str:
        # A host has the same replacement with and without its domain. Addresses are hosts too.
        with suppress(ValueError):
            return self.address(original)
        short = original.partition(".")[0]
        if original in self._masked["host"] or _is_kept("host", original):
            return original
        if ("host", original) not in self.map and not short.isdigit():
            name = self.name("host", short)
            self._keep("host", original, name)
        return self.name("host", original)

    @property
    def hosts(self) -> dict[str, str]:
        return {original: new for (kind, original), new in self.map.items() if kind == "host"}

    def address(self, original: str) -> str:
        # For an IPv4 or IPv6 address as text. Raises ValueError for any other text.
        address = ipaddress.ip_address(original)
        return self._known(
            f"ipv{address.version}",
            str(address),
            lambda: str(self._addresses.replacement(address)),
        )

    def packed_address(self, original: bytes) -> bytes:
        text = str(ipaddress.ip_address(original))
        return ipaddress.ip_address(self.address(text)).packed

    def hardware(self, original: bytes) -> bytes:
        new = self._known(
            "mac", original.hex(":"), lambda: self._hardware.replacement(original).hex(":")
        )
        return bytes.fromhex(new.replace(":", ""))

    def identity(self, original: str) -> str:
        # For a UUID or the like. Length and dashes stay.
        def numbered() -> str:
            digits = iter(f"{self._next['id']:x}".rjust(len(original.replace("-", "")), "0"))
            self._next["id"] += 1
            return "".join("-" if letter == "-" else next(digits) for letter in original)

        low = original.lower()
        is_masked = ("id", low) not in self.map and low in self._masked["id"]
        if not original.strip("0-") or is_masked:
            return original
        return self._known("id", low, numbered)

    def _known(self, kind: str, original: str, make: Callable[[], str]) -> str:
        known = self.map.get((kind, original))
        if known is None:
            known = original if original in self._masked[kind] else make()
            if known != original:
                self._keep(kind, original, known)
        return known

    def _keep(self, kind: str, original: str, replacement: str) -> str:
        self.map[kind, original] = replacement
        self._used[kind].add(replacement)
        return replacement

    def load(self, path: Path) -> None:
        # Reuse the replacements of an earlier masking.
        pairs, addresses, macs = list(_lines(path)), [], []
        try:
            for kind, original, replacement in pairs:
                if kind not in KINDS:
                    self._foreign.append(f"{kind}\t{original}\t{replacement}")
                    continue
                self._keep(kind, original, replacement)
                self._masked[kind].add(replacement)
                if kind in ("ipv4", "ipv6"):
                    address, other = map(ipaddress.ip_address, (original, replacement))
                    addresses.append((address, other))
                elif kind == "mac":
                    macs.append(bytes.fromhex(replacement.replace(":", "")))
                elif kind == "id":
                    self._next["id"] += 1
                elif number := re.search(r"\d+$", replacement):
                    self._next[kind] = max(self._next[kind], int(number[0]) + 1)
            self._addresses.know(addresses)
        except ValueError as error:
            raise CaptureError(f"{path} is not a map of names: {error}") from None
        self._hardware.know(macs)

    def save(self, path: Path) -> None:
        # The file is private (0600), because the map undoes the masking.
        lines = [
            f"{kind}\t{_ESCAPED.sub(_escaped, original)}\t{other}"
            for (kind, original), other in self.map.items()
        ]
        text = "".join(f"{line}\n" for line in [*lines, *self._foreign])
        require_plain(path)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def masked_cgroup(names: Names, path: str) -> str:
    # Any part of a cgroup's path can be a name.
    return "/".join(names.label(part) if part else "" for part in path.split("/"))


def require_plain(path: Path) -> None:
    # save() renames a draft over the path, which would replace a device or a link.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise CaptureError(f"{path} is not a file: --map takes a file or a new name")


def _escaped(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]) & 0xFF:02x}"


def _lines(path: Path) -> Iterator[tuple[str, str, str]]:
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 3:
            raise CaptureError(
                f"{path} is not a map of names: line {number} is not KIND, ORIGINAL and REPLACEMENT"
            )
        kind, original, replacement = parts
        original = _ESCAPE.sub(_unescaped, original)
        yield kind, original, replacement


def _unescaped(match: re.Match[str]) -> str:
    return bytes([int(match[1], 16)]).decode("ascii", "surrogateescape")
