"""The editor of rules: nothing counts before its owner has seen what it changes."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape

import pytest

from nacre.core.clock import Clock
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.policies.packs import text_of
from nacre.firewall.policies.version_store import PolicyVersions
from tests.console.conftest import Desk, console_desk
from tests.scaffolding.web_site import Answer, Browser

ALLOW = '[[rule]]\naction = "allow"\ntool = "*"\nserver = "nacre"\n'
ASK = '[[rule]]\naction = "prompt"\ntool = "update_notes"\n' + ALLOW


@pytest.fixture
def one() -> Iterator[Desk]:
    """One front: what is looked at does not depend on it."""
    with console_desk("laptop") as made:
        yield made


def documents(desk: Desk) -> PolicyVersions:
    clock: Clock = desk.place.time
    return PolicyVersions(desk.controls.table, clock=clock)


def textarea(page: Answer, name: str = "text") -> str:
    found = re.search(
        rf'<textarea[^>]*name="{name}"[^>]*>\n?(.*?)</textarea>', page.text, re.DOTALL
    )
    assert found is not None
    return unescape(found[1])


def check(desk: Desk, text: str, **fields: str) -> Answer:
    return desk.submit(desk.get("policy"), "policy", "check", text=text, **fields)


def save(desk: Desk, checked: Answer, **fields: str) -> Answer:
    """Save the text that a check has shown."""
    return desk.submit(checked, "policy", "save", text=textarea(checked), **fields)


def test_rules_are_checked_then_saved_and_count(desk: Desk) -> None:
    first = desk.get("policy")
    assert "The default rules of Nacre." in first.text
    assert textarea(first) == text_of("default")

    checked = check(desk, ASK.replace("\n", "\r\n"))
    assert "Save as version 1" in checked.text
    assert "<ins>tool = &#34;update_notes&#34;</ins>" in checked.text
    assert documents(desk).current(desk.being) is None

    saved = save(desk, checked, note="ask first")
    assert "The rules are in force." in saved.text
    assert "own rules, version 1" in saved.text
    kept = documents(desk).current(desk.being)
    assert kept is not None
    assert (kept.text, kept.by, kept.note) == (ASK, "me", "ask first")


def test_what_does_not_load_is_said_and_kept_to_be_mended(desk: Desk) -> None:
    wrong = ASK.replace("prompt", "promt")

    answer = check(desk, wrong)

    assert answer.status == 400
    assert "Rule 1: unknown action" in answer.text
    assert textarea(answer) == wrong
    assert "Save as version" not in answer.text
    unchecked = desk.browser.post(
        desk.at("policy", "save"), {"csrf": csrf(answer), "text": wrong, "based_on": "0"}
    )
    assert unchecked.status == 400
    assert documents(desk).current(desk.being) is None


def test_a_check_tells_what_would_come_out_otherwise(one: Desk) -> None:
    Pins(one.controls.table, GLOBAL).observe(
        "files", [{"name": "read", "inputSchema": {"type": "object"}}], is_first=True
    )
    entry = AuditEntry(
        outcome="allow", server="nacre", method="tools/call", tool="update_notes", being=one.being
    )
    one.controls.record(entry, entry)

    found = check(one, ASK + ALLOW)

    assert "rule 3</strong>: rule 2 already decides the same" in found.text
    assert (
        "2 calls of <code>update_notes</code> of nacre: allow now, prompt with the new rules"
        in found.text
    )
    row = re.search(r"<code>update_notes</code> <small>of nacre.*?</tr>", found.text, re.DOTALL)
    assert row is not None
    assert ">allowed</span>" in row[0]
    assert ">asked</span>" in row[0]
    assert "files/read" in found.text


def test_recorded_calls_are_decided_by_the_rules_in_force_and_by_the_new_ones(one: Desk) -> None:
    rules = ASK + '[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "/a/**"\n'
    documents(one).push(one.being, rules, source="x", based_on=0, by="me")
    asked = AuditEntry(  # denied, because nobody answered: the rule said neither
        outcome="deny", server="nacre", method="tools/call", tool="update_notes", being=one.being
    )
    read = replace(asked, server="files", tool="read", outcome="allow", shape={"path": "text"})
    one.controls.record(asked, read, replace(read, being="another"))

    assert "no decision would change" in check(one, rules + ALLOW.replace("*", "other")).text
    moved = check(one, rules.replace("/a/", "/b/")).text
    assert "1 call of <code>read</code> of files: depends on the arguments" in moved
    assert "<code>update_notes</code> of nacre:" not in moved


def test_a_call_is_tried_on_old_and_new_rules(one: Desk) -> None:
    tried = check(one, ASK, tool="update_notes", arguments='{"notes": ["x"]}')
    assert re.search(
        r"Now <span[^>]*>allow</span>, with the new rules <span[^>]*>prompt</span>", tried.text
    )
    assert "rule 1 (prompt) matches" in tried.text

    for arguments in ("[1]", "{", '{"a": 1, "a": 2}', "NaN"):
        assert check(one, ASK, tool="x", arguments=arguments).status == 400, arguments


def test_of_two_who_save_at_once_the_later_sees_what_the_other_did(desk: Desk) -> None:
    checked = check(desk, ASK)
    documents(desk).push(desk.being, ALLOW, source="x", based_on=0, by="ann")

    late = save(desk, checked)

    assert late.status == 409
    assert "Somebody else saved rules" in late.text
    assert textarea(late) == ASK
    assert "update_notes" in late.text
    again = save(desk, late)
    assert "The rules are in force." in again.text
    assert [each.by for each in documents(desk).history(desk.being)] == ["me", "ann"]


def test_what_is_wrong_besides_is_said_to_the_later_of_two_who_save(desk: Desk) -> None:
    checked = check(desk, ASK)
    documents(desk).push(desk.being, ALLOW, source="x", based_on=0, by="ann")

    late = save(desk, checked, tool="update_notes", arguments="{")

    assert late.status == 409
    assert "Somebody else saved rules" in late.text
    assert "arguments" in late.text
    assert textarea(late) == ASK


def test_rules_about_content_of_other_servers_are_shown_and_reviewed(one: Desk) -> None:
    tainted = '[[rule]]\naction = "deny"\ntool = "update_notes"\ntainted = true\n'
    documents(one).push(one.being, ALLOW, source="x", based_on=0, by="me")
    checked = check(one, tainted + ALLOW, tool="update_notes", arguments="{}")

    assert "<code>update_notes, after results of external servers</code>" in checked.text
    assert "If its caller has received external:anything: deny (rule 1)" in checked.text
    assert re.search(
        r"Now <span[^>]*>allow</span>, with the new rules <span[^>]*>allow</span>", checked.text
    )
    save(one, checked)
    assert "<code>tainted = true</code>" in one.get("policy").text


def test_an_earlier_version_is_looked_at_and_restored(desk: Desk) -> None:
    for number, text in enumerate((ALLOW, ASK)):
        documents(desk).push(desk.being, text, source="x", based_on=number, by="me")
    assert desk.get("policy").text.count("/policy/version?number=") == 2

    old = desk.get("policy", "version", number="1")
    assert "Changes in this version" in old.text
    checked = desk.submit(old, "policy", "check")
    assert "<del>tool = &#34;update_notes&#34;</del>" in checked.text
    save(desk, checked)

    current = documents(desk).current(desk.being)
    assert current is not None
    assert (current.number, current.text) == (3, ALLOW)
    for other in ("9", "0", "x", "-1"):
        desk.get("policy", "version", number=other, status=404)


def test_rules_for_all_count_where_a_being_has_none(desk: Desk) -> None:
    page = desk.browser.get("/rules")
    checked = desk.browser.submit(page, "/rules/check", text=ALLOW)
    saved = desk.browser.submit(checked, "/rules/save", text=ALLOW)
    assert saved["location"] == "/rules?said=in-force"

    being = desk.get("policy")
    assert "The rules for all Beings, version 1" in being.text
    assert textarea(being) == ALLOW


def test_another_owner_reads_the_rules_for_all_and_changes_none(desk: Desk) -> None:
    authority = desk.place.authority
    authority.owners.add("bob")
    authority.beings.create("Bo", owner="bob")
    bob = Browser(desk.place)
    bob.sign_in(authority.sign_in.links.make("bob").secret)

    page = bob.get("/rules")
    assert page.status == 200
    assert "/rules/check" not in page.text
    sent = bob.post("/rules/save", {"csrf": csrf(page), "text": ALLOW, "based_on": "0"})
    assert sent.status == 403
    assert documents(desk).current("global") is None
    assert bob.get("/servers").status == 403
    assert bob.get(desk.at("policy")).status == 404
    assert bob.post(desk.at("policy", "save"), {"csrf": csrf(page), "text": ALLOW}).status == 404


def test_a_file_on_this_machine_comes_first_and_is_told_of(one: Desk) -> None:
    one.controls.policy_file = ("policy.toml", ASK)
    assert "The file <code>policy.toml</code> on this machine overrides" in one.get("policy").text

    one.controls.policy_file = ("policy.toml", "[[rule]")
    broken = one.get("policy")
    assert "not valid TOML" in broken.text


def test_a_text_that_fits_no_form_is_left_to_the_commands(one: Desk) -> None:
    long = ALLOW + "# " + "é" * 30_000 + "\n"
    documents(one).push(one.being, long, source="x", based_on=0, by="me")

    page = one.get("policy")

    assert "too long to edit here" in page.text
    assert "<textarea" not in page.text


def csrf(page: Answer) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]
