"""The policy around a task: at the call, in the worker, and for what its handler calls."""

from dataclasses import replace
from typing import Any

import pytest

from nacre import Context, tool
from nacre.core.own_server_name import OWN
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.entry.entry_judge import EntryJudge
from nacre.firewall.entry.guarded_surface import GuardedSurface
from nacre.firewall.entry.visible_lists import VisibleLists
from nacre.firewall.policies.live_policy import FixedPolicy
from tests.being.tasks.worlds import World, text_of
from tests.firewall.deciding import policy
from tests.firewall.guarding import FORM, Notebook, Person

PROMPT = '[[rule]]\naction = "prompt"\ntool = "{}"\n[[rule]]\naction = "allow"\ntool = "**"\n'
YES: dict[str, Any] = {"action": "accept"}


class Gate:
    """A world's server behind a policy that can be changed."""

    def __init__(self, world: World, text: str) -> None:
        self.source = FixedPolicy(policy(text))
        self.trail, self.person = Notebook(), Person(by=FORM)
        judge = Judge(self, self.trail, lambda _: None, OWN, approver=self.person)
        guarded = GuardedSurface(
            world.server,
            lambda: EntryJudge(lambda _: judge),
            lambda: VisibleLists(lambda _: judge.policy()),
        )
        world.serve(guarded)

    def current(self) -> Any:
        return self.source.current()


@tool(task="required", blocking=True)
async def inner() -> str:
    """Is called by another tool too."""
    return "inner"


def outer(world: World) -> Any:
    @tool(name="outer", task="required", blocking=True)
    async def calls(context: Context) -> str:
        """Calls another tool, as itself and as somebody with nobody to ask."""
        called = world.surface.get_tool("inner")
        assert called is not None
        nobody = replace(context, capabilities={}, task=context.task)
        return text_of((await called.call({}, nobody)).to_dict())

    return calls


def approved(world: World, name: str) -> dict[str, Any]:
    """Call a tool that has to be approved, and approve it."""
    question = world.call(name)
    (key,) = question["inputRequests"]
    params = {
        "name": name,
        "arguments": {},
        "requestState": question["requestState"],
        "inputResponses": {key: YES},
    }
    return dict(world.ask("tools/call", params)["result"])


def test_what_was_approved_is_not_asked_again_in_the_worker(laptop: World) -> None:
    gate = Gate(laptop, PROMPT.format("inner"))
    laptop.add(inner)
    task = approved(laptop, "inner")
    questions = len(gate.person.asked)
    laptop.work()

    assert text_of(laptop.get(task["taskId"])["result"]) == "inner"
    assert len(gate.person.asked) == questions
    assert gate.trail.outcomes()[-1] == ("allow", "tools/call")


def test_an_approval_counts_although_the_policy_is_edited_meanwhile(laptop: World) -> None:
    gate = Gate(laptop, PROMPT.format("inner"))
    laptop.add(inner)
    task = approved(laptop, "inner")
    edited = '[[rule]]\naction = "deny"\ntool = "other"\n' + PROMPT.format("inner")
    gate.source = FixedPolicy(policy(edited))
    questions = len(gate.person.asked)
    laptop.work()

    assert text_of(laptop.get(task["taskId"])["result"]) == "inner"
    assert len(gate.person.asked) == questions


def test_what_a_task_calls_in_its_turn_is_another_call(laptop: World) -> None:
    gate = Gate(laptop, PROMPT.format("*er"))
    laptop.add(inner)
    laptop.add(outer(laptop))
    task = approved(laptop, "outer")
    laptop.work()
    result = laptop.get(task["taskId"])["result"]

    assert "no form can be shown" in text_of(result)
    assert {request.subject.name for request in gate.person.asked} == {"inner", "outer"}


@pytest.mark.parametrize("style", ["result", "error"])
def test_a_denial_that_came_meanwhile_ends_the_task(laptop: World, style: str) -> None:
    gate = Gate(laptop, '[[rule]]\naction = "allow"\ntool = "**"\n')
    laptop.add(inner)
    task_id = laptop.begin("inner")
    gate.source = FixedPolicy(policy(f'[settings]\ndeny_style = "{style}"\n'))
    laptop.work()
    ended = laptop.get(task_id)

    if style == "error":
        assert (ended["status"], ended["error"]["code"]) == ("failed", -31001)
    else:
        assert (ended["status"], ended["result"]["isError"]) == ("completed", True)
    assert gate.trail.outcomes()[-1] == ("deny", "tools/call")


def test_an_audit_that_cannot_be_written_makes_no_task(laptop: World) -> None:
    gate = Gate(laptop, '[[rule]]\naction = "allow"\ntool = "**"\n')
    laptop.add(inner)
    gate.trail.fails = True

    assert laptop.call("inner")["isError"] is True
    assert laptop.items() == []
