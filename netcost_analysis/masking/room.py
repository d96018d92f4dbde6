# A full disk says no name, and the native module's errors have no number but in their text.

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def naming_what_is_full(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        number = error.errno
        if number is None and (found := re.search(r"\(os error (\d+)\)$", str(error))):
            number = int(found[1])
        if error.filename is not None or number not in _NO_ROOM:
            raise
        raise OSError(number, os.strerror(number), str(target)) from None
