"""The tools of other servers, as `get_context` names them to a client."""

from typing import TYPE_CHECKING

from nacre.core.limits import CAPABILITY_BYTES, CAPABILITY_DESCRIPTION
from nacre.gateway.qualified_names import PREFIX

if TYPE_CHECKING:
    from nacre.firewall.entry.guarded_surface import GuardedSurface
    from nacre.protocol.principal import Principal


def capability_tools(
    surface: "GuardedSurface", principal: "Principal | None"
) -> list[dict[str, str]]:
    """Return name and description of each that this caller sees, as many as fit."""
    if not surface.is_gathered():
        surface.gather()
    room = CAPABILITY_BYTES
    found = []
    for each in surface.tools_for(principal):
        name = str(each["name"])
        if not name.startswith(PREFIX):
            continue
        text = " ".join(str(each.get("description") or each.get("title") or "").split())
        if len(text) > CAPABILITY_DESCRIPTION:
            text = f"{text[: CAPABILITY_DESCRIPTION - 1]}…"
        room -= len(name) + len(text.encode("utf-8", "replace")) + 32
        if room < 0:
            break
        found.append({"name": name, "description": text})
    return found
