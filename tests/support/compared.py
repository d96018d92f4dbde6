# Recordings with a planted difference: a client sends packets, each at a cost. Where commands ask
# the same experiments and comparisons again, compared_once() makes them once.

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from os.path import realpath
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcost_analysis.answers.answer import Answer
from netcost_analysis.answers.ask import Ask
from netcost_analysis.comparison.comparison import Comparison, compare
from netcost_analysis.opening.experiment import Experiment, open_experiment
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, RCU, softirq

CLIENT, SERVER = h.Task(500, "client"), h.Task(501, "server")


# CPU 0: the client raises a NET_RX softirq a packet, whose poll takes about poll_ns; between them
# own_ns are the client's. CPU 1: the server, whose CPU a device's interrupt takes for irq_ns each.
def recorded(
    path: Path, seed: int, poll_ns: int = 4_000, own_ns: int = 10_000, irq_ns: int = 1_000,
    packets: int = 1_500,
) -> Path:  # fmt: skip
    draw = np.random.default_rng(seed)
    polls = (poll_ns * np.exp(draw.normal(0, 0.2, packets))).astype(int)
    irqs = (irq_ns * np.exp(draw.normal(0, 0.2, packets))).astype(int)
    client: list[h.Happening] = []
    server: list[h.Happening] = []
    now = 1_000_000
    for poll, irq in zip(polls.tolist(), irqs.tolist(), strict=True):
        client += [
            h.BhDisable(now),
            h.SoftirqRaise(now + 100, NET_RX),
            h.BhEnable(now + 150),
            *softirq(now + 200, now + 300 + poll, h.NapiPoll(now + 200 + poll, "eth0", 1)),
        ]
        server += [h.IrqEntry(now + 500, 24, "eth0-rx"), h.IrqExit(now + 500 + irq, 24)]
        now += 300 + poll + own_ns
    for events in (client, server):
        events.append(h.SoftirqRaise(now, RCU))
    lanes = cpu(0, *client, task=CLIENT), cpu(1, *server, task=SERVER)
    return recording(*lanes, known=(CLIENT, SERVER)).write(path)


@contextmanager
def compared_once() -> Iterator[None]:
    @cache
    def opened(path: str, _: str) -> Experiment:
        return open_experiment(path)

    made: dict[str, Comparison] = {}
    answered: dict[tuple[int, str], Answer] = {}
    ask = Ask.__call__

    def answer(self: Ask, name: str, **options: Any) -> Answer:
        if options or self._kind != "Comparison" or self._source not in made.values():
            return ask(self, name, **options)
        key = id(self._source), name
        if key not in answered:
            answered[key] = ask(self, name)
        return answered[key]

    def once(base: Any, new: Any = None, **how: Any) -> Comparison:
        named = [[str(getattr(one, "path", one)) for one in side or ()] for side in (base, new)]
        found = [realpath(one) for side in named for one in side]
        key = repr((named, found, sorted(how.items())))
        if key not in made:
            made[key] = compare(base, new, **how)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netcost_analysis.comparison.comparison.compare", once)
        patch.setattr(Ask, "__call__", answer)
        # A relative path is another folder in another place.
        patch.setattr(
            "netcost_analysis.opening.experiment.open_experiment",
            lambda path: opened(str(path), realpath(path)),
        )
        yield
