# A small program with an inlined function, compiled where there is a compiler.

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = """
#include <stdlib.h>
#include <string.h>
static volatile unsigned long sink;
static char bytes[1 << 16];
__attribute__((always_inline)) static inline unsigned long mix(unsigned long x) {
    for (int i = 0; i < 200; i++) x = x * 6364136223846793005UL + (x >> 7) + sink;
    return x;
}
__attribute__((noinline)) unsigned long outer(unsigned long x) { return mix(x) + 1; }
int main(int count, char **words) {
    unsigned long n = count > 1 ? strtoul(words[1], 0, 10) : 0, x = 1;
    while (n--) { x = outer(x); memset(bytes, x, sizeof bytes); }
    return x == 42;
}
"""


# offset: in the file, of the function `outer`. inside: of an instruction of `mix` in it.
@dataclass(frozen=True)
class Program:
    path: Path
    build_id: bytes
    offset: int
    inside: int


def compiled(folder: Path) -> Program:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, path = folder / "program.c", folder / "program"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-O2", "-g", "-Wl,--build-id", "-o", path, source], check=True)
    [address] = re.findall(r"(?m)^(\w+) \w outer$", told("nm", str(path)))
    [build_id] = re.findall(r"Build ID: (\w+)", told("readelf", "-n", str(path)))
    loads = re.findall(
        r"(?m)^ +LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E", told("readelf", "-lW", str(path))
    )
    [(file_offset, start, _)] = loads
    offset = int(address, 16) - int(start, 16) + int(file_offset, 16)
    return Program(path, bytes.fromhex(build_id), offset, offset + 16)


def told(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
