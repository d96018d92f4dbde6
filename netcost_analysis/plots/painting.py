"""Figures as PNG: in this process, or on another core while this one goes on."""

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A picture's pixels to one of the page's, in width and height.
_SHARPNESS = 2

# Sends a pickled figure to the other process; None where there is none.
_SEND: ContextVar[Callable[[bytes], "Future[bytes]"] | None] = ContextVar("send", default=None)

# Bytes, or what returns them once they are asked for.
Painted = bytes | Callable[[], bytes]


def png(figure: "Figure") -> bytes:
    """A figure's picture; it changes the figure."""
    # Figure.savefig, and the inline backend, would draw it twice: first to place it. No picture is
    # transparent, and harder compression saves a tenth of a page for half of its pictures' time.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(_SHARPNESS * figure.dpi)
    canvas.draw()  # type: ignore[no-untyped-call]
    drawn = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    size = canvas.get_width_height()
    image = Image.frombuffer("RGBA", size, drawn, "raw", "RGBA", 0, 1)
    data = BytesIO()
    image.convert("RGB").save(data, "png", compress_level=3)
    return data.getvalue()


@contextmanager
def painting_beside() -> Iterator[None]:
    """Within it, painted() leaves figures to another core, where there is one."""
    if len(os.sched_getaffinity(0)) == 1 or not sys.executable:
        yield
        return
    # -P: nothing in the working directory is a module. It ends when its input does; Ctrl-C in a
    # terminal is for this process, and not for it.
    command = [sys.executable, "-P", "-m", __name__]
    with (
        Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True) as child,
        ThreadPoolExecutor(1) as asking,
    ):
        token = _SEND.set(lambda figure: asking.submit(_ask, child, figure))
        try:
            yield
        finally:
            _SEND.reset(token)
            asking.shutdown(cancel_futures=True)


def painted(figure: "Figure") -> Painted:
    """A figure's picture; nothing else may draw on the figure any more."""
    send = _SEND.get()
    if send is None:
        return png(figure)
    try:
        kept = pickle.dumps(figure)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Something in it, a function of a cell's perhaps, has no name elsewhere.
        return png(figure)
    found = send(kept)

    def data() -> bytes:
        try:
            return found.result()
        except (OSError, EOFError, pickle.UnpicklingError):
            # The other process has ended. If the figure is at fault, this one says why.
            return png(figure)

    return data


def _ask(child: "Popen[bytes]", figure: bytes) -> bytes:
    assert child.stdin is not None
    assert child.stdout is not None
    pickle.dump(figure, child.stdin)
    child.stdin.flush()
    return bytes(pickle.load(child.stdout))  # noqa: S301


def _paint(figures: BinaryIO, pictures: BinaryIO) -> None:
    # What the other process does.
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    warnings.filterwarnings("ignore", message="Glyph")
    while True:
        try:
            figure = pickle.loads(pickle.load(figures))  # noqa: S301
        except EOFError:
            return
        pickle.dump(png(figure), pictures)
        pictures.flush()


if __name__ == "__main__":
    _paint(sys.stdin.buffer, sys.stdout.buffer)
