# Names in a text of limited width: what tells them apart stays.

import pytest

from netcost_analysis.display.names import columns_of, condition, run_name, that_fit


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("flows/tcp-1", "flows/tcp-1"),
        ("/home/me/flows/tcp-1", "flows/tcp-1"),
        (f"{'x' * 40}/tcp-1", "tcp-1"),
        ("run", "run"),
        ("", ""),
    ],
)
def test_a_run_has_the_end_of_its_path(path: str, name: str) -> None:
    assert run_name(path) == name
    assert len(run_name(f"{path}{'y' * 90}")) <= 40


def test_a_sysctl_is_called_by_its_name() -> None:
    assert condition("skb_defer_max", "0") == "skb_defer_max=0"
    assert condition("data_path", "xdp") == "data path xdp"
    assert condition("rps", "") == "rps unknown"


@pytest.mark.parametrize(("text", "columns"), [("eth0", 4), ("網卡0", 5), ("é", 1), ("e\u0301", 1)])
def test_the_columns_that_a_text_takes(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    # Of what is cut to fewer columns none is broken in two.
    assert [columns_of(text[: that_fit(text, room)]) <= room for room in range(6)] == [True] * 6
