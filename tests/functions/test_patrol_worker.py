"""The worker in Lambda's own runtime client, with jobs of a queue and a cloud behind it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from infra import services
from infra.local_cloud import REGION, local_cloud
from infra.tools import MissingPythonError
from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.being.memory.store.clusters import Clusters
from nacre.being.patrol.run.runs import Runs
from nacre.being.patrol.trigger import lease_key
from nacre.core.clock import system_clock
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from tests.being.memory.keeping import KeptIndex, Renewals, scene_draft
from tests.infra.declared import ROOT
from tests.scaffolding.lambda_functions import deployed

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Cloud:
    """A cloud with a Being, and the variables that lead the function there."""

    table: DynamoTable
    memory: Repositories
    variables: dict[str, str]
    sqs: Any

    def being(self, name: str) -> str:
        beings = Beings(self.table, clock=system_clock, rng=Random())
        return beings.create(name, owner="me").being_id

    def jobs(self) -> list[dict[str, Any]]:
        """Take the messages that wait in the queue."""
        found = self.sqs.receive_message(
            QueueUrl=self.variables["NACRE_QUEUE_URL"], MaxNumberOfMessages=10
        )
        return [json.loads(message["Body"]) for message in found.get("Messages", [])]


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    try:
        with local_cloud() as url:
            services.create(url)
            local = json.loads((ROOT / "infra" / "local.json").read_text())["Parameters"]
            sqs = services.client("sqs", url)
            queue = next(
                each for each in sqs.list_queues()["QueueUrls"] if each.endswith("-patrol.fifo")
            )
            table = DynamoTable(services.client("dynamodb", url), local["NACRE_DATA_TABLE"])

            class Unheard:
                """A queue that takes nothing: the tests hand events to the function."""

                def send(self, *_: Any, **__: Any) -> str:
                    return ""

            memory = open_repositories(
                table,
                Unheard(),  # type: ignore[arg-type]  # nothing else of it is used
                KeptIndex(),
                Renewals(),
                clock=system_clock,
                rng=Random(),
            )
            variables = {
                **local,
                "AWS_ENDPOINT_URL": url,
                "AWS_REGION": REGION,
                "NACRE_QUEUE_URL": queue,
            }
            yield Cloud(table, memory, variables, sqs)
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")


def record(number: int, group: str, body: str) -> dict[str, Any]:
    name = ROOT / "infra" / "events" / "sqs_fifo_patrol.json"
    [example] = json.loads(name.read_text())["Records"]
    attributes = {**example["attributes"], "MessageGroupId": group}
    return {**example, "messageId": f"m{number}", "body": body, "attributes": attributes}


def failed(answer: dict[str, Any]) -> list[str]:
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def test_the_handler_runs_a_patrol_and_leaves_the_rest_of_a_failed_group(cloud: Cloud) -> None:
    ann, bob = cloud.being("Ann"), cloud.being("Bob")
    for being_id in (ann, bob):
        cloud.memory.scenes.record(
            being_id,
            [scene_draft("Ann planted a walnut tree"), scene_draft("Ann sold the old piano")],
        )
    patrols = {each: encode_job(Job("patrol", each, {"trigger": "auto"})) for each in (ann, bob)}
    event = {
        "Records": [
            record(1, ann, patrols[ann]),
            record(2, bob, '{"kind": "of another version"}'),
            record(3, bob, patrols[bob]),
            record(4, ann, patrols[ann]),
        ]
    }
    with deployed("PatrolWorkerFunction", variables=cloud.variables) as function:
        answer = function.invoke(event)
    logs = [json.loads(line) for line in function.logs.splitlines()]

    assert failed(answer) == ["m2", "m3"]
    assert [(line["event"], line["message"]) for line in logs if line["event"] != "patrol"] == [
        ("job_done", "m1"), ("job_failed", "m2"), ("job_done", "m4"),
    ]  # fmt: skip
    assert "walnut" not in str(logs)
    run = Runs(cloud.table).latest(ann)
    assert run is not None
    assert (run.seq, run.state, run.counts["nodes_created"]) == (1, "done", 2)
    assert Clusters(cloud.table).active(ann)
    assert Runs(cloud.table).latest(bob) is None


def test_the_handler_gives_back_what_another_worker_is_at(cloud: Cloud) -> None:
    being_id = cloud.being("Carl")
    cloud.memory.scenes.record(being_id, [scene_draft()])
    lease = Leases(cloud.table, now=system_clock).take(lease_key(being_id))
    event = {"Records": [record(1, being_id, encode_job(Job("patrol", being_id)))]}
    with deployed("PatrolWorkerFunction", variables=cloud.variables) as function:
        busy = function.invoke(event)
        Leases(cloud.table, now=system_clock).give_back(lease)
        done = function.invoke(event)

    assert (failed(busy), failed(done)) == (["m1"], [])
    run = Runs(cloud.table).latest(being_id)
    assert run is not None
    assert run.state == "done"


def test_the_schedules_message_sends_a_job_for_each_being_that_has_work(cloud: Cloud) -> None:
    busy, idle = cloud.being("Dora"), cloud.being("Emil")
    cloud.memory.scenes.record(busy, [scene_draft()])
    with deployed("PatrolWorkerFunction", variables=cloud.variables) as function:
        answer = function.invoke({"Records": [record(1, "sweep", '{"kind": "sweep"}')]})
    sent = {(job["kind"], job["being_id"], job["refs"]["trigger"]) for job in cloud.jobs()}

    assert failed(answer) == []
    assert ("patrol", busy, "sweep") in sent
    assert idle not in {being_id for _, being_id, _ in sent}
