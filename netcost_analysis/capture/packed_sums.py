# Tells bundles from experiments, and checks that a packed file matches its checksums.

from pathlib import Path

from .._native import CaptureError

SUMS, MANIFEST, EXPERIMENT = "SHA256SUMS", "manifest.json", "experiment.json"


def is_experiment_folder(path: Path) -> bool:
    # An experiment's folder that is not a bundle as well.
    return (path / EXPERIMENT).is_file() and not (path / MANIFEST).exists()


def parsed(data: bytes) -> dict[str, str]:
    # sha256sum's lines: 64 digits, a space, a space or "*", the name.
    sums = {}
    text = data.decode("utf-8", "surrogateescape")
    for line in text.split("\n"):
        digest, _, name = line.partition(" ")
        if line:
            sums[name[1:].removeprefix("./")] = digest.lower()
    return sums


def require_whole(
    path: Path, tops: set[str], digests: dict[str, str], sums: dict[str, str] | None
) -> None:
    if len(tops) != 1 or not digests.keys() & {MANIFEST, EXPERIMENT}:
        raise CaptureError(
            f"{path}: a tar archive, but no bundle: no folder with manifest.json or "
            "experiment.json in it; unpack it with tar"
        )
    if sums is None:
        raise CaptureError(
            f"{path}: no {SUMS} in it, so nothing says that it is whole: unpack it with tar and "
            "open the folder"
        )
    digests = {name: digest for name, digest in digests.items() if name != SUMS}
    missing, extra = sorted(sums.keys() - digests.keys()), sorted(digests.keys() - sums.keys())
    wrong = sorted(name for name in digests.keys() & sums.keys() if digests[name] != sums[name])
    for names, what in (
        (wrong, "is not what its checksum says: it was changed or damaged on its way"),
        (missing, "is missing"),
        (extra, f"is not in its {SUMS}"),
    ):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise CaptureError(f"{path}: {names[0]!r}{more} {what}")
