# Texts of a bundle with meters, damaged at random: each question answers, or refuses in one line.

import random
from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.energy_bundles import energy_bundle, perf_energy

# Beside the drawn ones, those of the other two sources.
FILES: dict[str, str | None] = {
    "energy.jsonl": perf_energy(20.0, 20.0, 20.0, 20.0),
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


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))]
)
def test_damaged_texts_are_an_answer_or_a_line(tmp_path: Path, seed: int) -> None:
    folder = energy_bundle(tmp_path, FILES)
    draw, answered, refused = random.Random(seed), 0, []
    for name in DAMAGED * 2:
        whole = (folder / name).read_text()
        (folder / name).write_text(damage(whole, draw))
        for question in ("power", "energy_by_owner", "cpu_counters"):
            try:
                answer = netcost.open_capture(folder).ask(question)
            except netcost.CaptureError as error:
                assert name == "manifest.json"
                refused.append(str(error))
                continue
            answered += answer.refusal is None
            assert answer._repr_html_()
            assert all(isinstance(note, str) for note in answer.notes)
        (folder / name).write_text(whole)
    assert not [line for line in refused if "\n" in line]
    # Most damage is to lines that can be left out.
    assert answered > 24
