"""The servers that reported a memory, in a few words beside its text."""

from collections.abc import Sequence

from nacre.being.memory.model.lineage import origins_of, tellings_of
from nacre.being.memory.model.types import Node, Scene
from nacre.core.origins import UNKNOWN, Origins, external_servers, origins_in

_SHOWN = 3  # servers


def reported_by(memory: Node | Scene) -> str:
    """Return `reported by web` for a text that derives from a server's results, or "".

    A server that only told the same again is named as `also reported by mail`.
    """
    if not memory.origins:
        return ""  # no server was recorded
    text = _servers(tellings_of(memory)[0])
    others = [name for name in _servers(origins_of(memory)) if name not in text]
    parts = []
    if text:
        parts.append(f"reported by {_names(text)}")
    if others:
        parts.append(f"also reported by {_names(others)}")
    return ", ".join(parts)


def reporters(origins: Sequence[str]) -> str:
    """Return `reported by web` for the stored origins of a message or a summary, or ""."""
    servers = _servers(origins_in(origins))
    return f"reported by {_names(servers)}" if servers else ""


def _servers(origins: Origins) -> list[str]:
    return [name for name in external_servers(origins) if name != UNKNOWN]


def _names(servers: Sequence[str]) -> str:
    more = f" and {len(servers) - _SHOWN} more" if len(servers) > _SHOWN else ""
    return ", ".join(servers[:_SHOWN]) + more
