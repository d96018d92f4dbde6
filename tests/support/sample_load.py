# Tenths of a second of processor time, however long others keep it waiting, in which a task
# computes, calls the kernel, starts another task and faults pages in: something of everything for a
# sampling recorder.

import hashlib
import mmap
import os
import subprocess
import sys
import time

end = time.process_time() + float(sys.argv[1])
subprocess.run(["true"])
rounds = 0
while time.process_time() < end or rounds < 30:
    rounds += 1
    pages = mmap.mmap(-1, 1 << 16)
    for at in range(0, 1 << 16, 4096):
        pages[at] = 1
    pages.close()
    hashlib.sha256(bytes(1_000_000)).digest()
    os.getppid()
