# What stands in the place of each name in a masked recording, and the private map of it.

import ipaddress
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .._native import CaptureError
from .addresses import Addresses, HardwareAddresses

KINDS = ("host", "task", "path", "ipv4", "ipv6", "mac", "id", "name")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
# What a name of a kind is called; a shorter one where there is no room.
_CALLED = {"host": ("host", "h"), "task": ("task", "t"), "path": ("/file", "/")}
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\\\udc80-\udcff]")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")

# The idle task as tools print it, and a task whose name they do not know.
_NOBODY = re.compile(r"swapper(/\d+)?|idle|<idle>|<\.\.\.>|:?-1")
# Threads that every kernel has.
_KERNEL_THREAD = re.compile(
    r"ksoftirqd/\d+|kworker/.*|migration/\d+|cpuhp/\d+"
    r"|rcu_[a-z_]+(/\d+)?|rcu[a-z]*/[\d/]+|irq/\d+-.*|napi/.*|backlog_napi/\d+|ktimers(oftd)?/\d+"
    r"|kthreadd|kswapd\d+|kcompactd\d+|khugepaged|kauditd|watchdogd?(/\d+)?|idle_inject/\d+"
    r"|vhost-\d+|oom_reaper|kdevtmpfs|posixcputmr/\d+|khungtaskd|ksmd|hwrng|kdamond\.\d+|psimon"
    r"|pool_workqueue_(release)?|kthrotld|jbd2/.*|scsi_(eh|tmf)_\d+|card\d-crtc\d"
)
# Names of mappings and files that name no program of the host's.
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
    # A number alone would be found in every number.
    return kind == "host" and (name.lower() in _COMMON_HOSTS or name.isdigit())


class Names:
    # One map for a bundle's texts and traces.

    def __init__(self) -> None:
        self.map: dict[tuple[str, str], str] = {}
        self._taken: dict[str, set[str]] = {kind: set() for kind in KINDS}
        # What an earlier masking left: masked already.
        self._masked: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self._next = dict.fromkeys(KINDS, 1)
        self._addresses = Addresses()
        self._hardware = HardwareAddresses()
        self._foreign: list[str] = []

    def name(self, kind: str, original: str) -> str:
        # A host, task or path; never longer in bytes than the original.
        known = self.map.get((kind, original))
        if known is not None:
            return known
        if original in self._masked[kind] or _is_kept(kind, original) or not original:
            return original
        return self._keep(kind, original, self._new_name(kind, original))

    def _new_name(self, kind: str, original: str) -> str:
        room = len(original.encode("utf-8", "surrogateescape"))
        while True:
            number = self._next[kind]
            for called in _CALLED[kind]:
                name = f"{called}{number}"
                if len(name) <= room:
                    self._next[kind] += 1
                    if name not in self._taken[kind] and name != original:
                        return name
                    break
            else:
                return self._short_name(kind, original, room)

    def _short_name(self, kind: str, original: str, room: int) -> str:
        # A letter and then letters and digits, as many as there is room for.
        begin = "/" if kind == "path" else ""
        width = min(room - len(begin), 4)
        for number in range(26 * 36 ** (width - 1) if width > 0 else 0):
            letters, rest = "", number
            for _ in range(width - 1):
                letters, rest = _LETTERS[rest % 36] + letters, rest // 36
            name = begin + _LETTERS[rest] + letters
            if name != original and name not in self._taken[kind]:
                return name
        return "?" * room

    def label(self, original: str) -> str:
        # What somebody called a file, a folder or a network namespace; it may be longer.
        known = self.map.get(("name", original))
        if known is not None or original in self._masked["name"] or not original:
            return original if known is None else known
        while True:
            name = f"name{self._next['name']}"
            self._next["name"] += 1
            if name not in self._taken["name"] and name != original:
                return self._keep("name", original, name)

    def host(self, original: str) -> str:
        # With and without its domain it is the same host; many are told by their address.
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
        # An IPv4 or IPv6 address as text; raises ValueError where it is none.
        address = ipaddress.ip_address(original)
        kind, text = f"ipv{address.version}", str(address)
        known = self.map.get((kind, text))
        if known is None:
            if text in self._masked[kind]:
                return text
            known = str(self._addresses.replacement(address))
            if known != text:
                self._keep(kind, text, known)
        return known

    def packed_address(self, original: bytes) -> bytes:
        text = str(ipaddress.ip_address(original))
        return ipaddress.ip_address(self.address(text)).packed

    def hardware(self, original: bytes) -> bytes:
        text = original.hex(":")
        known = self.map.get(("mac", text))
        if known is None:
            if text in self._masked["mac"]:
                return original
            known = self._hardware.replacement(original).hex(":")
            if known != text:
                self._keep("mac", text, known)
        return bytes.fromhex(known.replace(":", ""))

    def identity(self, original: str) -> str:
        # A UUID or the like: as long, its dashes where they were.
        known = self.map.get(("id", original.lower()))
        if known is None:
            if original.lower() in self._masked["id"] or not original.strip("0-"):
                return original
            number = f"{self._next['id']:x}"
            self._next["id"] += 1
            digits = number.rjust(sum(letter != "-" for letter in original), "0")
            place = iter(digits)
            known = "".join("-" if letter == "-" else next(place) for letter in original)
            self._keep("id", original.lower(), known)
        return known

    def _keep(self, kind: str, original: str, replacement: str) -> str:
        self.map[kind, original] = replacement
        self._taken[kind].add(replacement)
        return replacement

    def load(self, path: Path) -> None:
        # Takes over what an earlier masking replaced. Raises CaptureError where it is no such map.
        pairs = list(_lines(path))
        for kind, original, replacement in pairs:
            if kind not in KINDS:
                self._foreign.append(f"{kind}\t{original}\t{replacement}")
                continue
            self._keep(kind, original, replacement)
            self._masked[kind].add(replacement)
            if (kind in _CALLED or kind == "name") and (number := re.search(r"\d+$", replacement)):
                self._next[kind] = max(self._next[kind], int(number[0]) + 1)
        known = [(kind, one, other) for kind, one, other in pairs if kind in ("ipv4", "ipv6")]
        try:
            self._addresses.know(
                (ipaddress.ip_address(one), ipaddress.ip_address(other)) for _, one, other in known
            )
            macs = [
                bytes.fromhex(other.replace(":", "")) for kind, _, other in pairs if kind == "mac"
            ]
        except ValueError as error:
            raise CaptureError(f"{path} is no map of names: {error}") from None
        self._hardware.know(macs)
        self._next["id"] += sum(kind == "id" for kind, _, _ in pairs)

    def save(self, path: Path) -> None:
        # Private: whoever has it can undo the masking.
        lines = [
            f"{kind}\t{_ESCAPED.sub(_escaped, one)}\t{other}"
            for (kind, one), other in self.map.items()
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
    # A cgroup's path: any part of it can be somebody's name.
    return "/".join(names.label(part) if part else "" for part in path.split("/"))


def require_plain(path: Path) -> None:
    # Renamed over a device or a link, the map would take its place.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise CaptureError(f"{path} is no file: --map wants one, or a name that is free")


def _escaped(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]) & 0xFF:02x}"


def _lines(path: Path) -> Iterator[tuple[str, str, str]]:
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 3:
            raise CaptureError(
                f"{path} is no map of names: line {number} is not KIND, ORIGINAL and REPLACEMENT"
            )
        kind, original, replacement = parts
        original = _ESCAPE.sub(_unescaped, original)
        yield kind, original, replacement


def _unescaped(found: re.Match[str]) -> str:
    return bytes([int(found[1], 16)]).decode("ascii", "surrogateescape")
