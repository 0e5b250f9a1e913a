"""Names of files that Obsidian, Windows and macOS all accept."""

import re
import unicodedata
from collections.abc import Container

_REFUSED = re.compile(r'[\x00-\x1f\x7f\\/:*?"<>|#^\[\]%]+')
_DEVICES = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE
)
_BYTES = 120  # of a name without its ending; file systems accept 255


def file_name(title: str) -> str:
    """Return a name for a file of this title, without an ending."""
    text = "".join(
        " " if unicodedata.category(char) in ("Cf", "Cs", "Co", "Zl", "Zp") else char
        for char in unicodedata.normalize("NFC", title)
    )
    name = " ".join(_REFUSED.sub(" ", text).split())
    name = name.encode()[:_BYTES].decode(errors="ignore").strip(" .")
    if not name:
        return "Unnamed"
    return f"{name} file" if _DEVICES.fullmatch(name) else name


def path_key(path: str) -> str:
    """Return the form that all spellings of a path share, whatever its case and normal form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def free_path(folder: str, title: str, reserved: Container[str]) -> str:
    """Return the path of a new file, whose key is not among the keys that are reserved."""
    name = file_name(title)
    path, number = f"{folder}/{name}.md", 2
    while path_key(path) in reserved:
        path, number = f"{folder}/{name} {number}.md", number + 1
    return path
