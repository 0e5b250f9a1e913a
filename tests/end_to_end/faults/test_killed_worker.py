"""The worker of a stack killed in the middle of patrols, and its services gone and back.

Lambda's own runtime client runs the function as it is deployed; its queue and tables are those of
a cloud on loopback, behind a front that sees each write.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from nacre.being.memory.repositories import Repositories
from nacre.being.patrol.run.runs import Runs
from nacre.being.patrol.trigger import lease_key
from nacre.ports.items.table import Change
from tests.being.memory.keeping import scene_draft
from tests.functions.runtime_api import Function, FunctionError
from tests.functions.test_patrol_worker import Cloud, cloud, failed, record
from tests.scaffolding.http_front import Answered, Asked, front, passed_on
from tests.scaffolding.lambda_functions import deployed

__all__ = ["cloud"]  # a fixture
pytestmark = pytest.mark.slow

_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
_KILLS = 3


@dataclass
class Services:
    """What stands in front of the cloud: it counts writes, and can end what sends them."""

    behind: str
    kill_at: int = -1
    function: Function | None = None
    is_away: bool = False
    writes: int = 0

    def answer(self, asked: Asked) -> Answered | None:
        if self.is_away:
            return None
        operation = asked.header("x-amz-target").rpartition(".")[2]
        if operation in _WRITES:
            self.writes += 1
            if self.writes == self.kill_at:
                if self.function is None:
                    self.is_away = True
                    return None
                answered = passed_on(asked, self.behind)  # done, and nobody hears of it
                self.function.kill()
                return answered
        return passed_on(asked, self.behind)


@pytest.fixture
def services(cloud: Cloud) -> Iterator[tuple[Services, dict[str, str]]]:
    services = Services(cloud.variables["AWS_ENDPOINT_URL"].removeprefix("http://"))
    with front(services.answer) as address:
        yield services, {**cloud.variables, "AWS_ENDPOINT_URL": f"http://{address}"}


def noted(cloud: Cloud, names: tuple[str, ...]) -> dict[str, str]:
    """Give each Being scenes of its own, and return the Beings by name."""
    beings = {name: cloud.being(name) for name in names}
    for name, being_id in beings.items():
        drafts = [scene_draft(f"{name} saw heron number {number}") for number in range(8)]
        cloud.memory.scenes.record(being_id, drafts)
    return beings


def events(beings: dict[str, str]) -> list[dict[str, Any]]:
    job = '{{"version": 1, "kind": "patrol", "being_id": "{0}", "refs": {{"trigger": "auto"}}}}'
    return [
        {"Records": [record(number, being_id, job.format(being_id))]}
        for number, being_id in enumerate(beings.values())
    ]


def let_leases_run_out(cloud: Cloud, beings: dict[str, str]) -> None:
    """Do what time does: SQS delivers again when the lease of the one that died is over."""
    for being_id in beings.values():
        cloud.table.update(lease_key(being_id), Change(set={"schema": 1, "until": 0}))


def sound(cloud: Cloud, name: str, being_id: str) -> None:
    """Find each scene in one memory of its own Being, and one run that is done."""
    memory: Repositories = cloud.memory
    scenes = memory.scenes.page(being_id).scenes
    nodes = memory.nodes.page(being_id).nodes
    evidence = Counter(each for node in nodes for each in node.evidence)
    done = [run for run in Runs(cloud.table).page(being_id).runs if run.counts.get("scenes_taken")]
    assert len(scenes) == 8
    assert evidence == Counter(scene.scene_id for scene in scenes)
    assert {scene.status for scene in scenes} == {"consumed"}
    assert all(node.action.startswith(f"{name} saw") for node in nodes)
    assert [(run.state, run.counts["scenes_taken"]) for run in done] == [("done", 8)]


def test_a_worker_that_is_killed_again_and_again_does_each_patrol_once(
    cloud: Cloud, services: tuple[Services, dict[str, str]]
) -> None:
    stand, variables = services
    beings = noted(cloud, ("Gus", "Hana"))
    rng, kills = Random(9), 0
    for event in events(beings):
        done = False
        while not done:
            with deployed("PatrolWorkerFunction", variables=variables) as function:
                stand.function, stand.writes = function, 0
                stand.kill_at = rng.randint(2, 12) if kills < _KILLS else -1
                try:
                    done = failed(function.invoke(event)) == []
                except FunctionError:
                    kills += 1
            let_leases_run_out(cloud, beings)

    assert kills == _KILLS
    for name, being_id in beings.items():
        sound(cloud, name, being_id)


def test_a_patrol_whose_tables_go_away_is_given_back_and_done_once_they_are_back(
    cloud: Cloud, services: tuple[Services, dict[str, str]]
) -> None:
    stand, variables = services
    beings = noted(cloud, ("Ivo",))
    [event] = events(beings)
    with deployed("PatrolWorkerFunction", variables=variables) as function:
        stand.kill_at = 7
        with suppress(FunctionError):
            assert failed(function.invoke(event)) == ["m0"]
        stand.is_away = False
        assert stand.writes >= stand.kill_at
        let_leases_run_out(cloud, beings)
        assert failed(function.invoke(event)) == []
    logs = [json.loads(line) for line in function.logs.splitlines()]

    sound(cloud, "Ivo", beings["Ivo"])
    assert [line["event"] for line in logs if line["event"].startswith("job_")] == [
        "job_failed",
        "job_done",
    ]
    assert "heron" not in str(logs)
