# What ran with interrupts off, where a timer found them on again: an interrupt, or the path's work.

from typing import TYPE_CHECKING

import numpy as np

from ..samples.interrupts import HIDDEN, off_in
from .profile import Classified, Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray


def interrupts_off_in(one: Profile, found: Classified) -> "tuple[list[str], NDArray[np.int16]]":
    """What each stack of "interrupts off" is of: off_in().

    Names, and for each stack a place among them, -1 where interrupts were on.
    """
    hidden = found.components.index(HIDDEN) if HIDDEN in found.components else -1
    functions = one.names["function"].to_numpy()
    is_off = np.flatnonzero(found.of_stack == hidden)
    texts = [
        off_in(functions[frame] if frame >= 0 else None, found.components[component])
        for frame, component in zip(found.ended[is_off], found.beneath[is_off], strict=True)
    ]
    code = {name: at for at, name in enumerate(dict.fromkeys(texts))}
    of_stack = np.full(len(found.of_stack), -1, dtype="i2")
    of_stack[is_off] = [code[text] for text in texts]
    return list(code), of_stack
