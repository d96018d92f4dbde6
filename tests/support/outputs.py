# Outputs of benchmarks: the programs' own, and the same with names that somebody typed.

from netcost_analysis import CaptureError, ProgramWork, parse_work
from support.host import ROOT

OUTPUTS = sorted((ROOT / "tests" / "parsers" / "outputs").glob("*.txt"))
_TEXTS = {path.stem: path.read_bytes().decode() for path in OUTPUTS}
SECRETS = ("tarkus7", "hunter2", "vault", "203.0.113.77")
SECRET_OUTPUTS = {
    "wrk": _TEXTS["wrk-latency"].replace("127.0.0.1:18080/", "tarkus7.eden:80/vault?key=hunter2"),
    "sockperf": f"sockperf: ERROR: vault hunter2\n{_TEXTS['sockperf-ping-pong']}".replace(
        "127.0.0.1", "203.0.113.77"
    ),
    "netperf": _TEXTS["netperf-rr"].replace("127.0.0.1", "tarkus7"),
    "omni": f"{_TEXTS['netperf-omni-latency']}LOCAL_SYSNAME=tarkus7\nCOMMAND_LINE=hunter2 vault\n",
    "redis": _TEXTS["redis"] + _TEXTS["redis"].replace("MSET (10 keys)", "lpush hunter2 vault"),
    "fio": _TEXTS["fio"]
    .replace('"jobname" : "j"', '"jobname" : "hunter2"')
    .replace('"filename" : "fio.dat"', '"filename" : "/vault/tarkus7"'),
}


def figures(text: str) -> list[ProgramWork]:
    """What parse_work has of it; nothing where the program left no result."""
    try:
        return parse_work(text)
    except CaptureError:
        return []
