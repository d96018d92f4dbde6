# A small text of each kind that perf, trace-cmd and ftrace print, with a little of everything in
# it: what mutations and fuzzing start from.

from support.text_kinds import LINES, lines

SWITCH = (
    "prev_comm=sh prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a b next_pid=9 next_prio=120"
)
ENTRY, EXIT = "softirq_entry: vec=3 [action=NET_RX]", "softirq_exit: vec=3 [action=NET_RX]"

CHAINS = f"""\
# clockid: monotonic (1)
# event : name = cycles:u, , id = {{ 1 }}, {{ sample_period, sample_freq }} = 4000, freq = 1
sh 7/8 [000] 1.000001000:     250000 cycles:u:
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\t          af08f5 std::map<int, a b>::at(int) const+0x65 (/usr/lib/a b.so.1 (deleted))
  call.c:847
\t               0 [unknown] ([unknown])

sh 7/8 [000] 1.000002000:          1 sched:sched_switch: {SWITCH}
\t          2724a main (inlined)

a b 9/9 [000] 1.000003000:     250000 cpu-clock:      7f6eb00f08f5 main+0x1 (/bin/sh)
:-1    -1/-1  [001] 1.000003500: irq:softirq_raise: vec=1 [action=TIMER]
sh 7/8 [000] 0.000000000: PERF_RECORD_COMM exec: sh:7/8
sh 7/8 [000] 1.000004000: PERF_RECORD_LOST lost 12
sh 7/8 [000] 1.000005000: PERF_RECORD_FORK(8:9):(7:8)
"""
GRAPH = f"""\
# tracer: function_graph
  360.774522 |   0)    sh-8       |  d..1. |               |  net_rx_action() {{
  360.774523 |   0)    sh-8       |  ..s1. |               |  /* {ENTRY} */
  360.774524 |   0)    sh-8       |  ..s1. | + 10.541 us   |    foo [e1000](a=1); /* caller */
  360.774525 |   0)    sh-8       |  ..s1. |               |  /* {EXIT} */
  360.774526 |   0)    sh-8       |  d..2. |               |  /* sched_switch: {SWITCH} */
 ------------------------------------------
 0)     sh-8      =>     a b-9
 ------------------------------------------

  360.774527 |   0)    a b-9      |  d..1. |   ==========> |
  360.774528 |   0)    a b-9      |  d..1. | $ 1254133 us  |  }} /* net_rx_action ret=-1 */
"""
BUFFERS = """\
cpus=2
            sh-8     [000] 76.211513186: softirq_entry:        vec=3
CPU:0 [12 EVENTS DROPPED]
            sh-8     [000] 76.211513386: softirq_exit:         vec=3
foo:            sh-8     [001] 76.211513186: softirq_entry:        vec=3 [action=NET_RX]
foo: CPU:1 [EVENTS DROPPED]
            sh-8     [001] 76.211513386: softirq_exit:         vec=3 [action=NET_RX]
"""
GRAPH_UNTIMED = """\
# CPU  DURATION                  FUNCTION CALLS
 0)               |  sys_open() {
 1)   0.382 us    |    __might_sleep();
 0)               |    /* a: word */
 0)   1.2 us      |  }
"""


def small_texts() -> dict[str, bytes]:
    kinds = {kind: "\n".join(lines(kind)) for kind in sorted(LINES)}
    others = {"chains": CHAINS, "calls": GRAPH, "calls-untimed": GRAPH_UNTIMED, "buffers": BUFFERS}
    kinds |= {kind: 6 * text for kind, text in others.items()}
    return {f"text-{kind}": text.encode() for kind, text in kinds.items()}
