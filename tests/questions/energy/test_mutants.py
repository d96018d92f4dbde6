# Texts of a bundle with meters, damaged at random: each question answers, or refuses in one line.

import random
from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.energy_bundles import counted, energy_bundle

# Beside the drawn ones, those of the other two sources.
FILES: dict[str, str | None] = {
    "energy.jsonl": counted({0: {"power/energy-pkg/": 20.0}}).replace(
        '"unit": ""', '"unit": "Joules"'
    ),
    "turbostat.txt": "Busy%\tPkgWatt\tRAMWatt\n1.0\t15.25\t2.00\n1.0\t15.25\t2.00\n",
}
DAMAGED = (
    *("counters.jsonl", "energy.jsonl", "turbostat.txt", "manifest.json", "before/stat"),
    *("samples/energy", "samples/stat", "samples/softnet_stat"),
)
TOKENS = (
    *("-1", "nan", "1e999", "18446744073709551615", "9" * 30, "", ";", ",", "\x00", "\n", "\x1b"),
    *("@ 1 1 1\n", "@ 2 5 4", "null", "{}", "0", "<not counted>", "é", "1e-320"),
)


def damage(text: str, draw: random.Random) -> str:
    letters = list(text)
    for _ in range(draw.choice((1, 2, 5))):
        at = draw.randrange(len(letters))
        letters[at : at + draw.choice((0, 1, 3, 8, 40, 400))] = draw.choice(TOKENS) or "x"
    return "".join(letters) * draw.choice((1, 1, 1, 2))


SEEDS = [range(1), pytest.param(range(1, 20), marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
def test_damaged_texts_are_an_answer_or_a_line(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        _are_an_answer_or_a_line(tmp_path / str(seed), seed)


def _are_an_answer_or_a_line(path: Path, seed: int) -> None:
    folder = energy_bundle(path, FILES)
    whole = {name: (folder / name).read_text() for name in DAMAGED}
    draw = random.Random(seed)
    answered = 0
    refused: list[tuple[str, str]] = []
    for name in DAMAGED * 2:
        (folder / name).write_text(damage(whole[name], draw))
        for question in ("power", "energy_by_owner", "cpu_counters"):
            try:
                answer = netcost.open_capture(folder).ask(question)
            except netcost.CaptureError as error:
                refused.append((name, str(error)))
                continue
            answered += answer.refusal is None
            assert answer._repr_html_()
            assert all(isinstance(note, str) for note in answer.notes)
        (folder / name).write_text(whole[name])
    assert {name for name, _ in refused} <= {"manifest.json"}
    assert not [line for _, line in refused if "\n" in line]
    # Most damage is to lines that can be left out.
    assert answered > 24
