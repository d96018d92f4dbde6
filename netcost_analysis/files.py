# Writing a file whole or not at all.

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    # Yields a path beside the target to write to; it takes the target's place when the block ends
    # well. What cannot be written is told of the target.
    target, draft = Path(path), None
    prefix = f".{target.name}."
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=target.suffix)
        os.close(handle)
        draft = Path(name)
        yield draft
        # mkstemp gives 0600; the file gets what any new file would.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)
        draft.replace(target)
    except OSError as error:
        # Of a write the system does not say to which file, and a draft has a name of its own.
        ours = error.filename is None or Path(error.filename).name.startswith(prefix)
        if error.errno is None or not ours:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
