"""The HTML around the timeline's module: what loads nothing from anywhere."""

import json
from html import escape
from typing import Any

from ..units import printable

# Scripts of the page itself, and what it asks of where it came from; nothing else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>body {{ margin: 0; }}</style></head><body>
<div id="timeline"></div>
<noscript>The timeline is drawn by JavaScript, all of which is in this page.</noscript>
<script type="application/json" id="data">{data}</script>
<script type="module">
{module}
const data = JSON.parse(document.getElementById("data").textContent);
{host}
</script></body></html>
"""


def document(title: str, data: Any, module: str, host: str, connect: str = "'none'") -> str:
    """A page; data: what JSON holds, which the script of host has as `data`, and mounts."""
    # Within <script> only "</script" and "<!--" end it: no "<" is left in names.
    safe = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        policy=escape(POLICY.format(connect=connect)),
        title=escape(printable(title)),
        data=safe,
        module=module,
        host=host,
    )
