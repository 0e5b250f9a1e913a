"""The first page: whether the memory works, what it learned today, and a timeline."""

import re
from datetime import timedelta
from html import unescape

import pytest

from nacre.access.scopes import SCOPES_BY_NAME
from nacre.being.memory.conversations.captured_message import conversation_id_of
from nacre.being.memory.conversations.client_names import HOOKS_LABEL
from nacre.console.overview.activity import day_name, time_since
from nacre.core.token_prefixes import API
from nacre.firewall.audit.entry import AuditEntry
from tests.being.memory.keeping import scene_draft
from tests.console.conftest import Desk
from tests.console.filled import captured, patrolled


def recalled(
    desk: Desk,
    principal: str,
    tool: str = "recall",
    outcome: str = "allow",
    request: str | None = None,
) -> None:
    entry = AuditEntry(
        outcome=outcome,  # type: ignore[arg-type]  # a word of the log
        server="nacre",
        method="tools/call",
        tool=tool,
        being=desk.being,
        principal=principal,
        request=request,
    )
    desk.controls.record(entry)


def token_of(desk: Desk, label: str) -> str:
    """Create a token with this label, and return its id."""
    made = desk.place.authority.tokens.issue(
        API,
        being_id=desk.being,
        owner="me",
        scopes=SCOPES_BY_NAME["full"],
        lifetime=timedelta(days=1),
        label=label,
    )
    return made.record.token_id


def facts(desk: Desk) -> dict[str, str]:
    """Return the answers under "Does it work?", as text."""
    page = desk.get("overview").text
    pairs = re.findall(r"<dt>(Last \w+)</dt>\s*<dd>(.*?)</dd>", page, re.DOTALL)
    return {name: " ".join(unescape(re.sub(r"<[^>]+>", "", text)).split()) for name, text in pairs}


def section(desk: Desk, name: str) -> str:
    page = desk.get("overview").text
    found = re.search(rf'<section[^>]*aria-labelledby="{name}">(.*?)</section>', page, re.DOTALL)
    return found[1] if found else ""


def test_before_anything_happened_each_answer_says_what_to_do(desk: Desk) -> None:
    told = facts(desk)

    assert "nacre connect CLIENT --hooks" in told["Last captured"]
    assert "Ask a connected client" in told["Last recalled"]
    assert told["Last patrol"].startswith("none yet")
    assert "Nothing yet today" in section(desk, "today")
    assert section(desk, "timeline") == ""
    assert 'role="search"' not in desk.get("overview").text


def test_it_says_what_was_captured_and_recalled_last_and_by_which_client(desk: Desk) -> None:
    captured(desk, "/home/ann/boat")
    recalled(desk, token_of(desk, "Claude Code"))
    recalled(desk, token_of(desk, "An editor"), "search_memory")
    desk.controls.time.pass_(minutes=5)

    told = facts(desk)

    assert told["Last captured"].startswith("140 days ago (2026-07-01 09:00 UTC), from /home/ann")
    assert told["Last recalled"].startswith("5 minutes ago (2026-11-18 12:00 UTC), by An editor")
    assert 'role="search"' in desk.get("overview").text
    line = section(desk, "timeline")
    assert re.findall(r'class="tag">(\w+)<', line) == ["Recalled", "Recalled", "Captured"]
    assert re.findall(r"<h3>(\w+)", line) == ["Today", "2026"]


def test_hooks_have_the_name_of_their_client_and_not_of_the_token_they_share(desk: Desk) -> None:
    hooks, own = token_of(desk, HOOKS_LABEL), token_of(desk, "An editor")
    captured(desk, "gemini-cli")
    for token, request in (
        (hooks, "hook:claude-code"),
        (hooks, "hook:<b>someone"),
        (own, "hook:codex"),
        (own, "hook"),
        (hooks, "hook:cursor"),
    ):
        recalled(desk, token, request=request)

    line = section(desk, "timeline")

    assert facts(desk)["Last recalled"].endswith("by Cursor All recalls")
    assert "from Gemini CLI, gemini-cli" in facts(desk)["Last captured"]
    clients = ["Cursor", "An editor", "Codex (An editor)", "capture", "Claude Code", "Gemini CLI"]
    places = [line.index(name) for name in clients]
    assert places == sorted(places)
    assert "someone" not in line
    for page in (("captured",), ("captured", conversation_id_of("gemini-cli", "s1"))):
        assert "Gemini CLI" in desk.get(*page).text


def test_what_was_denied_or_is_no_recall_does_not_count(desk: Desk) -> None:
    recalled(desk, token_of(desk, "Claude Code"), outcome="deny")
    recalled(desk, token_of(desk, "Claude Code"), "update_notes")

    assert facts(desk)["Last recalled"].startswith("nothing lately")


def test_recalls_of_one_client_in_a_row_are_one_event(desk: Desk) -> None:
    client = token_of(desk, "Claude Code")
    for _ in range(3):
        recalled(desk, client)
    recalled(desk, "tok_that_is_gone")

    line = section(desk, "timeline")

    assert "Claude Code, 3 times" in line
    assert "a client that is no longer connected" in line
    assert line.count(">Recalled<") == 2


def test_what_was_learned_today_can_be_corrected_and_forgotten_there(desk: Desk) -> None:
    [old] = patrolled(desk, "Ann sold the boat")
    desk.controls.time.pass_(days=1)
    [new] = patrolled(desk, "Ann mag keine Tomaten")
    [scene] = desk.own.mind.memory.scenes.record(
        desk.being, [scene_draft("アンは庭が好き", client="codex")]
    ).scenes
    desk.own.call("update_memory", target="preferences", action="append", content="Short answers")

    today = section(desk, "today")

    assert old.action not in today
    for text in (new.action, scene.action, "Short answers", "heard in Codex"):
        assert text in today
    for page in (("memories", new.node_id), ("scenes", scene.scene_id)):
        for act in ("edit", "forget"):
            assert f'href="{desk.at(*page, act)}"' in today
            assert desk.get(*page, act).status == 200
    assert "Correct or delete: Short answers" in today


def test_a_waiting_scene_is_corrected_where_it_waits(desk: Desk) -> None:
    [scene] = desk.own.mind.memory.scenes.record(
        desk.being, [scene_draft("Eva called", client="codex", session="s1", trust="user")]
    ).scenes
    form = desk.get("scenes", scene.scene_id, "edit")

    page = desk.submit(form, "scenes", scene.scene_id, "edit", action="Eva wrote", importance="70")

    assert "Saved." in page.text
    [now] = desk.own.mind.memory.scenes.pending(desk.being).scenes
    assert (now.action, now.importance, now.client, now.session, now.trust) == (
        "Eva wrote", 0.7, "codex", "s1", "user",
    )  # fmt: skip
    assert now.created_at == scene.created_at
    assert "Eva wrote" in desk.get("memories", q="Eva").text
    assert "Eva called" not in desk.get("memories", q="Eva").text
    assert desk.get("scenes", scene.scene_id, status=404).status == 404
    wrong = desk.submit(
        desk.get("scenes", now.scene_id, "edit"), "scenes", now.scene_id, "edit", when="soon"
    )
    assert wrong.status == 400


def test_a_scene_that_a_patrol_took_is_not_changed_by_an_old_form(desk: Desk) -> None:
    [scene] = desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Eva called")]).scenes
    form = desk.get("scenes", scene.scene_id, "edit")
    desk.own.call("trigger_patrol", messages=[])
    desk.own.work()

    answer = desk.submit(form, "scenes", scene.scene_id, "edit", action="Eva wrote")

    assert answer.status == 409
    assert "a patrol has taken this scene meanwhile" in answer.text.lower()
    [node] = desk.own.mind.memory.nodes.page(desk.being).nodes
    assert node.action == "Eva called"
    assert (
        f"/memories/{node.node_id}/edit"
        in desk.browser.get(desk.at("scenes", scene.scene_id, "edit"))["location"]
    )


def test_a_correction_holds_there_too_and_what_was_hidden_or_erased_is_not_shown(
    desk: Desk,
) -> None:
    nodes = patrolled(desk, "Ann feeds the hens", "Bo sails to Malta", "Eva plays the cello")
    corrections = desk.own.mind.memory.corrections
    corrections.correct(desk.being, nodes[0].node_id, "Ann feeds the geese", by="owner")
    corrections.hide(desk.being, nodes[1].node_id, by="owner")
    page = desk.get("memories", nodes[2].node_id, "forget")
    desk.submit(page, "memories", nodes[2].node_id, "forget")

    for name in ("today", "timeline"):
        text = section(desk, name)
        assert "Ann feeds the geese" in text
        for gone in ("hens", "Malta", "cello"):
            assert gone not in text, name


def test_memories_that_were_merged_are_shown_once(desk: Desk) -> None:
    nodes = patrolled(desk, "Ann feeds the hens", "Bo sails to Malta")
    ids = [node.node_id for node in nodes]
    merged = desk.own.mind.memory.edits.merge(desk.being, ids, action="Ann and Bo have a day off")

    today = section(desk, "today")

    assert today.count(merged.node.node_id) == 3  # its page, and two acts
    assert "hens" not in today


def test_each_row_of_each_list_of_memories_is_edited_and_forgotten_there(desk: Desk) -> None:
    [node] = patrolled(desk, "Ann feeds the hens")
    desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Eva called")])
    lists = {
        "memories": desk.get("memories"),
        "found": desk.get("memories", q="hens"),
        "waiting": desk.get("memories", state="pending"),
        "overview": desk.get("overview"),
        "group": desk.get("map", group=node.cluster_id or "none"),
    }

    for name, page in lists.items():
        main = page.text[page.text.index("<main") :]
        rows = re.findall(r'<a href="([^"]*/(?:memories|scenes)/[^"/?]+)">', main)
        assert rows, name
        for row in rows:
            assert f'href="{row}/edit" aria-label="Edit: ' in main, (name, row)
            assert f'href="{row}/forget" aria-label="Forget: ' in main, (name, row)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-11-18T12:00:00.000Z", "just now"),
        ("2026-11-18T11:59:00.000Z", "1 minute ago"),
        ("2026-11-18T10:00:00.000Z", "2 hours ago"),
        ("2026-11-15T10:00:00.000Z", "3 days ago"),
        ("2026-11-18T12:30:00.000Z", "just now"),  # of a client whose clock is ahead
    ],
)
def test_a_moment_is_said_in_words(at: str, said: str) -> None:
    assert time_since(at, "2026-11-18T12:00:00.000Z") == said


def test_days_are_named() -> None:
    now = "2026-03-01T00:00:00.000Z"

    named = [day_name(day, now) for day in ("2026-03-01", "2026-02-28", "2026-02-27")]

    assert named == ["Today", "Yesterday", "2026-02-27"]
