"""Tasks of callers in profiles: in the worker, and for the same token in another profile."""

from dataclasses import replace
from typing import Any

import pytest

from nacre import Context, tool
from nacre.firewall.policies.live_policy import FixedPolicy
from tests.being.tasks.test_policy import Gate
from tests.being.tasks.worlds import CALLER, World, text_of
from tests.firewall.deciding import policy

POLICY = """
[profile.home]
servers = ["nacre"]
[profile.work]
servers = ["nacre"]
[[rule]]
action = "allow"
tool = "**"
"""
NARROW = POLICY.replace('servers = ["nacre"]', 'servers = ["other"]', 1)
INVALID_PARAMS = -32602


def caller_in(world: World, profile: str) -> Any:
    return world.by(replace(CALLER, profile=profile))


def begun_at_home(world: World) -> str:
    """Begin a task as a caller in a profile, and return its id."""

    @tool(task="required", blocking=True)
    async def where(context: Context) -> str:
        """Say in which profile it runs."""
        assert context.principal is not None
        return context.principal.profile

    world.add(where)
    return str(world.call("where", caller=caller_in(world, "home"))["taskId"])


@pytest.mark.security
def test_a_task_runs_in_its_profile_and_is_unknown_in_any_other(world: World) -> None:
    Gate(world, POLICY)
    task_id = begun_at_home(world)

    assert world.work()
    state = world.ask("tasks/get", {"taskId": task_id}, caller=caller_in(world, "home"))

    assert text_of(state["result"]["result"]) == "home"
    for method in ("tasks/get", "tasks/cancel"):
        assert world.code(method, task_id, caller=caller_in(world, "work")) == INVALID_PARAMS
        assert world.code(method, task_id) == INVALID_PARAMS  # without a profile


@pytest.mark.security
def test_a_task_whose_tool_has_left_the_profile_is_not_run(world: World) -> None:
    gate = Gate(world, POLICY)
    task_id = begun_at_home(world)
    gate.source = FixedPolicy(policy(NARROW))
    assert world.work()
    state = world.ask("tasks/get", {"taskId": task_id}, caller=caller_in(world, "home"))

    assert state["result"]["error"]["message"] == "Unknown tool: where"


@pytest.mark.security
def test_a_worker_that_is_older_than_profiles_refuses_the_task(world: World) -> None:
    """It would run the call outside of the profile, as an order with every tool."""
    Gate(world, POLICY)
    begun_at_home(world)

    @tool(task="required", blocking=True)
    async def anywhere() -> str:
        """Run in no profile."""
        return "done"

    world.add(anywhere)
    world.call("anywhere")
    heads = [item for item in world.items() if "tool" in item]

    assert {item["tool"]: item["schema"] for item in heads} == {"where": 2, "anywhere": 1}
