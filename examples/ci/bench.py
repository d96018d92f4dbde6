"""A benchmark to try the gate with: messages to itself over the loopback device.

python3 bench.py SECONDS PIECES sends each message as so many datagrams, and writes the number of
messages to the file done in the folder NETCOST_FILES.
"""

import os
import socket
import sys
import time
from pathlib import Path

seconds, pieces = float(sys.argv[1]), int(sys.argv[2])
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("127.0.0.1", 0))
one.connect(one.getsockname())
done, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(100):
        for _ in range(pieces):
            one.send(bytes(1_024 // pieces))
            one.recv(1_024)
        done += 1
Path(os.environ["NETCOST_FILES"], "done").write_text(f"{done}\n")
