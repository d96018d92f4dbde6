# Writing a file whole or not at all.

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    # Yields a path beside the target to write to; it takes the target's place when the block ends
    # well.
    target = Path(path)
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix
    )
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        # mkstemp gives 0600; the file gets what any new file would.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
