# One colour per meaning, the same in every picture. Blues say where time was spent (context), warm
# colours at whose cost (cost class). They are distinct under deuteranopia and protanopia too, which
# tests/plots/test_plots.py computes.

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TASK = "#b4c0ca"
UNKNOWN = "#f4f4f4"
INK = "#1a1a1a"
FAINT = "#6b7280"

# What ran. softirq is NET_RX and NET_TX outside their polls; softirq_other is every other vector.
KIND = {
    "task": TASK,
    "idle": "#eceff1",
    "poll": "#56b4e9",
    "softirq": "#0072b2",
    "hardirq": "#332288",
    "vector": "#ddcc77",
    "softirq_other": "#117733",
    "nmi": "#000000",
    "unknown": UNKNOWN,
}
KIND_NAMES = {
    "task": "the task itself",
    "idle": "idle",
    "poll": "NAPI polls",
    "softirq": "network softirq outside its polls",
    "hardirq": "hardirqs",
    "vector": "vectors (timer, IPIs)",
    "softirq_other": "other softirqs",
    "nmi": "NMIs",
    "unknown": "no known owner",
}

# The victim in a timeline, beside KIND and PART.
VICTIM = "#f0e442"

# Components of the kernel's work (questions/samples/rules.py, GROUPS).
COMPONENT_GROUPS = {
    "driver": "#d55e00",
    "copy": "#0072b2",
    "buffer release": "#882255",
    "allocation": "#cc79a7",
    "protocol": "#009e73",
    "socket and calls": "#ddcc77",
    "softirq and interrupts": "#56b4e9",
    "interrupts off": "#4d4d4d",
    "application": TASK,
    "other": "#e3e6ea",
}


def ink_on(colour: str) -> str:
    # A readable text colour on a colour, by its brightness as in ITU-R BT.601.
    red, green, blue = _rgb(colour)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 130 else "#ffffff"


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


# At whose cost.
PART = {
    "own": TASK,
    "stolen_network": "#d55e00",
    "stolen_maybe_network": "#f3b183",
    "stolen_other": "#882255",
    "stolen_or_synchronous": "#c4629c",
    "synchronous": "#009e73",
    "scheduled": "#7f6a3f",
    "unknown": UNKNOWN,
}


def shade(part: str, fraction: float) -> str:
    # A part's colour for CSS, denser for a larger fraction.
    red, green, blue = _rgb(PART[part])
    # With the square root, 1 % is still visible beside 50 %.
    return f"rgba({red},{green},{blue},{0.6 * min(fraction, 1) ** 0.5:.2f})"


PART_NAMES = {
    "own": "ran itself",
    "stolen_network": "stolen, network",
    "stolen_maybe_network": "stolen, perhaps network",
    "stolen_other": "stolen, other",
    "stolen_or_synchronous": "stolen or its own traffic",
    "synchronous": "its own traffic",
    "scheduled": "as a kernel thread",
    "unknown": "no known owner",
}

# The source of an estimate: the clock, the trace, the trace with hidden cost, or the work done.
ESTIMATE = {
    "ticks": "#e69f00",
    "traced": "#88ccee",
    "hidden": "#a4133c",
    "work": "#1b6e53",
}

# The two sides of a comparison, and the outcome of a metric's change.
SIDE = {"base": "#8c8c8c", "new": "#4b2e83"}
OUTCOME = {"better": "#1b6e53", "worse": "#a4133c", "": "#6b7280"}

# Data paths, the same in every picture of a sweep. Others get the remaining colours in order.
PATH = {
    "bridge": "#0072b2",
    "route": "#009e73",
    "xdp": "#d55e00",
    "xdp-generic": "#e69f00",
    "ovs": "#882255",
    "ovs-userspace": "#cc79a7",
}
_OTHER_PATHS = ("#332288", "#6b7280", "#56b4e9", "#117733")


def path_colors(names: list[str]) -> dict[str, str]:
    others = [name for name in names if name not in PATH]
    return PATH | {
        name: _OTHER_PATHS[place % len(_OTHER_PATHS)] for place, name in enumerate(others)
    }


# States of a task, with colours of KIND for the same meanings.
TASK_STATE = {
    "own": TASK,
    "network": KIND["softirq"],
    "other": KIND["softirq_other"],
    "waited": VICTIM,
    "asleep": KIND["idle"],
}

# Why a task was migrated.
CAUSE = {
    "wake-up": KIND["poll"],
    "balance": PART["stolen_network"],
    "stopper": KIND["hardirq"],
    "stopper: exec": PART["scheduled"],
}

# Off CPU while kernel threads of the network had it. This is no CPU time, so the bar is not filled.
WAITED: Any = {"color": "white", "edgecolor": PART["scheduled"], "hatch": "...", "linewidth": 0.5}
# Unknown time is hatched, so that nobody takes it for known.
HATCH = "////"

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": "#e3e6e8",
    "hatch.color": "#9aa3ab",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    # A task's name may be anything, such as "$x".
    "text.parse_math": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the look of the project's pictures to figures made in a `with` block."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        yield


def printable(name: object) -> str:
    """A name fit to be drawn: control characters and line breaks become "?"."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(name))


def time_unit(span_ns: float) -> tuple[float, str]:
    """The divisor and unit that make an axis over a span of nanoseconds readable."""
    for divisor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if span_ns >= 2 * divisor:
            return divisor, unit
    return 1.0, "ns"
