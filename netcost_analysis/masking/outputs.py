# The lines of sockperf, netperf's omni, wrk and redis-benchmark that masking keeps. free_text.py
# masks the hosts in them. What the user typed (a URL, a redis command) is dropped.
# capture/lib/mask-outputs.awk has the same rules.

import json
import re
from collections.abc import Callable, Iterator

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
# A built-in test of redis-benchmark. Any other name is a command that a user typed.
_TEST = r"[A-Z][A-Z0-9_]*(?: \([A-Za-z0-9 ]+\))?"
_TIME = r"[\d.]+(?:us|ms|s|m|h)"
_LINES = re.compile(
    # sockperf
    r"sockperf: (?:== version #[\w.-]+ ==|Warmup stage [\w ().]+|Starting test\.\.\."
    r"|Test end[\w ()]*"
    r"|\[(?:Total Run|Valid Duration)\] [\w =.;]+|=+ Printing statistics for Server No: \d+"
    r"|====> avg-[\w=. ()-]+|# dropped messages[\w =;#-]+|Summary: [\w \[\]/.()]+"
    r"|Total (?:of )?\d+ [\w ;.]+|---> [\w <>.=]+|NOTE: test was performed, [\w=. -]+"
    r"|No messages were received from the server\. Is the server down\?)"
    r"|sockperf\[CLIENT\] send on:(?:sockperf: using \w+\(\) to block on socket\(s\))?"
    # wrk
    r"|\d+ threads and \d+ connections|Thread Stats +Avg +Stdev +Max +\+/- Stdev"
    r"|(?:Latency|Req/Sec)(?: +[\d.]+[kMGmu]?[sh]?%?){4}|Latency Distribution(?: \([\w -]+\))?"
    rf"|[\d.]+% +{_TIME}|\d+ requests in {_TIME}, [\d.]+[KMGTP]?B read"
    r"|Socket errors: connect \d+, read \d+, write \d+, timeout \d+"
    r"|Non-2xx or 3xx responses: \d+|(?:Requests|Transfer)/sec: +[\d.]+[KMGTP]?B?"
    # redis-benchmark
    rf"|====== {_TEST} ======|{_TEST}: [\d.]+ requests per second(?:, p50=[\d.]+ msec)?"
    rf'|"test","rps"(?:,"\w+")*|"{_TEST}"(?:,"[\d.]+")+|\d+ requests completed in [\d.]+ seconds'
    r"|\d+ (?:parallel clients|bytes payload)|keep alive: \d+|multi-thread: (?:yes|no)|threads: \d+"
    r'|host configuration "(?:save|appendonly)":[\w ]*|(?:Latency by percentile|Cumulative)'
    r" distribution(?: of latencies)?:|[\d.]+% <= [\d.]+ milliseconds(?: \(cumulative count \d+\))?"
    r"|Summary:|(?:throughput summary: )?[\d.]+ requests per second|latency summary \(msec\):"
    r"|avg +min +p50 +p95 +p99 +max"
    # netperf
    r"|(?:MIGRATED|OMNI) [\w |/]+ TEST from .*|bytes +bytes +secs.*"
    r"|[A-Z][A-Z0-9_]*=[\d.]+|THROUGHPUT_UNITS=[\w^/]+"
    r"|(?:(?:Throughput|Units|Elapsed|Time|\(sec\)|Transaction|Rate|Tran/s|Minimum|Maximum|Mean"
    r"|Stddev|Latency|Percentile|\d\dth|Microseconds|Local|Remote|Send|Recv|Calls)[ ,]*)+"
    r"|(?:[\d.]+|Trans/s|10\^\dbits/s|[KMG]?Bytes/s)(?:(?: +|,)(?:[\d.]+|Trans/s|10\^\dbits/s"
    r"|[KMG]?Bytes/s))*"
)
_URL = re.compile(r"(Running [\d.]+[smh] test @ ).*")


def shown(line: str) -> str:
    # What a terminal would show: text before a carriage return is overwritten.
    return line.rstrip("\r").rpartition("\r")[2]


def masked_line(line: str) -> str | None:
    # None if no benchmark prints the line.
    bare = _COLOUR.sub("", line).strip()
    if match := _URL.fullmatch(bare):
        return f"{match[1]}-"
    return line if _LINES.fullmatch(bare) else None


def with_json(
    text: str, of_lines: Callable[[str], str], of_json: Callable[[str], str]
) -> Iterator[str]:
    # Masks JSON documents that begin a line with of_json, and the text between them with of_lines.
    decoder, at = json.JSONDecoder(), 0
    for brace in re.finditer(r"^\{", text, re.MULTILINE):
        if brace.start() < at:
            continue
        try:
            _, end = decoder.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            break
        if at < brace.start():
            yield of_lines(text[at : brace.start()])
        yield of_json(text[brace.start() : end]).rstrip("\n")
        at = end
    if at < len(text):
        yield of_lines(text[at:])
