# Names in a text of limited width: what tells them apart stays.

import pytest

from netcost_analysis.display.names import condition, run_name


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
