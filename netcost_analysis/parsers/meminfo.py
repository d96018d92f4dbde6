# /proc/meminfo: "MemAvailable:   22334455 kB".


def parse_available_memory(text: str) -> int | None:
    # Bytes that can be had without swapping; None where the kernel does not say.
    found = (line.split()[1] for line in text.splitlines() if line.startswith("MemAvailable:"))
    return next((int(kib) * 1024 for kib in found), None)
