"""Memories on the pages: found, read, changed, pinned, merged and forgotten."""

import re
from html import unescape

import pytest

from nacre.being.memory.erase import eraser
from nacre.being.memory.model import keys
from nacre.being.memory.model.lineage import is_vouched
from nacre.being.memory.model.types import Node
from nacre.being.memory.search.search import FINDABLE
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Change, Key
from tests.being.memory.keeping import a_node, scene_draft
from tests.being.memory.recalls import with_recalls
from tests.console.conftest import Desk
from tests.console.filled import conversed, patrolled
from tests.scaffolding.web_site import Answer

CATS = ("Miso knocked over the vase", "Miso slept on the keyboard", "Bo painted the boat green")


def links(page: Answer) -> list[str]:
    """Return the texts of the links to memories and scenes, in their order."""
    main = page.text[page.text.index("<main") :]
    found = re.findall(r'<a href="[^"]*/(?:memories|scenes)/[^"]+">(.*?)</a>', main, re.DOTALL)
    return [unescape(each) for each in found]


def now(desk: Desk, node: Node) -> Node:
    return with_recalls(desk.own.table, desk.being, [node.node_id])[node.node_id]


def test_a_search_ranks_as_the_tools_do_and_counts_nothing(desk: Desk) -> None:
    nodes = patrolled(desk, *CATS)
    answer = desk.own.mind.search.find(desk.being, "the cat Miso", limit=20, where=FINDABLE)

    page = desk.get("memories", q="the cat Miso")

    assert links(page) == [hit.memory.record.action for hit in answer.hits]
    assert links(page)[:2] != []
    assert [now(desk, each).reactivation_count for each in nodes] == [0, 0, 0]


def test_what_waits_for_a_patrol_is_found_and_listed(desk: Desk) -> None:
    desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Eva called")])

    assert links(desk.get("memories", q="Eva")) == ["Eva called"]
    assert links(desk.get("memories", state="pending")) == ["Eva called"]
    assert "waiting for a patrol" in desk.get("memories", state="pending").text


def test_memories_are_narrowed_down_by_state_group_and_day(desk: Desk) -> None:
    memory = desk.own.mind.memory
    living, dead = a_node(1, cluster_id="c"), a_node(2, status="dead", due=None)
    other = a_node(3, when=("2026-07-09",))
    memory.nodes.add(desk.being, [living, dead, other])

    assert links(desk.get("memories")) == [other.action, living.action]
    assert links(desk.get("memories", state="dead")) == [dead.action]
    assert links(desk.get("memories", group="c")) == [living.action]
    assert links(desk.get("memories", q="fed cat", **{"from": "2026-07-08"})) == [other.action]
    assert "Nothing found" in desk.get("memories", q="cat", **{"from": "2027-01-01"}).text


def test_a_day_that_is_none_is_refused(desk: Desk) -> None:
    page = desk.get("memories", q="x", status=400, **{"from": "July"})

    assert "must be a date" in page.text
    assert 'value="July"' in page.text


def test_a_long_list_goes_on(desk: Desk) -> None:
    desk.own.mind.memory.nodes.add(desk.being, [a_node(number) for number in range(1, 41)])
    first = desk.get("memories")
    [place] = re.findall(r'href="([^"]+)" rel="next"', first.text)

    second = desk.browser.get(unescape(place))

    assert (len(links(first)), len(links(second))) == (30, 10)
    assert not set(links(first)) & set(links(second))


def test_a_memory_says_where_it_comes_from_and_how_it_fades(desk: Desk) -> None:
    [node, other, _] = patrolled(desk, *CATS)
    desk.own.table.update(keys.meta(desk.being), Change(set={"clock": 10}))

    page = desk.get("memories", node.node_id)

    assert node.action in page.text
    assert page.text.count('<path class="past"') == 1
    assert "stability is 16.0 active days" in page.text
    assert f'href="{desk.at("scenes", node.evidence[0])}"' in page.text
    assert other.action in page.text  # as a similar one
    assert now(desk, node).reactivation_count == 0


def test_a_memory_that_was_told_often_says_how_often(desk: Desk) -> None:
    node = a_node(1, evidence=tuple(f"TOLD{number}" for number in range(600)))
    desk.own.mind.memory.nodes.add(desk.being, [node])

    page = desk.get("memories", node.node_id)

    assert "TOLD0" in page.text
    assert "580 more" in page.text
    assert "600 noted scenes" in desk.get("memories", node.node_id, "forget").text


def test_a_memory_is_changed_and_found_by_its_new_words(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    form = desk.get("memories", node.node_id, "edit")

    page = desk.submit(
        form, "memories", node.node_id, "edit",
        action="Miso broke\r\nthe teapot", actors="Miso\r\nAnn\r\n", themes="", importance="90",
        when="2026-07-02, 2026-07-01", setting="", feeling="sorry",
    )  # fmt: skip

    assert "Saved." in page.text
    changed = now(desk, node)
    assert (changed.action, changed.actors, changed.when, changed.importance) == (
        "Miso broke\nthe teapot", ("Miso", "Ann"), ("2026-07-01", "2026-07-02"), 0.9,
    )  # fmt: skip
    assert links(desk.get("memories", q="teapot")) == ["Miso broke\nthe teapot"]


def test_an_unchanged_form_changes_nothing(desk: Desk) -> None:
    node = a_node(1, themes=("a b", "c"), actors=("Ann", "Bo"), importance=0.333, feeling="glad")
    desk.own.mind.memory.nodes.add(desk.being, [node])
    form = desk.get("memories", node.node_id, "edit")

    desk.submit(form, "memories", node.node_id, "edit")

    assert now(desk, node) == node


def test_what_is_wrong_in_a_form_is_said_and_the_words_are_kept(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    form = desk.get("memories", node.node_id, "edit")

    page = desk.submit(
        form, "memories", node.node_id, "edit", action="My words", when="soon", importance="7"
    )

    assert page.status == 400
    assert "must be a date of the calendar" in unescape(page.text)
    assert "My words" in page.text
    assert now(desk, node) == node


def test_two_forms_of_one_memory_do_not_overwrite_each_other(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    form = desk.get("memories", node.node_id, "edit")
    desk.submit(form, "memories", node.node_id, "edit", action="first")

    late = desk.submit(form, "memories", node.node_id, "edit", action="second")

    assert (late.status, "changed meanwhile" in late.text) == (409, True)
    assert now(desk, node).action == "first"


def test_a_memory_is_pinned_and_let_go(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    pin = desk.at("memories", node.node_id, "pin")

    pinned = desk.submit(desk.get("memories", node.node_id), "memories", node.node_id, "pin")
    assert now(desk, node).pinned
    assert "never forgotten" in pinned.text
    assert desk.browser.submit(pinned, pin).status == 303
    assert not now(desk, node).pinned


def test_a_memory_is_hidden_listed_and_shown_again(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    page = desk.submit(desk.get("memories", node.node_id), "memories", node.node_id, "hide")

    assert now(desk, node).hidden_by == "owner"
    assert "No search finds it" in page.text
    assert links(desk.get("memories", q="Miso vase")) == []
    assert links(desk.get("memories")) == []
    assert links(desk.get("memories", state="hidden")) == [node.action]
    assert links(desk.get("memories", state="hidden", q="Miso")) == [node.action]
    shown = desk.submit(page, "memories", node.node_id, "take-back")
    assert "Shown again" in shown.text
    assert now(desk, node).status == "active"
    again = desk.submit(page, "memories", node.node_id, "take-back")
    assert "nothing to take back" in again.text


def test_earlier_wordings_are_shown_and_brought_back(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    corrections = desk.own.mind.memory.corrections
    corrections.correct(desk.being, node.node_id, "Bo knocked over the vase", by="agent")
    page = desk.get("memories", node.node_id)

    assert "Earlier wordings" in page.text
    assert "Miso knocked over the vase" in page.text
    assert "corrected by an agent" in page.text
    back = desk.submit(page, "memories", node.node_id, "take-back")
    assert "The earlier wording is back" in back.text
    assert now(desk, node).action == "Miso knocked over the vase"


def test_a_message_is_removed_where_a_memory_shows_it(desk: Desk) -> None:
    memory, being = desk.own.mind.memory, desk.being
    conversed(desk, "Miso sleeps on the stove")
    [message] = memory.history.search(being, limit=1).messages
    [node] = patrolled(desk, "Miso likes warmth", source="extract", evidence=(message.message_id,))
    page = desk.get("memories", node.node_id)
    assert "Miso sleeps on the stove" in page.text

    gone = desk.submit(page, "history", "remove")

    assert "Erased permanently" in gone.text
    assert memory.history.get(being, message.message_id) is None
    assert "Miso sleeps" not in desk.get("history").text


def test_memories_are_merged_and_taken_apart(desk: Desk) -> None:
    one, two, _ = patrolled(desk, *CATS)
    form = desk.get("memories", "merge", **{f"pick-{one.node_id}": "1", f"pick-{two.node_id}": "1"})

    page = desk.submit(form, "memories", "merge", summary="Miso is trouble", feeling="")

    assert "Miso is trouble" in page.text
    merged = now(desk, one).merged_into
    assert merged is not None
    apart = desk.submit(page, "memories", merged, "part")
    assert "taken back" in apart.text
    assert [now(desk, each).status for each in (one, two)] == ["active", "active"]


def test_one_memory_alone_cannot_be_merged(desk: Desk) -> None:
    [one] = patrolled(desk, CATS[0])
    form = desk.get("memories", "merge", **{f"pick-{one.node_id}": "1"})

    page = desk.submit(form, "memories", "merge", summary="alone")

    assert (page.status, "at least two" in page.text, "alone" in page.text) == (400, True, True)
    assert desk.get("memories", "merge", status=404).status == 404


def test_a_forgotten_memory_is_brought_back_by_the_next_patrol(desk: Desk) -> None:
    desk.own.mind.memory.nodes.add(desk.being, [a_node(1, status="dead", due=None)])
    node = a_node(1)

    page = desk.submit(desk.get("memories", node.node_id), "memories", node.node_id, "recall")
    patrolled(desk, "Something happened")

    assert "brings it back" in page.text
    assert now(desk, node).status == "active"


def test_a_memory_is_erased_with_its_scenes(desk: Desk) -> None:
    one, two, _ = patrolled(desk, *CATS)
    asked = desk.get("memories", one.node_id, "forget")
    assert "You cannot undo this" in asked.text

    page = desk.submit(asked, "memories", one.node_id, "forget")

    memory = desk.own.mind.memory
    assert "Erased permanently." in page.text
    assert memory.nodes.get(desk.being, one.node_id) is None
    assert memory.scenes.get_many(desk.being, one.evidence) == {}
    assert one.action not in desk.get("memories", q=one.action).text.replace(
        f'value="{one.action}"', ""
    )
    assert memory.nodes.get(desk.being, two.node_id) is not None
    assert desk.get("memories", one.node_id, status=404).status == 404


def test_a_scene_is_read_and_erased(desk: Desk) -> None:
    [scene] = desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Eva called")]).scenes
    assert "Eva called" in desk.get("scenes", scene.scene_id).text

    page = desk.submit(desk.get("scenes", scene.scene_id, "forget"), "scenes", scene.scene_id,
                       "forget")  # fmt: skip

    assert "Erased permanently." in page.text
    assert desk.get("scenes", scene.scene_id, status=404).status == 404


def test_while_a_patrol_runs_nothing_is_erased(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eraser, "_WAIT_SECONDS", 0.0)
    [scene] = desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Eva called")]).scenes
    form = desk.get("scenes", scene.scene_id, "forget")
    leases = Leases(desk.own.table, now=desk.place.time)
    lease = leases.take(Key(keys.home(desk.being), "LOCK#PATROL"))

    busy = desk.submit(form, "scenes", scene.scene_id, "forget")
    leases.give_back(lease)

    assert (busy.status, "working on this Being" in busy.text) == (409, True)
    assert "Eva called" in desk.get("scenes", scene.scene_id).text
    assert "Erased" in desk.submit(form, "scenes", scene.scene_id, "forget").text


def test_what_is_not_there_is_a_page_that_says_so(desk: Desk) -> None:
    for parts in (("memories", "x"), ("memories", "x", "edit"), ("scenes", "x"), ("profile", "x"),
                  ("memories", "x", "forget"), ("profile", "notes", "entry")):  # fmt: skip
        assert "There is no such" in desk.get(*parts, status=404).text


def test_no_page_reaches_into_another_being(desk: Desk) -> None:
    [node] = patrolled(desk, "Miso knocked over the vase")
    bob = desk.place.authority.beings.create("Bob", owner="me").being_id

    page = desk.browser.get(f"/beings/{bob}/memories/{node.node_id}")

    assert page.status == 404
    assert "vase" not in page.text


def test_the_map_leads_to_a_group_and_a_memory(desk: Desk) -> None:
    nodes = patrolled(desk, *CATS)
    page = desk.get("map")

    for node in nodes:
        assert f'href="{desk.at("memories", node.node_id)}"' in page.text
    group = now(desk, nodes[0]).cluster_id
    assert group is not None
    assert nodes[0].action in desk.get("map", group=group).text
    assert desk.get("map", group="nothing", status=404).status == 404


def test_the_overview_counts_and_shows_the_latest(desk: Desk) -> None:
    first = desk.get("overview").text
    assert "Nothing is remembered yet" in first
    assert f'<a class="button" href="{desk.at("connect")}">' in first
    patrolled(desk, *CATS)
    desk.own.mind.memory.scenes.record(desk.being, [scene_draft("Eva called")])

    page = desk.get("overview")

    assert re.findall(r"<dt>Memories</dt><dd>(\d+)", page.text) == ["3"]
    assert re.findall(r"<dt>Waiting scenes</dt><dd>(\d+)", page.text) == ["1"]
    assert set(links(page)) == {*CATS, "Eva called"}


@pytest.mark.parametrize("count", [1, 2])
def test_what_waits_for_a_patrol_is_shown_with_a_button_that_runs_one(
    desk: Desk, count: int
) -> None:
    actions = [f"Eva called {number}" for number in range(count)]
    desk.own.mind.memory.scenes.record(desk.being, [scene_draft(each) for each in actions])

    for name in ("overview", "memories"):
        page = desk.get(name)
        assert set(links(page)) == set(actions), name
        assert "No memories here yet" not in page.text
        assert f'action="{desk.at("patrols", "run")}"' in page.text
    drawing = desk.get("map").text
    counted = "1 noted scene waits" if count == 1 else "2 noted scenes wait"
    assert f"{counted} for the next patrol" in drawing
    assert f'action="{desk.at("patrols", "run")}"' in drawing
    assert desk.submit(desk.get("memories"), "patrols", "run").status == 200
    assert "No memories here yet" in desk.get("memories", state="dead").text


def test_one_thing_is_counted_in_the_singular(desk: Desk) -> None:
    patrolled(desk, CATS[0])

    assert "1 memory in 1 cluster." in desk.get("map").text


REPORTED = a_node(1, trust="external", origins=("agent", "external:web"))


def test_a_reported_memory_shows_by_whom_and_the_owner_vouches_for_it(desk: Desk) -> None:
    desk.own.mind.memory.nodes.add(desk.being, [REPORTED, a_node(2)])
    assert desk.get("memories").text.count("reported by web") == 1

    page = desk.get("memories", REPORTED.node_id)
    assert "agent, external:web · reported by web" in page.text
    assert "an outside source" in page.text
    assert "Vouch for it" not in desk.get("memories", a_node(2).node_id).text

    vouched = desk.submit(page, "memories", REPORTED.node_id, "vouch")
    assert is_vouched(now(desk, REPORTED))
    assert "You vouch for this text" in vouched.text
    assert "you vouch for it" in vouched.text
    assert "also reported by web" in vouched.text

    desk.submit(vouched, "memories", REPORTED.node_id, "vouch")
    assert not is_vouched(now(desk, REPORTED))


def test_nobody_vouches_for_a_text_that_changed_meanwhile(desk: Desk) -> None:
    desk.own.mind.memory.nodes.add(desk.being, [REPORTED])
    page = desk.get("memories", REPORTED.node_id)
    desk.own.mind.memory.corrections.correct(desk.being, REPORTED.node_id, "x", by="agent")

    late = desk.submit(page, "memories", REPORTED.node_id, "vouch")

    assert "look at it again before you vouch for it" in late.text
    assert not is_vouched(now(desk, REPORTED))


def test_a_scene_of_a_mirror_or_of_a_server_says_so(desk: Desk) -> None:
    drafts = [
        scene_draft("Eva called", source="mirror"),
        scene_draft("Eva wrote", origins=("agent", "external:mail")),
    ]
    mirrored, reported = desk.own.mind.memory.scenes.record(desk.being, drafts).scenes

    assert "by an edited file" in desk.get("scenes", mirrored.scene_id).text
    assert "reported by mail" in desk.get("scenes", reported.scene_id).text
