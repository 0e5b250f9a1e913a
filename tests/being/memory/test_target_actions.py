"""Every target and action of `update_memory`, as the model sees it."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.model import keys
from nacre.being.memory.store.targets import KNOWLEDGE, TARGETS, parse_rule
from nacre.being.memory.target_actions import ROOM, Action
from nacre.core import limits
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.ports.items.table import Change, Key, Range
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, keeper, queue_of
from tests.being.memory.stores import sqlite_table

MIXED = '猫👩‍👧‍👦 שלום مُحَمَّد <b>Ω</b> \\ " #'

# For each target: a key that a caller may give, None where keys are given to it.
GIVEN_KEYS = {
    "preferences": "tea",
    "knowledge": "Kyoto",
    "relationship": "Ann",
    "partner_tools": "hammer",
    "partner_map": "home",
    "diary": "2026-07-01",
    "notes": None,
    "partner_rules": None,
    "souls": "voice",
}
ID_KEYED = [target for target, key in GIVEN_KEYS.items() if key is None]
KEYED = [target for target, key in GIVEN_KEYS.items() if key is not None]


def do(kept: Keeper, target: str, action: Action, **arguments: Any) -> dict[str, Any]:
    answer = kept.memory.target_actions.apply(kept.id, target, action, **arguments)
    assert (answer["target"], answer["action"]) == (target, action)
    return {
        name: value
        for name, value in answer.items()
        if value is not None and name not in ("target", "action", "updated_at")
    }


def stored_text(target: str, content: str) -> str:
    """Return how a target writes a content down."""
    return f"[general] {content}" if target == "partner_rules" else content


def make(kept: Keeper, target: str, content: str) -> str:
    """Append an entry and return its key."""
    key: str = do(kept, target, "append", content=content, key=GIVEN_KEYS[target])["key"]
    return key


@pytest.mark.requirement("003.update_memory.targets")
@pytest.mark.parametrize("target", GIVEN_KEYS)
def test_what_is_appended_is_there_whole_and_in_the_list(kept: Keeper, target: str) -> None:
    key = make(kept, target, MIXED)
    text = stored_text(target, MIXED)

    whole = do(kept, target, "get", key=key)
    assert whole == {"success": True, "key": key, "version": 1, "content": text}
    assert do(kept, target, "get")["entries"] == [{"key": key, "preview": text, "version": 1}]


@pytest.mark.requirement("003.update_memory.actions")
@pytest.mark.parametrize("target", GIVEN_KEYS)
def test_update_replaces_and_tells_what_was_there(kept: Keeper, target: str) -> None:
    key = make(kept, target, "old")
    answer = do(kept, target, "update", key=key, content="new")

    before = stored_text(target, "old")
    assert answer == {"success": True, "key": key, "version": 2, "before": before}
    assert do(kept, target, "get", key=key)["content"] == stored_text(target, "new")


@pytest.mark.requirement("003.update_memory.actions")
@pytest.mark.parametrize("target", GIVEN_KEYS)
def test_delete_removes_one_entry_and_tells_what_was_there(kept: Keeper, target: str) -> None:
    key = make(kept, target, "gone")
    other = do(
        kept,
        target,
        "append",
        content="kept",
        key={"diary": "2026-07-02", "souls": "values"}.get(target, GIVEN_KEYS[target] and "other"),
    )["key"]
    answer = do(kept, target, "delete", key=key)

    before = stored_text(target, "gone")
    assert answer == {"success": True, "key": key, "version": 1, "before": before}
    assert [entry["key"] for entry in do(kept, target, "get")["entries"]] == [other]
    assert do(kept, target, "delete", key=key) == {
        "success": False,
        "key": key,
        "remark": "there is no entry of this key",
    }
    if TARGETS[target].most is not None:
        assert kept.meta(f"n_{target}") == 1


@pytest.mark.parametrize("target", GIVEN_KEYS)
@pytest.mark.parametrize("action", ["update", "delete"])
def test_update_and_delete_need_a_key(laptop: Keeper, target: str, action: Action) -> None:
    make(laptop, target, "here")
    for key in (None, "", "  "):
        with pytest.raises(InvalidInputError, match=f"'key' is needed for {action}"):
            do(laptop, target, action, content="x", key=key)

    assert len(do(laptop, target, "get")["entries"]) == 1


@pytest.mark.parametrize("target", GIVEN_KEYS)
@pytest.mark.parametrize("action", ["append", "update"])
def test_append_and_update_need_a_content(laptop: Keeper, target: str, action: Action) -> None:
    for content in (None, "", " \n"):
        with pytest.raises(InvalidInputError, match=f"'content' is needed for {action}"):
            do(laptop, target, action, content=content, key="x")


@pytest.mark.parametrize("target", GIVEN_KEYS)
def test_an_unknown_key_is_no_entry(laptop: Keeper, target: str) -> None:
    key = {"diary": "2026-01-01", "souls": "voice"}.get(target, "never made")

    assert do(laptop, target, "get", key=key) == {
        "success": False,
        "key": key,
        "remark": "there is no entry of this key",
    }


@pytest.mark.parametrize("target", KEYED)
def test_update_of_an_unknown_key_makes_it_and_says_so(laptop: Keeper, target: str) -> None:
    key = GIVEN_KEYS[target]
    assert do(laptop, target, "update", key=key, content="new") == {
        "success": True,
        "key": key,
        "version": 1,
        "remark": "there was no entry of this key: it was made",
    }


@pytest.mark.parametrize("target", ID_KEYED)
def test_where_keys_are_given_an_unknown_one_makes_a_new_entry(laptop: Keeper, target: str) -> None:
    answer = do(laptop, target, "update", key="invented", content="new")

    assert answer["key"] != "invented"
    assert answer["remark"] == "there was no entry 'invented': stored as a new one"
    assert len(do(laptop, target, "get")["entries"]) == 1


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("preferences", "one\ntwo"),
        ("knowledge", "one\n\ntwo"),
        ("relationship", "one\n\ntwo"),
        ("partner_tools", "two"),
        ("partner_map", "two"),
        ("diary", "one\n\ntwo"),
        ("souls", "one\n\ntwo"),
    ],
)
def test_appending_to_an_entry_is_the_targets_own(
    laptop: Keeper, target: str, expected: str
) -> None:
    key = make(laptop, target, "one")
    answer = do(laptop, target, "append", key=key, content="two")

    assert answer == {"success": True, "key": key, "version": 2, "before": "one"}
    assert do(laptop, target, "get", key=key)["content"] == expected


def test_a_preference_has_each_line_once(laptop: Keeper) -> None:
    for line in ("tea", "no sugar", "tea"):
        do(laptop, "preferences", "append", key="drinks", content=line)

    assert do(laptop, "preferences", "get", key="drinks")["content"] == "tea\nno sugar"
    again = do(laptop, "preferences", "append", key="drinks", content="tea")
    assert again["remark"] == "nothing changed: it says so"


def test_lines_that_come_together_are_had_once_each_too(laptop: Keeper) -> None:
    for lines in ("tea\nno sugar", "tea\nno sugar", "no sugar\n\nmilk\nmilk"):
        answer = do(laptop, "preferences", "append", key="drinks", content=lines)

    assert answer["version"] == 2
    assert do(laptop, "preferences", "get", key="drinks")["content"] == "tea\nno sugar\nmilk"


def test_a_preference_without_a_key_is_known_by_its_beginning(laptop: Keeper) -> None:
    content = "Answer in Japanese when the question is in Japanese, please."

    assert do(laptop, "preferences", "append", content=content)["key"] == content[:50].strip()


def test_a_diary_entry_without_a_key_is_todays(laptop: Keeper) -> None:
    assert do(laptop, "diary", "append", content="sunny")["key"] == "2026-07-28"


@pytest.mark.parametrize(
    "key", ["yesterday", "2026-13-01", "2026-7-1", "\uff12\uff10\uff12\uff16-07-01"]
)
def test_a_diary_key_is_a_date(laptop: Keeper, key: str) -> None:
    with pytest.raises(InvalidInputError, match="'key' must be a date of the calendar"):
        do(laptop, "diary", "append", content="x", key=key)


@pytest.mark.parametrize("target", ["knowledge", "relationship", "partner_tools", "partner_map"])
def test_a_titled_entry_needs_its_title(laptop: Keeper, target: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'key' is needed for {target}"):
        do(laptop, target, "append", content="x")


@pytest.mark.requirement("003.update_memory.partner-map")
def test_a_place_has_a_location_that_stays_until_another_is_given(kept: Keeper) -> None:
    do(kept, "partner_map", "append", key="home", content="a house", location="Nara, JP")
    do(kept, "partner_map", "update", key="home", content="a flat")
    assert do(kept, "partner_map", "get", key="home")["location"] == "Nara, JP"
    assert do(kept, "partner_map", "get")["entries"][0]["location"] == "Nara, JP"

    do(kept, "partner_map", "append", key="home", content="a flat", location="Kyoto")
    assert do(kept, "partner_map", "get", key="home")["location"] == "Kyoto"


@pytest.mark.parametrize("target", [*GIVEN_KEYS, "party_message"])
def test_what_belongs_to_another_target_is_refused(laptop: Keeper, target: str) -> None:
    if target != "partner_map":
        with pytest.raises(InvalidInputError, match="'location' belongs to partner_map"):
            do(laptop, target, "append", content="x", key="k", location="here")
    if target != "party_message":
        with pytest.raises(InvalidInputError, match="'to' belongs to append of party_message"):
            do(laptop, target, "append", content="x", key="k", to="Coral")


def test_a_key_for_a_new_note_is_not_used_and_that_is_said(laptop: Keeper) -> None:
    answer = do(laptop, "notes", "append", content="milk", key="shopping")

    assert answer["key"] != "shopping"
    assert answer["remark"] == "'shopping' was not used: keys are given here"


# Souls and rules


def test_a_soul_has_its_fields_and_no_others(laptop: Keeper) -> None:
    fields = ["name", "model", "personality", "voice", "values", "backstory", "inner_world"]
    for field in [*fields, "examples"]:
        do(laptop, "souls", "update", key=field, content=f"my {field}")
    with pytest.raises(InvalidInputError, match="'key' must be one of name, model, personality"):
        do(laptop, "souls", "update", key="mood", content="x")
    with pytest.raises(InvalidInputError, match="'key' must be one of"):
        do(laptop, "souls", "append", content="x")

    assert len(do(laptop, "souls", "get")["entries"]) == 8


def test_required_fields_of_a_soul_cannot_be_deleted(laptop: Keeper) -> None:
    do(laptop, "souls", "update", key="name", content="Pearl")

    assert do(laptop, "souls", "delete", key="name") == {
        "success": False,
        "key": "name",
        "remark": "'name' can be replaced but not deleted",
    }


def test_a_name_is_replaced_by_appending_and_short(laptop: Keeper) -> None:
    do(laptop, "souls", "append", key="name", content="Pearl")
    do(laptop, "souls", "append", key="name", content="Coral")
    with pytest.raises(InvalidInputError, match="has 257 bytes and its limit is 256"):
        do(laptop, "souls", "update", key="name", content="x" * 257)

    assert do(laptop, "souls", "get", key="name")["content"] == "Coral"


@pytest.mark.parametrize(("target", "key"), [("souls", "voice"), ("partner_rules", None)])
def test_old_versions_of_souls_and_rules_are_kept(
    kept: Keeper, target: str, key: str | None
) -> None:
    key = do(kept, target, "append", content="first", key=key)["key"]
    do(kept, target, "update", key=key, content="second")
    do(kept, target, "delete", key=key)
    first, second = (
        do(kept, target, "get", key=f"{key}@{version}")["content"] for version in (1, 2)
    )

    assert (first, second) == (stored_text(target, "first"), stored_text(target, "second"))
    assert do(kept, target, "get", key=f"{key}@3")["success"] is False
    if target == "souls":
        made = do(kept, target, "update", key=key, content="third")
        assert made["version"] == 3
        assert do(kept, target, "get", key=f"{key}@1")["content"] == "first"


def test_as_many_versions_are_kept_as_promised(laptop: Keeper) -> None:
    for number in range(limits.KEPT_VERSIONS + 10):
        do(laptop, "souls", "update", key="voice", content=f"voice {number}")
    old = laptop.table.query(keys.home(laptop.id), keys=Range(prefix=keys.SOUL_VERSION)).items

    assert len(old) == limits.KEPT_VERSIONS
    assert old[0]["text"] == "voice 9"


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ("[tone] Be kind: always", "[tone] Be kind: always"),
        ("  [ tone ]  Be kind:\nalways, to: all", "[tone] Be kind: always, to: all"),
        ("[tone] be kind", "[tone] be kind"),
        ("be kind", "[general] be kind"),
        ("[] be kind", "[general] [] be kind"),
        ("[tone]", "[general] [tone]"),
        ("see http://x.org: yes", "[general] see http://x.org: yes"),
    ],
)
def test_a_rule_has_a_category_and_perhaps_a_title(content: str, stored: str) -> None:
    assert str(parse_rule(content)) == stored
    assert str(parse_rule(stored)) == stored


def test_updating_a_rule_replaces_its_body_and_can_switch_it_off(laptop: Keeper) -> None:
    key = do(laptop, "partner_rules", "append", content="[tone] Kind: always")["key"]
    do(laptop, "partner_rules", "update", key=key, content="mostly")
    off = do(laptop, "partner_rules", "update", key=key, content="disabled")

    assert off["version"] == 3
    assert do(laptop, "partner_rules", "get", key=key) == {
        "success": True,
        "key": key,
        "version": 3,
        "content": "[tone] Kind: mostly",
        "enabled": False,
    }
    do(laptop, "partner_rules", "update", key=key, content="Enabled")
    assert "enabled" not in do(laptop, "partner_rules", "get")["entries"][0]


# Limits


@pytest.mark.parametrize("target", GIVEN_KEYS)
def test_an_entry_may_be_as_long_as_its_limit_and_no_longer(laptop: Keeper, target: str) -> None:
    prefix = "[a] " if target == "partner_rules" else ""
    limit = TARGETS[target].limit
    full = prefix + "x" * (limit - len(prefix))
    key = make(laptop, target, full)
    with pytest.raises(InvalidInputError, match=rf"'content' has {limit + 1} bytes and its limit"):
        do(laptop, target, "update", key=key, content=full + "y")

    assert do(laptop, target, "get", key=key)["version"] == 1


def test_appending_beyond_the_limit_is_refused_and_changes_nothing(laptop: Keeper) -> None:
    do(laptop, "relationship", "append", key="Ann", content="x" * 8000)
    with pytest.raises(InvalidInputError, match="'content after appending' has 8202 bytes"):
        do(laptop, "relationship", "append", key="Ann", content="y" * 200)

    assert do(laptop, "relationship", "get", key="Ann")["version"] == 1


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("猫" * 201, "'key' has 201 characters and its limit is 200"),
        ("a\x07b", "'key' holds control characters"),
        ("a\udcffb", "'key' holds a lone surrogate"),
    ],
)
def test_a_key_beyond_its_limit_is_named(laptop: Keeper, key: str, message: str) -> None:
    for action in ("append", "update", "get", "delete"):
        with pytest.raises(InvalidInputError, match=message):
            do(laptop, "knowledge", action, key=key, content="x")


def test_the_longest_key_is_taken(kept: Keeper) -> None:
    key = "\U0001f41a" * 200
    do(kept, "knowledge", "append", key=key, content="x")

    assert do(kept, "knowledge", "get", key=key)["success"]


def test_keys_meet_in_every_spelling_of_their_blanks_and_accents(laptop: Keeper) -> None:
    do(laptop, "knowledge", "append", key="  Cafe\u0301 \u3000 menu\n", content="x")

    assert do(laptop, "knowledge", "get", key="Café menu")["key"] == "Café menu"


@pytest.mark.parametrize("target", [name for name, target in TARGETS.items() if target.most])
def test_there_are_as_many_entries_as_promised_and_no_more(laptop: Keeper, target: str) -> None:
    most = TARGETS[target].most
    make(laptop, target, "the last")
    counter = Change(set={f"n_{target}": most})
    laptop.table.update(keys.meta(laptop.id), counter)
    key = None if target in ID_KEYED else "one more"
    with pytest.raises(InvalidInputError, match=rf"there are at most {most} .*; delete some"):
        do(laptop, target, "append", content="one more", key=key)
    # What is there can still be changed, and room be made.
    [entry] = do(laptop, target, "get")["entries"]
    assert do(laptop, target, "update", key=entry["key"], content="changed")["success"]
    assert do(laptop, target, "delete", key=entry["key"])["success"]
    assert do(laptop, target, "append", content="one more", key=key)["success"]


def test_a_counted_entry_and_its_counter_are_written_together(laptop: Keeper) -> None:
    most = TARGETS["notes"].most
    assert most is not None
    laptop.table.update(keys.meta(laptop.id), Change(set={"n_notes": most - 1}))
    with pytest.raises(InvalidInputError, match="at most 500 notes"):
        laptop.memory.scenes.record(laptop.id, [], notes=["one", "two"])

    assert do(laptop, "notes", "get")["entries"] == []


# Long texts and lists


def test_knowledge_of_64_kb_comes_back_whole_in_parts(kept: Keeper) -> None:
    line = '猫に"餌"\\をやる\n'
    text = (line * 5000).encode()[: 64 * 1024].decode(errors="ignore").strip()
    do(kept, "knowledge", "append", key="long", content=text)
    head = kept.table.get(Key(keys.home(kept.id), f"{keys.KNOWLEDGE}long"))
    assert head is not None
    assert "text" not in head

    parts, place = [], None
    while True:
        answer = do(kept, "knowledge", "get", key="long", content=place)
        assert len(json.dumps(answer, ensure_ascii=False).encode()) < limits.MAX_ANSWER_BYTES
        parts.append(answer["content"])
        place = answer.get("next")
        if place is None:
            break
    assert "".join(parts) == text
    assert len(parts) > 1


def test_a_text_that_becomes_short_or_goes_leaves_no_body_behind(kept: Keeper) -> None:
    for change in ("update", "delete"):
        do(kept, "knowledge", "update", key="k", content="x" * 5000)
        assert len(kept.table.query(keys.bodies(kept.id)).items) == 1
        if change == "update":
            do(kept, "knowledge", "update", key="k", content="short")
        else:
            do(kept, "knowledge", "delete", key="k")
        assert kept.table.query(keys.bodies(kept.id)).items == ()


def test_what_was_there_is_told_up_to_what_an_answer_holds(laptop: Keeper) -> None:
    do(laptop, "knowledge", "append", key="k", content="x" * 65536)
    answer = do(laptop, "knowledge", "delete", key="k")

    assert answer["before_is_cut"]
    assert len(answer["before"]) >= ROOM - 2


def test_long_lists_are_paged_and_say_so(laptop: Keeper) -> None:
    wanted = sorted(f"{number:03} {'人' * 150}" for number in range(230))
    for key in wanted:
        laptop.memory.entries.append(laptop.id, KNOWLEDGE, "説明" * 100, key=key)
    found: list[str] = []
    after, pages = None, 0
    while True:
        answer = do(laptop, "knowledge", "get", content=after)
        assert len(json.dumps(answer, ensure_ascii=False).encode()) < limits.MAX_ANSWER_BYTES
        found += [entry["key"] for entry in answer["entries"]]
        pages += 1
        after = answer.get("next")
        if after is None:
            break
    assert found == wanted
    assert pages > 2


def test_what_many_threads_add_to_one_entry_is_all_there(tmp_path: Path, clock: StillClock) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    with ThreadPoolExecutor(8) as pool:
        lines = [f"line {number}" for number in range(64)]
        list(pool.map(lambda line: do(kept, "diary", "append", content=line), lines))

    entry = do(kept, "diary", "get", key="2026-07-28")
    assert sorted(entry["content"].split("\n\n")) == sorted(lines)
    assert entry["version"] == 64
    database.close()


def test_many_threads_fill_a_target_to_its_limit_and_not_beyond(
    tmp_path: Path, clock: StillClock
) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)

    def add(number: int) -> bool:
        try:
            do(kept, "partner_rules", "append", content=f"rule {number}")
        except InvalidInputError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(add, range(130))) == limits.MAX_RULES
    assert len(do(kept, "partner_rules", "get")["entries"]) == limits.MAX_RULES
    database.close()


# Laws

edits = st.lists(
    st.tuples(
        st.sampled_from(["append", "update", "delete"]),
        st.sampled_from(["a", "b", "c#d", "SOUL#a"]),
        st.sampled_from(["x", "y", "z" * 3000]),
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["preferences", "knowledge", "partner_tools"]), edits)
def test_entries_follow_a_dictionary(target: str, steps: list[tuple[Any, str, str]]) -> None:
    joined = {"preferences": "\n", "knowledge": "\n\n"}.get(target)
    clock = StillClock()
    with sqlite_table(clock) as (table, database):
        kept = keeper(table, queue_of(database, clock), clock)
        expected: dict[str, str] = {}
        for action, key, content in steps:
            before = expected.get(key)
            try:
                answer = do(kept, target, action, key=key, content=content)
            except InvalidInputError:
                continue  # too long for a preference
            if action == "delete":
                assert answer["success"] == (expected.pop(key, None) is not None)
            elif action == "update" or before is None or joined is None:
                expected[key] = content
            elif not (target == "preferences" and content in before.splitlines()):
                expected[key] = before + joined + content
            if answer["success"]:
                assert answer.get("before") == before

        entries = do(kept, target, "get")["entries"]
        assert [entry["key"] for entry in entries] == sorted(expected)
        for key, text in expected.items():
            assert do(kept, target, "get", key=key)["content"] == text
        assert (kept.meta(f"n_{target}") or 0) == len(expected)


def test_a_being_that_is_gone_keeps_nothing(laptop: Keeper) -> None:
    laptop.table.delete(keys.meta(laptop.id))
    for target, key in GIVEN_KEYS.items():
        with pytest.raises(NotFoundError, match="there is no such Being"):
            do(laptop, target, "append", content="x", key=key)

    assert laptop.table.query(keys.home(laptop.id)).items == ()
