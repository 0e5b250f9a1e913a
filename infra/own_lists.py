"""Write the lists of a Being's own tools, resources and prompts: python -m infra.own_lists."""

import json
from pathlib import Path
from typing import Any

from nacre.being.tools.registered_tools import own_server
from nacre.core.clock import system_clock

LISTS = Path(__file__).resolve().parents[1] / "shared" / "nacre" / "being" / "tools" / "lists.json"


def lists() -> dict[str, Any]:
    """Return each list of the server, under its name on the wire."""

    def nobody() -> Any:
        raise AssertionError("a list needs no memory")

    server = own_server(nobody, system_clock, patrols=nobody, capabilities=lambda _context: [])
    return {
        "tools": server.tools(),
        "resources": server.resources(),
        "resourceTemplates": server.resource_templates(),
        "prompts": server.prompts(),
    }


if __name__ == "__main__":
    LISTS.write_text(f"{json.dumps(lists(), indent=1, ensure_ascii=False)}\n", encoding="utf-8")
