"""Patrols on a page: what they did, one now, what one would do, and taking one back."""

from nacre.being.patrol.jobs import TASK, tasks_partition
from nacre.being.patrol.planning.plans import MergePlan
from nacre.being.patrol.run.ledger import chunks
from nacre.being.patrol.run.runs import COUNT, Runs, run_key
from nacre.being.patrol.steps.merge_memories import PLAN
from nacre.ports.items.table import Change, Item, Value
from tests.console.conftest import Desk
from tests.scaffolding.web_site import form_of

SCENES = [
    {"actors": ["Ann"], "action": f"Ann fed the {what}", "when": ["2026-11-17"]}
    for what in ("cat", "hens", "fish")
]


def note(desk: Desk) -> None:
    desk.own.call("update_notes", scenes=SCENES)


def merged_by_first_run(desk: Desk) -> str:
    """Merge two memories as the first run would have with a model; return the new one's id."""
    table, memory = desk.controls.table, desk.own.mind.memory
    ids = tuple(each.node_id for each in memory.nodes.page(desk.being).nodes[:2])
    action = "Ann fed the animals"
    merged = memory.edits.merge(desk.being, ids, action=action).node.node_id
    plan: Value = {"plan": MergePlan(merge=ids, action=action).to_plain()}
    run = Runs(table).at(desk.being, 1)
    assert run is not None
    for write in chunks(run_key(desk.being, 1).pk, run, PLAN, [plan]):
        table.transact([write])
    table.update(run_key(desk.being, 1), Change(set={f"{COUNT}merged": 2}))
    return merged


def test_a_patrol_is_asked_for_and_its_receipt_shown(desk: Desk) -> None:
    note(desk)
    page = desk.get("patrols")
    assert "3 scenes, 0 messages" in page.text
    assert "No patrols yet." in page.text

    asked = desk.submit(page, "patrols", "run")
    assert "A patrol was requested." in asked.text
    assert desk.own.work() == ["done"]

    assert "3 new memories" in desk.get("patrols", "1").text
    assert f'href="{desk.at("patrols", "1")}"' in desk.get("patrols").text


def test_what_a_patrol_would_do_is_shown_and_not_done(desk: Desk) -> None:
    note(desk)
    answer = desk.browser.submit(desk.get("patrols"), desk.at("patrols", "dry-run"))
    assert answer.status == 303

    waiting = desk.browser.get(answer["location"])
    assert "is not finished yet" in waiting.text
    assert f'href="{answer["location"]}"' in waiting.text
    assert desk.own.work() == ["done"]

    report = desk.browser.get(answer["location"])
    assert "3 new memories" in report.text
    assert "Nothing was written." in report.text
    assert desk.own.runs() == []


def test_a_run_that_merged_is_taken_back(desk: Desk) -> None:
    note(desk)
    desk.own.call("trigger_patrol", messages=[])
    assert "Undo the merges" not in desk.get("patrols", "1").text
    merged = merged_by_first_run(desk)

    task = desk.browser.submit(desk.get("patrols", "1"), desk.at("patrols", "1", "undo"))
    assert "Ann fed the animals" in desk.get("memories").text
    desk.own.work()

    assert "1 merge undone." in desk.browser.get(task["location"]).text
    memories = desk.get("memories").text
    assert "Ann fed the cat" in memories
    assert "Ann fed the animals" not in memories
    again = desk.browser.submit(desk.get("patrols", "1"), desk.at("patrols", "1", "undo"))
    desk.own.work()
    assert "0 merges undone." in desk.browser.get(again["location"]).text
    undone = desk.own.mind.memory.nodes.get(desk.being, merged)
    assert undone is not None
    assert undone.status == "dead"


def test_what_could_not_be_taken_back_is_told_with_its_reason(desk: Desk) -> None:
    not_undone: dict[str, Value] = {"b": "it was <b>merged</b> again"}
    report: dict[str, Value] = {"run_id": "r", "undone": ["a"], "not_undone": not_undone}
    item: Item = {"pk": tasks_partition(desk.being), "sk": "TASK#t", "report": report}
    desk.controls.table.put(TASK.stamp(item))

    page = desk.get("patrols", "tasks", "t")

    assert "1 merge undone." in page.text
    assert "it was &lt;b&gt;merged&lt;/b&gt; again" in page.text


def test_runs_that_are_not_there_are_not_found(desk: Desk) -> None:
    for seq in ("0", "7", "-1", "x", "9" * 30, "1%00"):
        assert desk.browser.get(desk.at("patrols", seq)).status == 404, seq
    assert desk.browser.get(f"{desk.at('patrols')}?from=x").status == 400
    undo = desk.browser.post(desk.at("patrols", "7", "undo"), {"csrf": csrf(desk)})
    assert undo.status == 404
    assert "has forgotten" in desk.get("patrols", "tasks", "nothing").text
    assert Runs(desk.controls.table).latest(desk.being) is None


def csrf(desk: Desk) -> str:
    return form_of(desk.get("patrols"), desk.at("patrols", "run"))["csrf"]
