# Damaged captures without end: each is a number, from which alone it follows. Thousands more are
# read by native/tests/bounds/mutants.rs, which damages in the same way.

from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.small_captures import small_captures

# What sizes, counts and offsets are when they are damaged, or meant to hurt.
NUMBERS = (0, 1, 7, 8, 255, 4096, 65_535, 1 << 24, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63, -1)
# Headers have as many chances as all the rest.
HEAD = 512


@dataclass(frozen=True)
class Mutant:
    number: int
    # Kind of capture, and what was done to it.
    kind: str
    done: tuple[str, ...]
    files: dict[str, bytes]

    def __str__(self) -> str:
        return f"mutant {self.number} ({self.kind}: {', '.join(self.done)})"


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
    donors = [one.inside or one.files["data"] for one in small_captures().values()]
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        at = random.randrange(min(len(data), random.choice((HEAD, len(data)))) or 1)
        width = random.choice((1, 2, 4, 8))
        number = random.choice((*NUMBERS, len(data), random.getrandbits(64)))
        value = (number % (1 << 8 * width)).to_bytes(width, random.choice(("little", "big")))
        damage = random.choice(("bit", *["number"] * 3, "cut", "inserted", "taken", "spliced"))
        done.append(f"{damage} at {at}")
        match damage:
            case "bit" if at < len(data):
                data[at] ^= 1 << random.randrange(8)
            case "number":
                data[at : at + width] = value[: len(data) - at]
            case "cut":
                del data[at:]
            case "inserted":
                data[at:at] = value
            case "taken":
                del data[at : at + random.choice((width, 100))]
            case "spliced":
                donor = random.choice(donors)
                start, size = random.randrange(len(donor)), random.choice((8, 64, 300, 2000))
                data[at : at + random.choice((0, size))] = donor[start : start + size]
    return bytes(data)


def lay_out(one: Mutant, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in one.files.items():
        (folder / name).write_bytes(data)
    return folder if len(one.files) > 1 else folder / "data"
