# Samples that are in a frame, summed up like those that native sums.

from typing import TYPE_CHECKING, Any

import numpy as np

from ..samples.interrupts import HIDDEN
from ..samples.part import Asked, Part, Parts, window_ns
from .interrupts_off import interrupts_off_in
from .profile import Classified, Profile, classified, profile
from .weights import weights

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ...capture.capture import Capture


def parts_of(one: Profile, found: Classified, taken: "NDArray[np.bool_]") -> Parts:
    # A part per stack, of the samples that are taken.
    rows = one.samples.loc[taken, ["stack", "period"]]
    stack, number = rows["stack"].to_numpy(), len(one.leaves)
    periods = rows["period"].fillna(1).to_numpy(dtype=float)
    sums: tuple[NDArray[Any], ...] = (
        np.bincount(stack, minlength=number),
        weights(stack, rows["period"], number),
        np.bincount(stack, periods**2, number).astype(float),
    )
    names, off_in = interrupts_off_in(one, found)
    functions = _texts(one.frames["function"])
    leaf = one.frames.iloc[one.leaves]
    of_stack = [found.components[at] for at in found.of_stack]
    parts = zip(
        _texts(leaf["function"]),
        _texts(leaf["module"]),
        _texts(leaf["dso"]) if "dso" in leaf else [None] * number,
        leaf["in_kernel"].tolist(),
        of_stack,
        (names[at] if name == HIDDEN else None for name, at in zip(of_stack, off_in, strict=True)),
        (functions[at] if at >= 0 else None for at in found.decided_by.tolist()),
        *(one.tolist() for one in sums),
        strict=True,
    )
    return Parts(one.event, found.components, [Part(*of) for of in parts])


def _texts(values: "pd.Series[Any]") -> list[str | None]:
    known = values.astype(object)
    return known.where(known.notna(), None).tolist()


def parts_of_text(source: "Capture", event: str, asked: Asked, user: bool) -> Parts:
    one, found = profile(source, event, user=user), classified(source, event, asked.rules, user)
    one.require_names(source.path)
    window = window_ns(source, asked.start_s, asked.end_s)
    return parts_of(one, found, one.within(asked.cpu, *window))
