# The pictures: titles that are seen, totals that agree with the tables.


import matplotlib as mpl
import pytest

from netcost_analysis import open_capture
from netcost_analysis.answers.answer import Answer
from support.host import SAMPLES
from support.kept import kept_experiment

SIZES = SAMPLES / "io-sizes"
SAMPLE = SIZES / "tcp-1024.netcost.tar.zst"


@pytest.fixture(autouse=True)
def _without_a_screen() -> None:
    mpl.use("agg")


def titles(answer: Answer) -> list[str]:
    # Each is drawn as a page has it.
    found = []
    for picture in answer.question.pictures.values():
        for panel in picture.panels(answer):
            axes = answer._plot(picture.name, None, dict(panel))
            assert axes.get_title(loc="left") == axes.figure.get_label()
            found.append(axes.get_title(loc="left"))
            axes.figure.draw_without_rendering()
    return found


def test_over_sizes_titles_tell_protocols_and_sides_apart() -> None:
    answer = kept_experiment("io-sizes").ask.functions.components_by_size()
    found = titles(answer)
    assert len(set(found)) == len(found) == 8
    for protocol in ("TCP", "UDP"):
        for side in ("transmit", "receive"):
            assert any(one.startswith(f"{protocol}: ") and side in one for one in found)
        for per in ("packet", "KiB"):
            assert any(one.startswith(f"{protocol}: ") and f" {per} costs" in one for one in found)


# A bar is as high as the table's figure, with its parts of interrupts off.
@pytest.mark.parametrize(
    ("per", "column"), [("packet", "weight_per_packet"), ("KiB", "weight_per_kib")]
)
def test_costs_are_the_tables(per: str, column: str) -> None:
    answer = kept_experiment("io-sizes").ask.functions.components_by_size()
    axes = answer.plot_cost(protocol="udp", per=per)
    tops: dict[float, float] = {}
    for bar in axes.patches:
        place = round(bar.get_x() + bar.get_width() / 2, 3)
        tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
    sides = answer["sides"].query("protocol == 'udp'")
    assert sorted(tops.values()) == pytest.approx(sorted(sides[column] / 1e3))


def test_shares_reach_a_hundred_and_are_marked() -> None:
    answer = kept_experiment("io-sizes").ask.functions.components_by_size()
    axes = answer.plot(protocol="udp", io_side="receive")
    assert max(bar.get_y() + bar.get_height() for bar in axes.patches) == pytest.approx(100)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    rows = answer["sides"].query("protocol == 'udp' and io_side == 'receive'")
    for label, nic, major in zip(
        labels, rows["driver_release_share"], rows["major_share"], strict=True
    ):
        assert f"driver + release {100 * nic:.0f}\nwith copy {100 * major:.0f}" in label
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("interrupts off: another" in one for one in shown)


@pytest.mark.parametrize("name", ["components", "packet_components", "functions"])
def test_a_recordings_pictures(name: str) -> None:
    found = titles(open_capture(SAMPLE).ask(name))
    assert found
    assert all(found)


def test_a_flame_graph_is_of_interrupts_where_there_are_any() -> None:
    ask = open_capture(SAMPLE).ask.functions
    assert any("Time in interrupts" in one for one in titles(ask.functions()))
    axes = ask.functions().plot_flame(kind="all")
    assert "without idle" in axes.get_title(loc="left")
    texts = [text.get_text() for text in axes.texts]
    assert any(text.startswith("interrupts off: call_f") for text in texts)
    # Of a part of the recording there is none.
    assert len(titles(ask.functions(start_s=1.0))) == 1


def test_pictures_beside_a_trace() -> None:
    ask = open_capture(SAMPLES / "stolen-time-functions.netcost.tar.zst").ask
    assert titles(ask.functions.interrupt_components())
