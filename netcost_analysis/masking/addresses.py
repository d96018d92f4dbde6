# Replacements for IP and hardware addresses. Addresses that share a prefix still share one of the
# same length, so every subnet keeps its shape: docs/mask.md#addresses.

import ipaddress
import secrets
from collections.abc import Callable, Iterable

# These prefixes stay, to keep the class of an address visible.
_SPECIAL = {
    4: (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 "
        "192.168.0.0/16 224.0.0.0/3"
    ),
    6: "::/8 2000::/3 fc00::/8 fd00::/8 fe80::/64 ff00::/8",
}
# The host part begins here at the latest.
_HOST_BITS = {4: 24, 6: 64}
_SIZE = {4: 32, 6: 128}
# Multicast groups that contain part of a host's address.
_SOLICITED = ipaddress.ip_network("ff02::1:ff00:0/104")
_MAPPED = ipaddress.ip_network("::ffff:0:0/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _network_bits(text: str) -> str:
    network = ipaddress.ip_network(text)
    return _bits(network.network_address)[: network.prefixlen]


def _bits(address: Address) -> str:
    return f"{int(address):0{_SIZE[address.version]}b}"


def is_kept(address: Address) -> bool:
    # Addresses that every host uses, and netmasks.
    if address.version == 4:
        first = int(address) >> 24
        return first in (0, 127) or first >= 224
    if address in _MAPPED:
        return False
    return (
        address.is_loopback
        or address.is_unspecified
        or (address.is_multicast and address not in _SOLICITED)
    )


class Addresses:
    # _turned: for each prefix seen so far, whether the next bit is flipped.

    def __init__(self, coin: Callable[[], int] = lambda: secrets.randbits(1)) -> None:
        self._coin = coin
        self._turned: dict[tuple[int, str], int] = {}
        self._special = {
            version: {
                bits[:size]
                for bits in map(_network_bits, networks.split())
                for size in range(len(bits))
            }
            for version, networks in _SPECIAL.items()
        }

    def know(self, pairs: Iterable[tuple[Address, Address]]) -> None:
        # Reuse the decisions of an earlier masking.
        for original, replacement in pairs:
            bits, other = _bits(original), _bits(replacement)
            for at in range(len(bits)):
                self._turned[original.version, bits[:at]] = int(bits[at] != other[at])

    def replacement(self, address: Address) -> Address:
        if is_kept(address):
            return address
        if address.version == 6 and address in _MAPPED:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
            return ipaddress.IPv6Address((0xFFFF << 32) | int(self.replacement(inside)))
        bits = _bits(address)
        begin = 104 if address.version == 6 and address in _SOLICITED else 0
        free, out = False, bits[:begin]
        for at in range(begin, len(bits)):
            prefix = bits[:at]
            if begin == 0 and prefix in self._special[address.version]:
                out += bits[at]
                continue
            out += str(int(bits[at]) ^ self._turn(address.version, prefix, free or begin > 0))
            free = True
        return type(address)(int(out, 2))

    def _turn(self, version: int, prefix: str, free: bool) -> int:
        host = _HOST_BITS[version]
        if len(prefix) >= host:
            host_bits = prefix[host:]
            # The network's address, its first host and the IPv4 broadcast stay recognizable.
            if "1" not in host_bits or (version == 4 and "0" not in host_bits):
                return 0
        key = (version, prefix)
        if key not in self._turned:
            is_first = not free and len(prefix) < host
            self._turned[key] = 1 if is_first else self._coin()
        return self._turned[key]


class HardwareAddresses:
    # Replacements are numbered and locally administered, so that they hide the vendor.

    def __init__(self) -> None:
        self._next = 0

    def know(self, replacements: Iterable[bytes]) -> None:
        for replacement in replacements:
            self._next = max(self._next, int.from_bytes(replacement[-2:], "big"))

    def replacement(self, address: bytes) -> bytes:
        if _is_common(address):
            return address
        self._next += 1
        number = self._next.to_bytes(max(2, (self._next.bit_length() + 7) // 8), "big")
        start = b"\x33\x33\xff" if address.startswith(b"\x33\x33") else b"\x02"
        return start + bytes(len(address) - len(start) - len(number)) + number


def _is_common(address: bytes) -> bool:
    return (
        address in (bytes(len(address)), b"\xff" * len(address))
        or address.startswith((b"\x01\x80\xc2", b"\x01\x00\x5e"))
        or (len(address) == 6 and address.startswith(b"\x33\x33\x00\x00\x00"))
    )
