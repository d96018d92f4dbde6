# The captures of strangers, as ../shared/corpus/manifest.json lists them. With the folder absent
# there is one case left, which skips and says why.

import json
from pathlib import Path
from typing import Any

from support.host import SHARED, require_shared

ABSENT: list[dict[str, Any]] = [{"file": None}]


def files(kind: str) -> list[dict[str, Any]]:
    path = SHARED / "corpus" / "manifest.json"
    listed = json.loads(path.read_text()) if path.is_file() else []
    return [one for one in listed if one["kind"] == kind] or ABSENT


def name(one: dict[str, Any]) -> str:
    return str(one["file"])


def path_of(one: dict[str, Any]) -> Path:
    return require_shared("corpus") / (one["file"] or "")
