"""What others wrote runs nowhere on the pages about control: hostile text in every field."""

from contextlib import suppress
from dataclasses import replace
from html import unescape
from urllib.parse import urlencode

import pytest

from nacre.being.patrol.jobs import TASK, tasks_partition
from nacre.being.patrol.run.runs import REASON, run_key
from nacre.console.connect.recipes import recipes
from nacre.core.errors import NacreError
from nacre.firewall.approvals.approver import ApprovalRequest
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.firewall.rules.rule import Decision, Subject
from nacre.gateway.catalogue.store import Entry, StoredCatalogue
from nacre.gateway.servers.store import ServerStore
from nacre.ports.items.table import Change, Value
from nacre.protocol import strict_json
from tests.console.access.test_routes import consent
from tests.console.approvals.test_routes import token_of
from tests.console.conftest import Desk
from tests.console.filled import HOSTILE
from tests.console.test_hostile import read
from tests.scaffolding.web_site import Answer

OPENED = tuple(
    step.opened.partition(":")[0] + ":"
    for each in recipes("http://x")
    for step in each.steps
    if step.opened
)
ALLOW = '[[rule]]\naction = "allow"\ntool = "*"\n'


def filled(desk: Desk) -> None:
    """Put hostile text wherever somebody else than the owner, or they themselves, can write."""
    table, authority = desk.controls.table, desk.place.authority
    for place, text in enumerate(HOSTILE):
        desk.controls.record(
            AuditEntry(
                outcome="deny",
                server=text,
                method=text,
                tool=text,
                principal=text,
                being=desk.being,
                note=text,
                shape={text: text},
                fields={"approval": text, f"x{text}": text},
            )
        )
        authority.grants.create(replace(consent(desk, f"g{place}", name=text), client_host=text))
        with suppress(NacreError):  # a label that is refused is not there to be shown
            desk.browser.submit(
                desk.get("access"), desk.at("access", "tokens"), scope="full", days="1", label=text
            )
        definition = {"name": text, "description": text, "inputSchema": {"type": "object"}}
        Pins(table, GLOBAL).observe(text, [definition], is_first=True)
        more = [{**definition, "description": f"{text}!"}, {**definition, "name": f"{text}2"}]
        Pins(table, GLOBAL).observe(text, more, is_first=False, flagged=[f"{text}2"])
    desk.own.call("trigger_patrol", messages=[])
    desk.own.call(
        "update_notes", scenes=[{"actors": [], "action": "Ann slept", "when": ["2026-11-18"]}]
    )
    desk.own.call("trigger_patrol", messages=[])
    reasons = Change(set={f"{REASON}{text}": 2 for text in HOSTILE} | {"model": HOSTILE[0]})
    table.update(run_key(desk.being, 1), reasons)
    _servers_and_tickets(desk)
    rules = "".join(
        f'[[rule]]\naction = "prompt"\ntool = {quoted}\ndescription = {quoted}\n'
        for quoted in (strict_json.encode(text).decode() for text in HOSTILE)
    )
    documents = PolicyVersions(table, clock=desk.place.time)
    for number, text in enumerate((rules, rules + ALLOW)):
        for scope in (desk.being, GLOBAL):
            documents.push(
                scope, text, source="x", based_on=number, by=HOSTILE[0], note=HOSTILE[number + 1]
            )


def _servers_and_tickets(desk: Desk) -> None:
    table, principal = desk.controls.table, token_of(desk)
    store = ServerStore(lambda: table)
    store.add("odd", {"url": 'https://odd.example/"><script>alert(1)</script>'})
    [config] = store.load().servers
    entry = Entry(config.digest, 0.0, None, problem=HOSTILE[0])
    StoredCatalogue(lambda: table).update(lambda entries: {**entries, "odd": entry})
    for text in HOSTILE:
        arguments = {text: text}
        desk.controls.approvals(text).ask(
            ApprovalRequest(
                principal=principal,
                subject=Subject("tool", text, text, arguments),
                decision=Decision("prompt", 1, text, text),
                policy="digest",
                arguments_sha256=arguments_sha256(arguments),
            ),
            can_elicit=False,
        )
        desk.place.time.pass_(seconds=5)
    kept: dict[str, Value] = {text: text for text in HOSTILE}
    report: dict[str, Value] = {"run_id": "r", "undone": [], "not_undone": kept}
    table.put(TASK.stamp({"pk": tasks_partition(desk.being), "sk": "TASK#t", "report": report}))


def pages(desk: Desk) -> list[Answer]:
    filled(desk)
    found = [
        desk.get(*parts)
        for parts in (
            ("connect",), ("access",), ("patrols",), ("patrols", "1"), ("patrols", "tasks", "t"),
            ("policy",), ("audit",), ("model",),
        )
    ]  # fmt: skip
    found += [desk.browser.get(path) for path in ("/approvals", "/rules", "/servers")]
    found += [desk.browser.get(f"/rules/version?number={each}") for each in (1, 2)]
    for text in HOSTILE:
        found.append(desk.get("audit", server=text, tool=text, who=text, outcome=text, until=text))
        found.append(desk.get("patrols", "tasks", text[:5].replace("/", "")))
        found.append(desk.browser.get(f"/servers/tools?{urlencode({'server': text})}"))
        policy = desk.get("policy")
        tried = {
            "tool": text,
            "server": text,
            "arguments": strict_json.encode({text: text}).decode(),
        }
        found.append(desk.submit(policy, "policy", "check", text=ALLOW, **tried))
        found.append(desk.submit(policy, "policy", "check", text=text, note=text))
        inbox = desk.browser.get("/approvals")
        found.append(desk.browser.submit(inbox, "/approvals/decide", ticket=text, decision=text))
        found.append(desk.submit(desk.get("model"), "model", "key", key=f"{text} {text}"))
    return found


@pytest.mark.slow
def test_hostile_text_is_text_on_every_page_about_control(desk: Desk) -> None:
    usual = {each for path in ("connect", "model", "audit") for each in read(desk.get(path)).active}

    for page in pages(desk):
        assert page.status < 500, page.text
        tags = read(page)
        assert set(tags.active) <= usual, (tags.active, page.text[:300])
        for each in tags.addresses:
            assert each.startswith(("/", "#", *OPENED)), each
            assert not each.startswith("//"), each
        assert len(tags.ids) == len(set(tags.ids)), tags.ids
        assert "unsafe" not in page["content-security-policy"]
        assert "5329" not in page.text, "a template in a text was run"


def test_what_cannot_be_seen_is_made_visible(desk: Desk) -> None:
    filled(desk)
    hidden = ("\u202e", "\u2066", "\u200b")

    pages = (desk.get("audit"), desk.get("access"))
    for page in (*pages, desk.browser.get("/approvals"), desk.browser.get("/servers")):
        shown = unescape(page.text.partition("<main")[2])
        assert not [each for each in hidden if each in shown]
        assert "\\u202e" in shown
