"""The pages of what is behind a memory, a scene or a call: drawn, linked, escaped, own only."""

import re
from html import unescape

import pytest

from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit
from tests.being.memory.keeping import a_node, scene_draft
from tests.console.audit.test_routes import entry
from tests.console.conftest import Desk
from tests.console.filled import HOSTILE, captured, patrolled
from tests.console.test_hostile import read
from tests.scaffolding.web_site import Answer


def recorded(desk: Desk, *entries: AuditEntry) -> list[str]:
    """Write records now, without the second that `Controls.record` adds to each."""
    controls = desk.controls
    log = ItemAudit(controls.table, desk.being, clock=controls.time, new_writer=lambda: "laptop-1")
    trail = AuditTrail(log, controls.time)
    return [trail.record(each) for each in entries]


def boxes(page: Answer) -> list[str]:
    """Return how each box of the picture follows from the one that it hangs on."""
    return [
        unescape(each) for each in re.findall(r'<p class="head"><strong>(.*?)</strong>', page.text)
    ]


def test_a_memory_is_drawn_with_links_to_what_is_behind_it(desk: Desk) -> None:
    result, call = recorded(desk, entry(desk, "fetch", server="web"), entry(desk, "update_notes"))
    [node] = patrolled(desk, "Bo sold the cat", origins=("agent", "external:web"))
    memory = desk.get("memories", node.node_id)
    assert f'href="{desk.at("memories", node.node_id, "why")}"' in memory.text

    page = desk.get("memories", node.node_id, "why")

    assert "<h1>Why this memory</h1>" in page.text
    assert boxes(page) == ["told by", "written by", "after calls to web", "taken by"]
    for address in (
        desk.at("memories", node.node_id),
        desk.at("scenes", node.evidence[0]),
        f"{desk.at('audit', 'why')}?record={call}",
        f"{desk.at('audit', 'why')}?record={result}",
    ):
        assert f'href="{address}"' in page.text
        assert desk.browser.get(address).status == 200
    assert page.text.count('<span class="tag">by its time</span>') == 2
    assert page.text.count('class="cause by-time"') == 2


def test_a_scene_has_a_picture_too(desk: Desk) -> None:
    [scene] = desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Bo left")]).scenes
    assert desk.at("scenes", scene.scene_id, "why") in desk.get("scenes", scene.scene_id).text

    page = desk.get("scenes", scene.scene_id, "why")

    assert "<h1>Why this scene</h1>" in page.text
    assert "The audit has no call that fits the time." in page.text


def test_a_call_is_drawn_from_its_record_in_the_audit(desk: Desk) -> None:
    conversations = captured(desk, "I moved to Kiel")
    recorded(desk, entry(desk, "fetch", server="web"), entry(desk, "send", server="mail", rule=3))
    listed = desk.get("audit").text
    [_, address] = re.findall(r'href="([^"]+/audit/why\?record=[^"]+)"', listed)[::-1]

    page = desk.browser.get(unescape(address))

    assert "<h1>Why this call</h1>" in page.text
    assert boxes(page)[:1] == ["after calls to web"]
    assert "<dt>rule</dt><dd>3</dd>" in page.text
    assert "not their values." in page.text
    assert conversations
    assert "I moved to Kiel" not in page.text  # it was said months before


def test_a_message_leads_to_its_conversation(desk: Desk) -> None:
    [conversation_id] = captured(desk, "I moved to Kiel")
    [message] = desk.own.mind.captured.messages(desk.being, conversation_id)
    draft = scene_draft("moved", source="extract", evidence=(message.message_id, "GONE"))
    [scene] = desk.own.mind.memory.scenes.record(desk.being, [draft]).scenes

    page = desk.get("scenes", scene.scene_id, "why")

    assert f'href="{desk.at("captured", conversation_id)}"' in page.text
    assert "I moved to Kiel" in page.text
    assert "<code>GONE</code>" in page.text
    assert "It is no longer stored: erased things leave nothing behind." in page.text


def test_hostile_texts_are_only_text(desk: Desk) -> None:
    own = read(desk.get("export"))
    entries = [
        AuditEntry(
            outcome="allow", server=text, method="tools/call", tool=text, principal="tok_1",
            being=desk.being, note=text, shape={text: text}, fields={"received": [text]},
        )
        for text in HOSTILE
    ]  # fmt: skip
    *_, record = recorded(desk, *entries, entry(desk, "update_notes"))
    nodes = patrolled(desk, *HOSTILE, actors=list(HOSTILE[:4]), setting=HOSTILE[1])
    merge = desk.own.mind.memory.edits.merge(
        desk.being, [node.node_id for node in nodes[:4]], action=HOSTILE[4]
    )
    ids = [merge.node.node_id, *(node.node_id for node in nodes[4:])]
    pages = [desk.get("memories", node_id, "why") for node_id in ids]
    assert HOSTILE[0] in unescape(pages[-1].text)
    pages.append(desk.get("audit", "why", record=record))
    pages.append(desk.get("audit", "why", status=404, record=HOSTILE[1]))
    pages.append(desk.get("scenes", nodes[0].evidence[0], "why"))

    for page in pages:
        tags = read(page)
        assert set(tags.active) <= set(own.active), tags.active
        assert all(each.startswith(("/", "#main")) for each in tags.addresses), tags.addresses
        assert not any(each.startswith("//") for each in tags.addresses)
        policy = page["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "5329" not in page.text, "a template in a text was run"
        assert "style=" not in page.text
    assert HOSTILE[0] in unescape(pages[0].text)


@pytest.mark.parametrize("record", ["", "x", "laptop-1/9", "/7", "a" * 5000])
def test_a_record_that_is_not_there_is_a_page_of_its_own(desk: Desk, record: str) -> None:
    recorded(desk, entry(desk, "send"))

    page = desk.get("audit", "why", status=404, record=record)

    assert "nacre audit tail" in page.text


def test_what_does_not_exist_is_not_found(desk: Desk) -> None:
    for parts in (("memories", a_node(9).node_id, "why"), ("scenes", "x", "why")):
        assert "it was erased, or the id is another one" in desk.get(*parts, status=404).text


def test_a_being_of_another_owner_and_its_calls_are_refused(desk: Desk) -> None:
    desk.place.authority.owners.add("joe")
    other = desk.place.authority.beings.create("Opal", owner="joe").being_id
    desk.own.mind.memory.nodes.add(other, [a_node(1)])
    [theirs, nobodys] = recorded(
        desk, entry(desk, "send", being=other), entry(desk, "send", being="", principal="local")
    )

    for path in (f"memories/{a_node(1).node_id}/why", f"audit/why?record={theirs}"):
        assert desk.browser.get(f"/beings/{other}/{path}").status == 404
    desk.get("memories", a_node(1).node_id, "why", status=404)
    desk.get("audit", "why", status=404, record=theirs)

    is_laptop = desk.place.base.startswith("http://127")
    page = desk.get("audit", "why", status=200 if is_laptop else 404, record=nobodys)
    assert ("It belongs to no Being" in page.text) is is_laptop


def test_a_visitor_who_is_not_signed_in_sees_nothing(desk: Desk) -> None:
    [node] = patrolled(desk, "Bo sold the cat")
    desk.browser.cookies.clear()

    answer = desk.browser.get(desk.at("memories", node.node_id, "why"))

    assert answer.status in (303, 401)
    assert "Bo sold the cat" not in answer.text
