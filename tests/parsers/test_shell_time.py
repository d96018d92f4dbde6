import pytest

from netcost_analysis.parsers.shell_time import parse_shell_time


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\nreal\t1m4.180s\nuser\t0m2.302s\nsys\t0m1.407s\n", (64.18, 2.302, 1.407)),
        ("real 4.18\nuser 2.30\nsys 1.40\n", (4.18, 2.3, 1.4)),
        ("real\t0m4,180s\nuser\t0m2,302s\nsys\t0m1,407s\n", (4.18, 2.302, 1.407)),
        ("sha256  67998.56k\nreal 4.180 user 2.302 sys 1.407\n", (4.18, 2.302, 1.407)),
        # What ran before it was not it.
        ("real 1.0 user 1.0 sys 1.0\nreal 2.0 user 2.0 sys 2.0", (2.0, 2.0, 2.0)),
    ],
)
def test_what_shells_write(text: str, wanted: tuple[float, float, float]) -> None:
    found = parse_shell_time(text)
    assert found is not None
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "real 4.18\nuser 2.30\n",
        "real time user space sys calls",
        "real -4.18 user 2.3 sys 1.4",
        f"real {'9' * 400}.0 user 2.3 sys 1.4",
        "unreal 4.18 user 2.3 sys 1.4",
    ],
)
def test_what_is_none(text: str) -> None:
    assert parse_shell_time(text) is None
