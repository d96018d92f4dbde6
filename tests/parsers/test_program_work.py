# What benchmarks measured, by outputs of the programs themselves: sockperf 3.7, netperf 2.7, wrk
# 4.1, redis-benchmark 7.0, fio 3.33, iperf3 3.12, each of a second on the loopback device. Figures
# are by hand from the text. Older and other versions' outputs follow the forms in their sources.

import itertools
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis import CaptureError, ProgramWork, parse_work
from netcost_analysis.parsers.program_work import rates_of_work

OUTPUTS = Path(__file__).with_name("outputs")
FILES = {path.stem: path.read_bytes().decode() for path in sorted(OUTPUTS.glob("*.txt"))}
MIB = 1 << 20
# By output, test and figure.
FIGURES = {
    ("sockperf-ping-pong", "", "messages_per_s"): 19711 / 0.550,
    ("sockperf-ping-pong", "", "latency_mean_ns"): 13_939,
    ("sockperf-ping-pong", "", "latency_p50_ns"): 8_921,
    ("sockperf-ping-pong", "", "latency_p99_9_ns"): 1_497_956,
    ("sockperf-ping-pong", "", "latency_p99_999_ns"): 3_905_744,
    ("sockperf-ping-pong", "", "lost_share"): 0,
    # One message in a hundred is answered: those that were sent are what it did.
    ("sockperf-under-load", "", "messages_per_s"): 2601 / 0.520,
    ("sockperf-under-load", "", "latency_p75_ns"): 74_638,
    ("sockperf-full-rtt", "", "round_trip_p99_ns"): 3_613_699,
    ("sockperf-throughput", "", "messages_per_s"): 84_521,
    ("sockperf-throughput", "", "bytes_per_s"): 1.128 * MIB,
    ("wrk-latency", "", "requests_per_s"): 549.75,
    ("wrk-latency", "", "bytes_per_s"): 816.04 * 1024,
    ("wrk-latency", "", "latency_mean_ns"): 7_650_000,
    ("wrk-latency", "", "latency_p99_ns"): 28_860_000,
    ("wrk-latency", "", "failed_share"): 0,
    ("wrk", "", "failed_share"): 1,
    ("wrk", "", "latency_max_ns"): 31_290_000,
    ("redis", "mset_10_keys", "requests_per_s"): 25_974.03,
    ("redis", "mset_10_keys", "latency_p95_ns"): 1_975_000,
    ("redis", "mset_10_keys", "latency_max_ns"): 5_503_000,
    ("redis-q", "get", "requests_per_s"): 17_421.6,
    ("redis-q", "set", "latency_p50_ns"): 943_000,
    ("redis-csv", "get", "latency_p99_ns"): 8_807_000,
    ("redis-csv", "mset_10_keys", "latency_min_ns"): 256_000,
    ("iperf3", "", "bytes_per_s"): 6_875_384_591.040713 / 8,
    ("iperf3", "", "retransmits"): 2,
    ("iperf3-udp", "", "lost_share"): 0,
    ("netperf-rr", "", "transactions_per_s"): 32_915.51,
    ("netperf-crr", "", "transactions_per_s"): 5_666.06,
    # What arrived.
    ("netperf-udp", "", "bytes_per_s"): 3_863.29e6 / 8,
    ("netperf-g", "", "bytes_per_s"): 2.55e9 / 8,
    ("netperf-omni-k", "", "bytes_per_s"): 279.97 * MIB,
    ("netperf-omni-latency", "", "transactions_per_s"): 28_739.88,
    ("netperf-omni-latency", "", "latency_p99_ns"): 66_000,
    ("netperf-omni-columns", "", "latency_p90_ns"): 25_000,
    ("netperf-omni-columns", "", "latency_max_ns"): 9_225_000,
    ("netperf-omni-csv", "", "bytes_per_s"): 3_813.44e6 / 8,
    ("netperf-omni-csv-latency", "", "latency_mean_ns"): 37_140,
}
NO_RESULT = {"sockperf-none": "No messages", "iperf3-none": "refused", "redis-none": "closed"}


def figures_of(done: list[ProgramWork]) -> dict[tuple[str, str], float]:
    return {(one.test, name): value for one in done for name, value in one.figures.items()}


@pytest.mark.parametrize(("output", "test", "name"), FIGURES)
def test_figures(output: str, test: str, name: str) -> None:
    done = parse_work(FILES[output])
    assert {one.program for one in done} == {
        output.partition("-")[0].replace("redis", "redis-benchmark")
    }
    assert figures_of(done)[test, name] == pytest.approx(FIGURES[output, test, name])


def test_fio_by_direction() -> None:
    done = parse_work(FILES["fio"])
    assert [(one.program, one.test) for one in done] == [("fio", "read"), ("fio", "write")]
    figures = figures_of(done)
    # Each I/O is of 4 KiB.
    for test in ("read", "write"):
        assert figures[test, "bytes_per_s"] == pytest.approx(
            4096 * figures[test, "ios_per_s"], 1e-3
        )
        order = ("min", "p1", "p50", "p99", "p99_9", "max")
        times = [figures[test, f"latency_{name}_ns"] for name in order]
        # fio keeps percentiles in bins, whose ends are up to 1 in 64 away.
        assert all(one <= other * (1 + 1 / 64) for one, other in itertools.pairwise(times))
    # With messages before it, and a document for each status.
    assert parse_work(f"fio: a warning\n{FILES['fio']}\n{FILES['fio']}") == done


def test_several_jobs_of_fio_have_no_percentile() -> None:
    latency = '"clat_ns": {"min": %d, "max": %d, "mean": %d, "N": %d, "percentile": {"50.0": 5}}'
    job = '{"error": 0, "read": {"bw_bytes": %d, "iops": %d, "total_ios": 3, %s}}'
    jobs = [job % (10, 1, latency % (2, 9, 4, 1)), job % (30, 2, latency % (3, 20, 8, 3))]
    text = f'{{\n"fio version" : "fio-3.33", "jobs": [{", ".join(jobs)}]}}'
    [read] = parse_work(text)
    assert read.figures == {
        "bytes_per_s": 40,
        "ios_per_s": 3,
        "latency_mean_ns": 7,
        "latency_min_ns": 2,
        "latency_max_ns": 20,
    }
    with pytest.raises(CaptureError, match="error 2"):
        parse_work(text.replace('"error": 0', '"error": 2', 1))


def test_older_forms() -> None:
    redis = (
        "====== SET ======\n  9 requests completed in 0.88 seconds\n\n99.76% <= 1 milliseconds\n"
    )
    redis += "113895.21 requests per second\n\n"
    assert figures_of(parse_work(redis)) == {("set", "requests_per_s"): 113895.21}
    assert figures_of(parse_work('"SET","113895.21"\n', "redis-benchmark --csv")) == {
        ("set", "requests_per_s"): 113895.21
    }
    sockperf = FILES["sockperf-ping-pong"].replace("avg-latency=", "avg-lat= ")
    assert parse_work(sockperf) == parse_work(FILES["sockperf-ping-pong"])
    # wrk2 -U has what it did not correct behind what it did.
    wrk2 = FILES["wrk-latency"].replace(
        "Distribution\n", "Distribution (HdrHistogram - Recorded Latency)\n"
    )
    again = "  Latency Distribution (HdrHistogram - Uncorrected Latency)\n 50.000%    1.00us\n"
    wrk2 = wrk2.replace("  550 requests", f"{again}  550 requests")
    assert parse_work(wrk2) == parse_work(FILES["wrk-latency"])


def test_each_server_of_sockperf() -> None:
    text = FILES["sockperf-ping-pong"]
    second = text[text.index("sockperf: =========") :].replace("No: 0", "No: 1")
    done = parse_work(text + second.replace("8.921", "9.000"))
    assert [one.test for one in done] == ["server_0", "server_1"]
    assert [one.figures["latency_p50_ns"] for one in done] == [8_921, 9_000]


def test_units_of_work() -> None:
    assert rates_of_work(parse_work(FILES["netperf-rr"])) == {"transaction": 32_915.51}
    both = rates_of_work(parse_work(FILES["fio"]))
    assert both.keys() == {"byte", "transaction"}
    # Tests that run one after another are no rate of the run.
    assert rates_of_work(parse_work(FILES["redis-q"])) == {}


# Cut off anywhere, an output has no other figure than the whole one has, or one line says why.
@pytest.mark.parametrize("output", FILES)
def test_what_is_cut_off(output: str) -> None:
    text, whole = FILES[output], {}
    with suppress(CaptureError):
        whole = figures_of(parse_work(text))
    for end in range(0, len(text), 1 if len(text) < 1_500 else 7):
        with suppress(CaptureError):
            some = figures_of(parse_work(text[:end], output))
            assert some.items() <= whole.items(), text[:end]


@pytest.mark.parametrize("output", NO_RESULT)
def test_a_program_that_failed(output: str) -> None:
    with pytest.raises(CaptureError, match=NO_RESULT[output]) as refused:
        parse_work(FILES[output])
    assert "\n" not in str(refused.value)


def test_no_output_of_a_program_that_ran() -> None:
    for command in (
        *("wrk -d1 http://a/", "/usr/bin/fio x", "sockperf pp", "netperf -H a", "iperf3 -c a -J"),
        "taskset -c 1 redis-benchmark -q",
    ):
        for text in ("", "Segmentation fault\n", FILES["netperf-none"]):
            with pytest.raises(CaptureError) as refused:
                parse_work(text, command)
            assert "\n" not in str(refused.value)
    for command in ("", "openssl speed", "./wrk-like", "nofio", "/srv/fio/run"):
        assert parse_work("", command) == []
        assert parse_work("4711\n", command) == []


@given(st.sampled_from(sorted(FILES)), st.text(max_size=30), st.integers(0, 3_000))
def test_any_text_gets_figures_or_one_line(output: str, text: str, at: int) -> None:
    changed = FILES[output][:at] + text + FILES[output][at + len(text) :]
    with suppress(CaptureError):
        for one in parse_work(changed):
            assert all(isinstance(value, int | float) for value in one.figures.values())
