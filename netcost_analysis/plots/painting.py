"""Renders figures as PNG, in this process or in another while this one goes on."""

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

# Pixels of a picture per pixel of the page, in width and height.
_SHARPNESS = 2

# Sends a pickled figure to the other process; None if there is none.
_SEND: ContextVar[Callable[[bytes], "Future[bytes]"] | None] = ContextVar("send", default=None)

# Bytes, or a function that waits for them.
Painted = bytes | Callable[[], bytes]


def png(figure: "Figure") -> bytes:
    """Render a figure, which this changes."""
    # Figure.savefig and the inline backend would draw it twice, first to lay it out. No picture is
    # transparent. Harder compression would save a tenth of a page, but cost half of its pictures'
    # time.
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
    """Let painted() render figures in another process within the block, if there is a free core."""
    if len(os.sched_getaffinity(0)) == 1 or not sys.executable:
        yield
        return
    # -P: import no modules from the working directory. The child ends with its input. A session of
    # its own keeps Ctrl-C in a terminal from it.
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
    """Render a figure, here or in the other process. Nothing may draw on it afterwards."""
    send = _SEND.get()
    if send is None:
        return png(figure)
    try:
        kept = pickle.dumps(figure)
    except (pickle.PicklingError, AttributeError, TypeError):
        # The figure has something, such as a cell's function, that another process cannot import.
        return png(figure)
    rendered = send(kept)

    def data() -> bytes:
        try:
            return rendered.result()
        except (OSError, EOFError, pickle.UnpicklingError):
            # The other process has ended. If the figure is at fault, this call says why. A figure
            # takes megabytes, so only its pickle is kept until then.
            return png(pickle.loads(kept))  # noqa: S301

    return data


def _ask(child: "Popen[bytes]", figure: bytes) -> bytes:
    assert child.stdin is not None
    assert child.stdout is not None
    pickle.dump(figure, child.stdin)
    child.stdin.flush()
    return bytes(pickle.load(child.stdout))  # noqa: S301


def _paint(figures: BinaryIO, pictures: BinaryIO) -> None:
    # The loop of the other process.
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
