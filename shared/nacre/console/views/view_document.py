"""The document of every view: the console's style, one script, and a policy that allows no more.

The policy names the script and the style by their hashes. So nothing else runs or is loaded,
whatever a memory's text says, and also where a client's own policy allows inline scripts.
"""

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path

from nacre.web.templates import STATIC, templates

_FOLDER = Path(__file__).parent
_STYLES = (
    STATIC / "nacre.css",
    STATIC / "console.css",
    STATIC / "control.css",
    _FOLDER / "view.css",
)


@cache
def view_document() -> str:
    """Return the document, the same for every view."""
    script = (_FOLDER / "view.js").read_text(encoding="utf-8")
    style = "\n".join(path.read_text(encoding="utf-8") for path in _STYLES)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        templates()
        .get_template("console/views/view.html")
        .render(policy=policy, script=script, style=style)
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
