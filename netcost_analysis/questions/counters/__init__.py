"""The processor's counters: instructions per cycle, misses and stalls, by CPU and over steps.

What perf stat counted beside a recording: of each CPU (cpu_counters), and over the steps of an
experiment (counters_by_step), per thousand instructions and per packet.
"""

from .cpu_counters import counters_by_step, cpu_counters

__all__ = ["counters_by_step", "cpu_counters"]
