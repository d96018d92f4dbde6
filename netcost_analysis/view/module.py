"""The timeline's ES module: the files in js, one behind the other, without a bundler."""

import re
from functools import cache
from pathlib import Path

# Each after what it imports; the last one exports.
_FILES = ("text", "tiles", "lanes", "strips", "panels", "scene", "hands", "desk", "timeline")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)


@cache
def module() -> str:
    """JavaScript that exports mount(), and as default what anywidget calls.

    Names at the top level of the files are all different: else a browser refuses it.
    """
    folder = Path(__file__).parent / "js"
    parts = {name: (folder / f"{name}.js").read_text(encoding="utf-8") for name in _FILES}
    parts = {name: _IMPORT.sub("", text) for name, text in parts.items()}
    last = parts.pop(_FILES[-1])
    return "\n".join([*(_EXPORT.sub("", text) for text in parts.values()), last])
