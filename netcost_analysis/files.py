# Writing a file whole or not at all.

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    # Yields a draft path beside the target. The draft replaces the target when the block ends
    # without an error. Errors name the target.
    target, draft = Path(path), None
    prefix = f".{target.name}."
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=target.suffix)
        os.close(handle)
        draft = Path(name)
        yield draft
        # mkstemp creates files with mode 0600; apply the umask as for any new file.
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)
        draft.replace(target)
    except OSError as error:
        # A failed write names no file, or the draft.
        ours = error.filename is None or Path(error.filename).name.startswith(prefix)
        if error.errno is None or not ours:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
