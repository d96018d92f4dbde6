# Lines of a text, with known ones before and behind what a test puts between.


STEP = "{0:>16}-{1:<7} [{2:03}] d..2. 0.{3:06}: {4}\n"


def step(cpu: int, at: int, what: str) -> str:
    return STEP.format("sh", 8, cpu, at, what)


ENTRY, EXIT = "softirq_entry: vec=3 [action=NET_RX]", "softirq_exit: vec=3 [action=NET_RX]"
BEFORE = step(0, 100, ENTRY) + step(0, 200, EXIT) + step(1, 300, ENTRY)
BEHIND = step(0, 700, ENTRY) + step(1, 800, EXIT) + step(0, 900, EXIT) + step(1, 1_100, ENTRY)
