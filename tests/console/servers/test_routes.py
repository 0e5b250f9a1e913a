"""Other servers on a page: what they offer, and that only what was seen is trusted."""

import re
from typing import Any

from nacre.firewall.pins import GLOBAL, Pins
from nacre.gateway.catalogue.store import Entry, Health, StoredCatalogue
from nacre.gateway.servers.store import ServerStore
from nacre.ports.other_programs.upstream import Offered
from tests.console.conftest import Desk
from tests.scaffolding.web_site import Answer, form_of

READ: dict[str, Any] = {
    "name": "read",
    "description": "Read a file.",
    "inputSchema": {"type": "object"},
}


def pins(desk: Desk) -> Pins:
    return Pins(desk.controls.table, GLOBAL)


def changed(desk: Desk, description: str = "Send a file.") -> None:
    pins(desk).observe("files", [READ], is_first=True)
    pins(desk).observe("files", [{**READ, "description": description}], is_first=False)


def tools(desk: Desk, server: str = "files", status: int = 200) -> Answer:
    page = desk.browser.get(f"/servers/tools?server={server}")
    assert page.status == status
    return page


def chosen(page: Answer) -> dict[str, str]:
    """Return the form as it is sent when every box was ticked."""
    boxes = re.findall(r'<input type="checkbox" name="([^"]+)" value="([^"]+)">', page.text)
    return {**form_of(page, "/servers/trust"), **dict(boxes)}


def test_servers_are_listed_with_how_they_answered(desk: Desk) -> None:
    table = desk.controls.table
    store = ServerStore(lambda: table)
    store.add("weather", {"url": "https://weather.example/mcp?key=geheim"})
    [config] = store.load().servers
    offered = Offered(tools=(READ,), resources=(), templates=(), prompts=(), version="2026-07-28")
    now = desk.place.time().timestamp()
    health = Health(0.25, 1.5, 1, "it is asleep", now)
    entry = Entry(config.digest, now, offered, problem="it is asleep", health=health)
    StoredCatalogue(lambda: table).update(lambda entries: {**entries, "weather": entry})
    changed(desk)

    page = desk.browser.get("/servers")

    assert "https://weather.example/mcp" in page.text
    assert "geheim" not in page.text
    assert '<span class="tag warn">failing</span> next attempt <time' in page.text
    assert re.search(r"UTC</time>: it is asleep</small>", page.text)
    assert re.search(r"<td>250 ms<br><small>1.5 s to open</small></td>", page.text)
    assert "<small>about 23 tokens</small>" in page.text
    assert "1 to review" in page.text


def test_a_changed_tool_is_shown_and_trusted(desk: Desk) -> None:
    changed(desk)
    page = tools(desk)
    assert "Read a file." in page.text
    assert "<ins>  &#34;description&#34;: &#34;Send a file.&#34;,</ins>" in page.text

    done = desk.browser.post("/servers/trust", chosen(page))

    assert done["location"] == "/servers?said=trusted"
    assert pins(desk).of("files")["read"].state == "trusted"
    assert "No tools are waiting for review." in tools(desk).text


def test_only_what_was_seen_is_trusted(desk: Desk) -> None:
    changed(desk)
    seen = chosen(tools(desk))
    changed(desk, "Delete a file.")

    late = desk.browser.post("/servers/trust", seen)

    assert late.status == 409
    assert "has changed again" in late.text
    assert pins(desk).of("files")["read"].state == "changed"


def test_nothing_is_trusted_by_default_or_by_a_wrong_name(desk: Desk) -> None:
    changed(desk)
    form = form_of(tools(desk), "/servers/trust")

    assert desk.browser.post("/servers/trust", form).status == 400
    assert desk.browser.post("/servers/trust", {**form, "tool-1": "x other"}).status == 409
    assert desk.browser.post("/servers/trust", {**form, "server": "nobody"}).status == 404
    assert pins(desk).of("files")["read"].state == "changed"
    tools(desk, "nobody", 404)
