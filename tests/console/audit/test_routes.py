"""The audit on a page: newest first, filtered, in pages, and checked."""

import re

from nacre.firewall.audit.entry import AuditEntry
from nacre.ports.items.table import Change, Key
from tests.console.conftest import Desk


def entry(desk: Desk, tool: str = "recall", **facts: object) -> AuditEntry:
    known: dict[str, object] = {
        "outcome": "allow",
        "server": "nacre",
        "method": "tools/call",
        "being": desk.being,
        "principal": "tok_1",
        **facts,
    }
    return AuditEntry(tool=tool, **known)  # type: ignore[arg-type]  # what a test wants of it


def shown(text: str) -> list[str]:
    """Return the tools of the records that a page shows, in order."""
    return re.findall(r"<strong>([\w/-]+)</strong> <small>of", text)


def test_records_are_shown_newest_first(desk: Desk) -> None:
    desk.controls.record(
        entry(desk, "recall"),
        entry(
            desk, "update_notes", outcome="deny", rule=3, note="too big", shape={"notes": "list"}
        ),
    )

    page = desk.get("audit")

    assert shown(page.text) == ["update_notes", "recall"]
    for told in ("too big", "<dt>notes</dt><dd>list</dd>", "2026-11-18 12:00:01", "<td>3</td>"):
        assert told in page.text


def test_filters_leave_what_fits_all_of_them(desk: Desk) -> None:
    desk.controls.record(
        entry(desk, "one"),
        entry(desk, "two", outcome="deny"),
        entry(desk, "three", server="files"),
        entry(desk, "four", principal="tok_2"),
    )

    def found(**query: str) -> list[str]:
        return shown(desk.get("audit", **query).text)

    assert found() == ["four", "three", "two", "one"]
    assert found(outcome="deny") == ["two"]
    assert found(server="files") == ["three"]
    assert found(who="tok_2") == ["four"]
    assert found(tool="TW") == ["two"]
    assert found(tool="tools/call", outcome="deny") == ["two"]
    assert found(until="2026-11-17") == []
    assert found(until="2026-11-18") == ["four", "three", "two", "one"]
    assert found(until="9999-12-31") == found(until="yesterday") == found()
    assert found(outcome="nonsense") == []


def test_pages_follow_one_another_without_a_gap(desk: Desk) -> None:
    desk.controls.record(*(entry(desk, f"tool-{number}") for number in range(120)))

    seen, page = [], desk.get("audit")
    while True:
        seen += shown(page.text)
        older = re.search(r'href="([^"]+)">Older', page.text)
        if older is None:
            break
        page = desk.browser.get(older[1].replace("&amp;", "&"))

    assert seen == [f"tool-{number}" for number in reversed(range(120))]


def test_days_are_read_one_by_one(desk: Desk) -> None:
    desk.controls.record(entry(desk, "first"))
    desk.place.time.pass_(days=3)
    desk.controls.record(entry(desk, "second"))

    assert shown(desk.get("audit").text) == ["second", "first"]
    assert shown(desk.get("audit", until="2026-11-19").text) == ["first"]


def test_a_whole_record_is_told_from_one_that_was_changed(desk: Desk) -> None:
    desk.controls.record(entry(desk), entry(desk))
    whole = desk.submit(desk.get("audit"), "audit", "verify")
    assert "2 records, complete" in whole.text

    partition = f"A#{desk.being}#2026-11-18"
    item = desk.controls.table.query(partition).items[0]
    line = str(item["line"]).replace("recall", "forget")
    desk.controls.table.update(Key.of(item), Change(set={"line": line}))
    changed = desk.submit(desk.get("audit"), "audit", "verify")

    assert "is not a whole record" in changed.text


def test_a_damaged_record_hides_nothing(desk: Desk) -> None:
    desk.controls.record(entry(desk, "kept"), entry(desk, "broken"))
    item = desk.controls.table.query(f"A#{desk.being}#2026-11-18").items[1]
    key = Key.of(item)
    desk.controls.table.update(key, Change(set={"line": "{not json"}))

    page = desk.get("audit")

    assert shown(page.text) == ["kept"]
    assert "1 record in this range cannot be read" in page.text


def test_calls_of_no_being_are_shown_where_they_were_made(desk: Desk) -> None:
    desk.controls.record(entry(desk, "mine"), entry(desk, "proxied", being="", principal="local"))

    found = shown(desk.get("audit", elsewhere="1").text)

    is_laptop = desk.place.base.startswith("http://127")
    assert found == (["proxied"] if is_laptop else ["mine"])
