# Records packed into COMPRESSED or COMPRESSED2 records by perf, and whole captures packed by
# whoever sent them.

import gzip

import zstandard

from .machine import Machine, padded

# perf cuts its compressed output into records of at most this (PERF_SAMPLE_MAX_SIZE - 1).
RECORD_LIMIT = 65535 - 8


def compressed_records(data: bytes, version: int, machine: Machine, chunk: int = 20_000) -> bytes:
    # One zstd frame runs through all records and is flushed, not ended, at each: so does perf,
    # whose chunks follow its buffers and not the records inside, so a record may start in one and
    # end in the next.
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    result = b""
    for start in range(0, len(data), chunk):
        packed = packer.compress(data[start : start + chunk]) + packer.flush(
            zstandard.COMPRESSOBJ_FLUSH_BLOCK
        )
        for cut in range(0, len(packed), RECORD_LIMIT - 16):
            piece = packed[cut : cut + RECORD_LIMIT - 16]
            if version == 1:
                result += machine.pack("IHH", 81, 0, 8 + len(piece)) + piece
            else:
                body = machine.pack("Q", len(piece)) + padded(piece, 8)
                result += machine.pack("IHH", 83, 0, 8 + len(body)) + body
    return result


def wrapped(data: bytes, kind: str, members: int = 1) -> bytes:
    """
    A whole capture as gzip or zstd would pack it.

    :param kind: "gzip" or "zstd"
    :param members: how many gzip members, or zstd frames, one after another, to spread it over
    """
    size = max(1, -(-len(data) // members))
    parts = (data[at : at + size] for at in range(0, len(data) or 1, size))
    if kind == "gzip":
        # Without the time of day, or mutants would differ from run to run.
        return b"".join(gzip.compress(part, mtime=0) for part in parts)
    return b"".join(map(zstandard.ZstdCompressor().compress, parts))
