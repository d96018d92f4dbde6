"""The timeline's ES module, and the HTML around it: what loads nothing from anywhere."""

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ..units import printable

# The page runs its own scripts, and asks nobody but where it came from.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>body {{ margin: 0; }}</style></head><body>
<main id="timeline"></main>
<noscript>The timeline is drawn by JavaScript, all of which is in this page.</noscript>
<script type="application/json" id="data">{data}</script>
<script type="module">
{module}
const data = JSON.parse(document.getElementById("data").textContent);
{host}
</script></body></html>
"""

# In the order of their imports; the last one exports.
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


def document(title: str, data: Any, host: str, connect: str = "'none'") -> str:
    """A page; data: what JSON holds, which the script of host has as `data`, and mounts."""
    # Only "</script" and "<!--" end a <script>: escape every "<".
    safe = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        policy=escape(_POLICY.format(connect=connect)),
        title=escape(printable(title)),
        data=safe,
        module=module(),
        host=host,
    )
