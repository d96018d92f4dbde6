# The lab's positive controls: what they count, and which steps they refuse.

from pathlib import Path

import pytest

from support.kit.lab import lab


def softnet(counts: dict[int, tuple[int, int]], *, numbered: bool = True) -> str:
    """softnet_stat: of each CPU packets, and how often it was handed some."""
    lines = []
    for number, (packets, handed) in counts.items():
        columns = [packets, 0, 0, 0, 0, 0, 0, 0, 0, handed, 0]
        columns += [0, number] if numbered else []
        lines.append(" ".join(f"{one:08x}" for one in columns))
    return "\n".join(lines) + "\n"


def test_a_line_is_of_the_cpu_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(softnet({0: (10, 0), 3: (255, 7)}))
    assert lab('softnet 1 "$1"', tmp_path / "stat") == "0 10\n3 255"
    assert lab('softnet 10 "$1"', tmp_path / "stat") == "0 0\n3 7"


# Before 5.10 lines are those of the online CPUs.
def test_lines_without_a_number_are_of_the_online_cpus(tmp_path: Path) -> None:
    online = tmp_path / "devices" / "system" / "cpu" / "online"
    online.parent.mkdir(parents=True)
    online.write_text("0,2-3\n")
    (tmp_path / "stat").write_text(softnet({0: (1, 0), 1: (2, 0), 2: (3, 0)}, numbered=False))
    assert lab('sysfs=$1; softnet 1 "$1/stat"', tmp_path) == "0 1\n2 2\n3 3"


@pytest.mark.parametrize(
    ("here", "elsewhere", "accepted"),
    [(1000, 0, True), (1000, 999, True), (1000, 1000, False), (99, 0, False), (0, 1000, False)],
)
def test_a_step_whose_packets_went_elsewhere_is_refused(
    here: int, elsewhere: int, accepted: bool, tmp_path: Path
) -> None:
    for when, grown in (("before", 0), ("after", 1)):
        (tmp_path / when).mkdir()
        counts = {0: (5 + grown * elsewhere, 3), 1: (0xFFFF + grown * here, 4 + grown)}
        (tmp_path / when / "net_softnet_stat").write_text(softnet(counts))
    script = 'workspace=$1; steered "$1" 1 && echo accepted; echo $control_here $control_handed'
    told = [*(["accepted"] if accepted else []), f"{here} 1"]
    assert lab(script, tmp_path).splitlines() == told


def test_the_filter_is_of_the_functions_that_free_packets(tmp_path: Path) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(
        "ffffffff81000100 T skb_free_head\n"
        "ffffffff81000180 t skb_free_head.cold\n"
        "ffffffff81000000 T skb_release_data\n"
        "ffffffff81000000 T an_alias\n"
        "ffffffff81000080 T another\n"
        "ffffffff81000090 D skb_kfree_head\n"
    )
    assert lab('freeing_filter "$1"', symbols) == (
        "(call_site >= 0xffffffff81000000 && call_site < 0xffffffff81000080)"
        " || (call_site >= 0xffffffff81000100 && call_site < 0xffffffff81000180)"
    )
    symbols.write_text("0000000000000000 T skb_release_data\n0000000000000000 T another\n")
    assert lab('freeing_filter "$1"', symbols) == ""
