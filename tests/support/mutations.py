# Damaged captures without end: each is a number, from which alone it follows.

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.capture_spots import spots
from support.small_captures import small_captures

WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Mutant:
    number: int
    # Kind of capture, and what was done to it.
    kind: str
    done: tuple[str, ...]
    files: dict[str, bytes]

    def __str__(self) -> str:
        return f"mutant {self.number} ({self.kind}: {', '.join(self.done)})"

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


def mutant(number: int) -> Mutant:
    random = Random(number)
    captures = small_captures()
    kind = sorted(captures)[number % len(captures)]
    small = captures[kind]
    done: list[str] = []
    if small.pack is not None and random.random() < 0.6:
        data = small.pack(damaged(small.inside, random, done))
        return Mutant(number, kind, ("inside", *done), {"data": data})
    files = dict(small.files)
    name = random.choice([name for name, data in files.items() if data])
    files[name] = damaged(files[name], random, done)
    return Mutant(number, kind, tuple(done), files)


def damaged(whole: bytes, random: Random, done: list[str]) -> bytes:
    data = bytearray(whole)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        damage = random.choice(DAMAGES)
        damage(data, whole, random)
        done.append(damage.__name__)
    return bytes(data)


# Headers, formats and records have equal chances, whatever their sizes.
def place(data: bytearray, whole: bytes, random: Random) -> int:
    found = spots(whole)
    choice = random.randrange(4)
    if choice == 0 and found.fields:
        at = random.choice(found.fields)[0]
    elif choice == 1 and found.records:
        start, size = random.choice(found.records)
        at = start + random.randrange(size)
    elif choice == 2:
        at = random.randrange(min(len(data), 256) or 1)
    else:
        at = random.randrange(len(data) or 1)
    return min(at, max(len(data) - 1, 0))


def flipped_bits(data: bytearray, whole: bytes, random: Random) -> None:
    for _ in range(random.choice((1, 1, 2, 8))):
        if data:
            data[place(data, whole, random)] ^= 1 << random.randrange(8)


def set_bytes(data: bytearray, whole: bytes, random: Random) -> None:
    at, width = place(data, whole, random), random.choice(WIDTHS)
    value = random.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF, random.randrange(256)))
    write(data, at, bytes([value]) * width)


# What sizes, counts and offsets are when they are damaged, or meant to hurt.
def set_number(data: bytearray, whole: bytes, random: Random) -> None:
    found = spots(whole)
    at, width = random.choice(found.fields) if found.fields else (place(data, whole, random), 4)
    order = "little" if found.order == "<" else "big"
    now = int.from_bytes(data[at : at + width], order)  # type: ignore[arg-type]
    top = 1 << 8 * width
    value = random.choice(
        (
            *(0, 1, 2, 7, 8, 9, 12, 16, 24, 63, 64, 65, 255, 256, 4096, 65535, 65536),
            *(
                now + 1,
                now - 1,
                now + 8,
                now - 8,
                2 * now,
                now // 2,
                now ^ 1 << random.randrange(64),
            ),
            *(len(data), len(data) - at, len(data) - 8, len(data) + 8, 1 << 24, 1 << 28),
            *(1 << 31, (1 << 31) - 1, 1 << 32, (1 << 32) - 1, 1 << 40, 1 << 62, 1 << 63),
            *(-1, -2, -8, -16, -4096, now ^ 1 << random.randrange(64)),
        )
    )
    write(data, at, (value % top).to_bytes(width, order))  # type: ignore[arg-type]


def cut_short(data: bytearray, whole: bytes, random: Random) -> None:
    del data[place(data, whole, random) :]


def inserted(data: bytearray, whole: bytes, random: Random) -> None:
    at, size = place(data, whole, random), random.choice((1, 2, 4, 8, 16, 100))
    data[at:at] = random.choice((bytes(size), b"\xff" * size, random.randbytes(size)))


def taken_out(data: bytearray, whole: bytes, random: Random) -> None:
    at = place(data, whole, random)
    del data[at : at + random.choice((1, 2, 4, 8, 16, 100, 1000))]


# A piece of another capture, over this one's bytes or between them.
def spliced(data: bytearray, whole: bytes, random: Random) -> None:
    donors = [one.inside or one.files["data"] for one in small_captures().values()]
    donor = random.choice(donors)
    start, size = place(bytearray(donor), donor, random), random.choice((8, 64, 300, 2000))
    at = place(data, whole, random)
    data[at : at + random.choice((0, size))] = donor[start : start + size]


def moved_records(data: bytearray, whole: bytes, random: Random) -> None:
    found = spots(whole).records
    if not found:
        return taken_out(data, whole, random)
    at, size = random.choice(found)
    one = bytes(data[at : at + size])
    match random.randrange(3):
        case 0:
            data[at:at] = one * random.choice((1, 2, 20))
        case 1:
            del data[at : at + size]
        case _:
            to = random.choice(found)[0]
            data[to:to] = one
    return None


def write(data: bytearray, at: int, what: bytes) -> None:
    data[at : at + len(what)] = what[: max(len(data) - at, 0)]


Damage = Callable[[bytearray, bytes, Random], None]
# Twice what gets furthest: plain noise mostly fails early.
DAMAGES: tuple[Damage, ...] = (
    *(set_number, set_number, set_number, flipped_bits, set_bytes, set_bytes),
    *(cut_short, inserted, taken_out, spliced, moved_records, moved_records),
)


def lay_out(one: Mutant, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in one.files.items():
        (folder / name).write_bytes(data)
    return folder if len(one.files) > 1 else folder / "data"
