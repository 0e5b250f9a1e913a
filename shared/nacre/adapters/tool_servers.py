"""A user's own servers of tools: from packages that announce them, and from settings."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from nacre.core.errors import ConfigurationError

if TYPE_CHECKING:
    from nacre.sdk.tool_server import ToolServer

GROUP = "nacre.tool_servers"
_SECTION = f"[{GROUP}]"


def announced(folders: list[str] | None = None) -> Iterator[str]:
    """Return `MODULE:NAME` of every server that an installed package announces.

    The files are read directly: at a function's start, the standard library's reader would take
    longer than the whole wire core.
    """
    seen: set[str] = set()
    for folder in sys.path if folders is None else folders:
        for file in _entry_points(folder or "."):
            for line in _lines(file):
                if line not in seen:
                    seen.add(line)
                    yield line


def load(reference: str, *, base: Path | None = None) -> "ToolServer":
    """Return the server that `MODULE:NAME` or `PATH.py:NAME` names.

    The name may also be that of a function that returns a server. A wrong definition of a tool, a
    prompt or a resource is left out, and the server's `left_out` names it. Raises
    ConfigurationError for a wrong reference; exceptions of the user's own code are passed on.
    """
    from nacre.sdk.lenient_loading import loading  # noqa: PLC0415 - few have servers of their own

    with loading():
        return _loaded(reference, base)


def _loaded(reference: str, base: Path | None) -> "ToolServer":
    from nacre.sdk.tool_server import ToolServer  # noqa: PLC0415 - see load

    place, _, name = reference.rpartition(":")
    if not place or not name.isidentifier():
        raise ConfigurationError(
            f"'{reference[:200]}' must be of the form MODULE:NAME or PATH.py:NAME"
        )
    module = _from_file(place, base) if place.endswith(".py") else importlib.import_module(place)
    member = getattr(module, name, None)
    if member is None:
        raise ConfigurationError(f"'{reference[:200]}': the module has no '{name}'")
    server = member if isinstance(member, ToolServer) else member() if callable(member) else None
    if not isinstance(server, ToolServer):
        raise ConfigurationError(f"'{reference[:200]}' is not a ToolServer and does not make one")
    return server


def _from_file(place: str, base: Path | None) -> ModuleType:
    import importlib.util  # noqa: PLC0415 - see load

    path = Path(place).expanduser()
    path = path if path.is_absolute() or base is None else base / path
    spec = importlib.util.spec_from_file_location(f"nacre_tools_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigurationError(f"'{place[:200]}' was not found")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # annotations are looked up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return module


def _entry_points(folder: str) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - most of the names need no path
    except OSError:
        return  # Python imports nothing from such a folder either
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            file = Path(folder, name, "entry_points.txt")
            if file.is_file():
                yield file


def _lines(file: Path) -> Iterator[str]:
    """Return the values of our section."""
    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError:
        return
    if _SECTION not in text:
        return
    is_ours = False
    for line in text.splitlines():
        if line.startswith("["):
            is_ours = line.strip() == _SECTION
        elif is_ours and "=" in line:
            yield line.partition("=")[2].strip()
