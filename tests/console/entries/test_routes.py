"""Notes, diary, soul and the other entries on their pages; relations, conversations, export."""

import gzip
import json
import re
from html import unescape
from random import Random

from nacre.being.memory.store.targets import DIARY, KNOWLEDGE, NOTES, PARTNER_RULES, SOULS
from tests.console.conftest import Desk
from tests.console.filled import HOSTILE, conversed


def test_a_note_is_added_changed_and_deleted(desk: Desk) -> None:
    entries = desk.own.mind.memory.entries
    page = desk.submit(desk.get("profile", "notes"), "profile", "notes", content="Buy\r\nmilk")
    [note] = entries.page(desk.being, NOTES).entries
    assert (note.text, "Buy\nmilk" in page.text) == ("Buy\nmilk", True)

    form = desk.get("profile", "notes", "entry", key=note.key)
    desk.submit(form, "profile", "notes", "entry", content="Buy bread")
    [changed] = entries.page(desk.being, NOTES).entries
    assert (changed.text, changed.version) == ("Buy bread", 2)

    page = desk.submit(form, "profile", "notes", "delete")
    assert ("Deleted." in page.text, entries.page(desk.being, NOTES).entries) == (True, ())


def test_a_change_of_an_entry_that_was_changed_meanwhile_is_refused(desk: Desk) -> None:
    desk.own.call("update_memory", target="diary", action="append", key="2026-11-01", content="one")
    form = desk.get("profile", "diary", "entry", key="2026-11-01")
    desk.own.call("update_memory", target="diary", action="update", key="2026-11-01", content="two")

    late = desk.submit(form, "profile", "diary", "entry", content="three")

    assert (late.status, "changed the entry meanwhile" in late.text, "two" in late.text) == (
        409,
        True,
        True,
    )
    assert re.search(r"which was not saved</h2>\s*<p class=\"text\">three</p>", late.text)
    entry = desk.own.mind.memory.entries.get(desk.being, DIARY, "2026-11-01")
    assert entry is not None
    assert entry.text == "two"


def test_the_diary_shows_its_last_days_first(desk: Desk) -> None:
    for day in range(1, 51):
        key = f"2026-{9 + day // 26:02}-{day % 26 + 1:02}"
        desk.own.call("update_memory", target="diary", action="append", key=key, content=f"t{day}")

    page = desk.get("profile", "diary")
    first = re.findall(r"<h2>([\d-]+)</h2>", page.text)
    [place] = re.findall(r'rel="next" href="([^"]+)"', page.text)
    rest = re.findall(r"<h2>([\d-]+)</h2>", desk.browser.get(unescape(place)).text)

    assert (len(first), len(rest)) == (40, 10)
    assert [*first, *rest] == sorted([*first, *rest], reverse=True)


def test_versions_of_a_soul_are_compared_and_brought_back(desk: Desk) -> None:
    for text in ("Warm.\nPrecise.", "Warm.\nFunny."):
        desk.own.call(
            "update_memory", target="souls", action="update", key="personality", content=text
        )

    page = desk.get("profile", "souls", "entry", key="personality", version="1")
    assert "<del>Precise.</del>" in page.text
    assert "<ins>Funny.</ins>" in page.text

    form = re.search(
        r"<form[^>]*>(?:(?!</form>).)*Restore version 1(?:(?!</form>).)*</form>",
        page.text,
        re.DOTALL,
    )
    assert form is not None
    values = re.findall(r'name="(\w+)" value="([^"]*)"', form[0])
    fields = {name: unescape(value) for name, value in values}
    done = desk.browser.post(desk.at("profile", "souls", "entry"), fields)
    entry = desk.own.mind.memory.entries.get(desk.being, SOULS, "personality")

    assert done.status == 303
    assert entry is not None
    assert (entry.text, entry.version) == ("Warm.\nPrecise.", 3)


def test_old_versions_are_erased_and_what_has_to_be_stays(desk: Desk) -> None:
    for text in ("one", "two"):
        desk.own.call(
            "update_memory", target="souls", action="update", key="personality", content=text
        )
    page = desk.get("profile", "souls", "entry", key="personality")
    assert "/profile/souls/delete" not in page.text

    desk.submit(page, "profile", "souls", "erase")

    after = desk.get("profile", "souls", "entry", key="personality")
    assert ("two" in after.text, "Old versions" in after.text) == (True, False)


def test_a_rule_is_switched_off_and_on(desk: Desk) -> None:
    desk.own.call("update_memory", target="partner_rules", action="append", content="[a] b: c")
    entries = desk.own.mind.memory.entries
    [rule] = entries.page(desk.being, PARTNER_RULES).entries
    page = desk.get("profile", "partner_rules", "entry", key=rule.key)

    version = {"csrf": _csrf(page.text), "key": rule.key, "version": str(rule.version)}
    desk.browser.post(
        desk.at("profile", "partner_rules", "entry"), {**version, "content": "disabled"}
    )

    [off] = entries.page(desk.being, PARTNER_RULES).entries
    assert (off.enabled, off.text) == (False, rule.text)
    assert "switched off" in desk.get("profile", "partner_rules").text


def test_every_kind_of_entry_can_be_added(desk: Desk) -> None:
    for name in ("preferences", "knowledge", "relationship", "partner_tools", "partner_map",
                 "partner_rules", "diary", "souls", "notes"):  # fmt: skip
        key = {"diary": "2026-11-02", "souls": "voice"}.get(name, "Kept / & ?")
        page = desk.get("profile", name)
        answer = desk.submit(page, "profile", name, key=key, content=f"text of {name}")
        assert f"text of {name}" in answer.text, name
        opened = re.findall(r'href="([^"]+/entry\?key=[^"]+)"', answer.text)[0]
        assert f"text of {name}" in desk.browser.get(unescape(opened)).text, name

    index = desk.get("profile").text
    assert "text of knowledge" in index
    assert "text of notes" not in index


def test_what_an_entry_cannot_be_is_said(desk: Desk) -> None:
    page = desk.submit(desk.get("profile", "diary"), "profile", "diary", key="July", content="mine")

    assert (page.status, "must be a date" in page.text, "mine" in page.text) == (400, True, True)


def test_relations_are_kept_and_removed(desk: Desk) -> None:
    page = desk.submit(
        desk.get("relations"), "relations", entity="Bo / Co", type="person", content="A brother"
    )
    relation = desk.own.mind.memory.relations.get(desk.being, "Bo / Co")
    assert relation is not None
    assert (relation.type, "A brother" in page.text) == ("person", True)

    gone = desk.submit(page, "relations", "delete")

    assert "A brother" not in gone.text
    wrong = desk.submit(gone, "relations", entity="Bo", type="x", content=" ")
    assert (wrong.status, 'value="Bo"' in wrong.text) == (400, True)


def test_conversations_are_searched_and_go_on(desk: Desk) -> None:
    conversed(desk, *(f"message {number}" for number in range(40)), "the Vase " + "x" * 3000)

    first = desk.get("history")
    [place] = re.findall(r'rel="next" href="([^"]+)"', first.text)
    second = desk.browser.get(unescape(place))

    assert (first.text.count("<li class="), second.text.count("<li class=")) == (30, 11)
    found = desk.get("history", q="vase")
    assert found.text.count("<li class=") == 1
    assert "(3009 characters)" in found.text
    assert "Nothing found" in desk.get("history", q="zebra").text
    turned = {"from": "2026-02-01", "to": "2026-01-01"}
    assert "is after" in desk.get("history", status=400, **turned).text
    assert "not what an earlier" in desk.get("history", status=400, before="x").text


def test_a_message_is_removed_from_the_conversations(desk: Desk) -> None:
    conversed(desk, "my door code is 4711", "Noted")
    first = desk.get("history")

    page = desk.submit(first, "history", "remove")

    assert "Erased permanently." in page.text
    left = desk.own.mind.memory.history.search(desk.being, limit=9).messages
    assert len(left) == 1
    gone = desk.submit(first, "history", "remove")
    assert gone.status == 404


def test_a_being_is_taken_along_as_a_file(desk: Desk) -> None:
    desk.own.call("update_memory", target="notes", action="append", content="Buy milk")
    assert "nacre export FILE" in desk.get("export").text

    answer = desk.get("export", "file")
    lines = [json.loads(line) for line in gzip.decompress(answer.body).splitlines()]

    assert (lines[0]["type"], lines[-1]["type"]) == ("nacre-export", "end")
    assert "Buy milk" in gzip.decompress(answer.body).decode()
    assert answer["content-disposition"].startswith('attachment; filename="nacre-Ann-')
    assert answer["cache-control"] == "no-store"


def test_an_export_that_is_too_large_names_the_command(desk: Desk) -> None:
    rng = Random(1)
    conversed(desk, *(rng.randbytes(100).hex() for _ in range(100)))

    page = desk.get("export", "file", status=413)

    assert "too large to download here" in page.text
    assert f"--being {desk.being}" in page.text


def _csrf(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None
    return unescape(found[1])


def test_as_much_as_an_entry_holds_is_changed_by_a_form(desk: Desk) -> None:
    longest = "真珠" * (64 * 1024 // 6)
    page = desk.get("profile", "knowledge")
    listed = desk.submit(page, "profile", "knowledge", key="Pearls", content=longest)
    form = desk.get("profile", "knowledge", "entry", key="Pearls")

    desk.submit(form, "profile", "knowledge", "entry", content=f"貝{longest[:-1]}")

    entry = desk.own.mind.memory.entries.get(desk.being, KNOWLEDGE, "Pearls")
    assert entry is not None
    assert entry.text == f"貝{longest[:-1]}"
    assert "真珠真珠" in listed.text
    assert desk.submit(form, "profile", "knowledge", "entry", content="真" * 100_000).status == 413


def test_letters_are_read_and_deleted(desk: Desk) -> None:
    bob = desk.place.authority.beings.create("Bob", owner="me").being_id
    letters = desk.own.mind.memory.letters
    letter = letters.send(bob, "Ann", HOSTILE[0])
    letters.send(desk.being, "Bob", "Thank you")
    page = desk.get("letters")
    assert HOSTILE[0] in unescape(page.text)
    assert HOSTILE[0] not in page.text
    assert page.text.index("Thank you") > 0

    read = desk.submit(page, "letters", "read", letter=letter.letter_id)
    assert "unread" not in read.text[read.text.index("<ol") :]
    gone = desk.submit(read, "letters", "delete", letter=letter.letter_id)

    assert HOSTILE[0] not in unescape(gone.text)
    assert "Thank you" in gone.text
    assert letters.get(bob, letter.letter_id) is not None
