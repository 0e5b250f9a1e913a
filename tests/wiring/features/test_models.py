"""Whose key a patrol uses, on both wirings, as the provider sees it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.language_model.api_keys import LlmKeys
from nacre.being.language_model.daily_budget import Reservation
from nacre.being.patrol.planning.model_choice import ModelAccess
from nacre.being.patrol.planning.plans import Digest, Planner
from nacre.core.errors import InvalidInputError
from nacre.jobs.job import Job
from nacre.ports.items.table import Table
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.features.models import (
    ANTHROPIC_MODEL,
    ANTHROPIC_URL,
    OPENAI_MODEL,
    OPENAI_URL,
    provider,
)
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Secret, Settings
from tests.adapters.conftest import StillClock
from tests.being.patrol.planner_world import being_in, nodes
from tests.scaffolding.aws_stack import aws_stack
from tests.scaffolding.model_server import ModelServer, model_server, saying

DIGEST = {"label": "plants", "digest": "Ferns grow."}
MANUAL, AUTO = {"trigger": "manual"}, {"trigger": "auto"}


@dataclass(frozen=True)
class World:
    """A Being, its keys, and what its patrols think with."""

    being_id: str
    keys: LlmKeys
    table: Table
    model_access: ModelAccess
    server: ModelServer


Worlds = Callable[..., World]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        server.reply = saying(DIGEST)
        yield server


@pytest.fixture(params=["laptop", "stack"])
def world(request: pytest.FixtureRequest, server: ModelServer, tmp_path: Path) -> Iterator[Worlds]:
    """Return the function that makes a world with a key of the deployment, or without one."""
    clock = StillClock()
    if request.param == "laptop":
        ports = LaptopPorts(tmp_path, clock=clock)

        def laptop(deployment: str = "") -> World:
            settings = Settings(
                "", llm_base_url=server.url, llm_api_key=Secret(deployment), llm_model="some-model"
            )
            model_access = compose(ports, settings).model_access
            being_id = being_in(ports.data, clock)
            return World(being_id, model_access.keys, ports.data, model_access, server)

        yield laptop
        ports.close()
        return
    with aws_stack() as stack:
        services: dict[str, Any] = {"dynamodb": stack.dynamodb, "kms": stack.kms}

        def deployed(deployment: str = "") -> World:
            import boto3

            from nacre.adapters.aws.dynamodb.table import DynamoTable
            from nacre.adapters.aws.ssm_secrets import SsmSecrets

            ssm = boto3.client("ssm", region_name="eu-central-1")
            place = "/nacre/test/LLM" if deployment else ""
            if deployment:
                SsmSecrets(ssm, prefix="/nacre/test", key_arn=stack.ids["NacreKey"]).set(
                    "LLM", deployment
                )
            settings = Settings(
                "",
                llm_base_url=server.url,
                llm_model="some-model",
                llm_secret=place,
                data_table=stack.ids["DataTable"],
                key_arn=stack.ids["NacreKey"],
            )
            clients = services | {"ssm": ssm}
            ports = StackPorts(settings, clients=clients.__getitem__, clock=clock)
            model_access = compose(ports, settings).model_access
            table = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
            return World(being_in(table, clock), model_access.keys, table, model_access, server)

        yield deployed


def key_used(world: World, thinking: Planner | None) -> str:
    """Return the key that the provider is shown when this thinks."""
    assert thinking is not None
    from nacre.being.memory.model.types import Cluster

    cluster = Cluster(cluster_id="c", created_at="2026-03-02T10:00:00.000Z")
    thought = thinking.digest(world.being_id, cluster, nodes(["fed the fern"]))
    assert thought.value == Digest("plants", "Ferns grow."), thought.reason
    return world.server.questions[-1].key.removeprefix("Bearer ")


@pytest.mark.requirement("003.llm-key.header")
def test_a_key_sent_with_the_call_counts_first(world: Worlds) -> None:
    ann = world(deployment="sk-deployment")
    ann.keys.set(ann.being_id, "sk-stored")

    thinking = ann.model_access.for_call(ann.being_id, " sk-header ")

    assert key_used(ann, thinking) == "sk-header"
    assert ann.keys.stored(ann.being_id) == "sk-stored"


@pytest.mark.requirement("003.llm-key.stored")
def test_without_one_the_stored_key_is_used(world: Worlds) -> None:
    ann = world(deployment="sk-deployment")
    ann.keys.set(ann.being_id, "sk-stored")

    for sent in (None, "", "  "):
        assert key_used(ann, ann.model_access.for_call(ann.being_id, sent)) == "sk-stored"
    for refs in ({}, AUTO, MANUAL, {"trigger": "sweep"}, {"trigger": "backlog"}):
        thinking = ann.model_access.for_job(ann.being_id, Job("patrol", ann.being_id, refs))
        assert key_used(ann, thinking) == "sk-stored"


def test_then_the_deployments(world: Worlds) -> None:
    ann = world(deployment="sk-deployment")

    assert key_used(ann, ann.model_access.for_call(ann.being_id, None)) == "sk-deployment"
    asked = ann.model_access.for_job(ann.being_id, Job("patrol", ann.being_id, MANUAL))
    assert key_used(ann, asked) == "sk-deployment"


@pytest.mark.parametrize("refs", [{}, AUTO, {"trigger": "sweep"}, {"trigger": "backlog"}])
def test_a_patrol_that_nobody_asked_for_leaves_the_deployments_key_alone(
    world: Worlds, refs: dict[str, str]
) -> None:
    ann = world(deployment="sk-deployment")

    assert ann.model_access.for_job(ann.being_id, Job("patrol", ann.being_id, refs)) is None


@pytest.mark.requirement("003.llm-key.none")
def test_without_any_key_nothing_thinks(world: Worlds) -> None:
    ann = world()

    assert ann.model_access.for_call(ann.being_id, None) is None
    for refs in (AUTO, MANUAL):
        assert ann.model_access.for_job(ann.being_id, Job("patrol", ann.being_id, refs)) is None
    assert ann.server.questions == []


def test_a_key_sent_with_a_call_goes_with_its_job_and_ends_with_it(world: Worlds) -> None:
    ann = world(deployment="sk-deployment")
    refs = ann.model_access.hand_over(ann.being_id, "sk-header")
    job = Job("patrol", ann.being_id, {**MANUAL, **refs})

    assert "sk-header" not in repr(job)
    for _ in range(2):  # a job comes again when its worker dies
        assert key_used(ann, ann.model_access.for_job(ann.being_id, job)) == "sk-header"
    ann.model_access.job_ended(ann.being_id, job)
    ann.model_access.job_ended(ann.being_id, job)

    assert key_used(ann, ann.model_access.for_job(ann.being_id, job)) == "sk-deployment"
    assert ann.keys.stored(ann.being_id) is None
    other = Job("patrol", ann.being_id, AUTO)
    ann.model_access.job_ended(ann.being_id, other)
    assert ann.model_access.hand_over(ann.being_id, None) == {}


def test_a_header_that_is_no_key_is_refused(world: Worlds) -> None:
    ann = world()

    for take in (ann.model_access.for_call, ann.model_access.hand_over):
        with pytest.raises(InvalidInputError, match="not the key"):
            take(ann.being_id, "sk- 1")


def test_a_key_that_does_not_open_is_a_reason_and_no_failure(world: Worlds) -> None:
    ann = world(deployment="sk-deployment")
    refs = ann.model_access.hand_over(ann.being_id, "sk-header")
    for name in ("SECRET#LLM", f"SECRET#RUN#{refs['key']}"):
        ann.table.put(
            {
                "pk": f"B#{ann.being_id}",
                "sk": name,
                "sealed": b"of another vault",
                "set_at": "2026-03-02T10:00:00.000Z",
                "schema": 1,
            }
        )

    for found in (
        ann.model_access.for_call(ann.being_id, None),
        ann.model_access.for_job(ann.being_id, Job("patrol", ann.being_id, AUTO)),
        ann.model_access.for_job(ann.being_id, Job("patrol", ann.being_id, refs)),
    ):
        assert found is not None
        thought = found.diary(ann.being_id, [])
        assert thought.reason is not None
        assert "does not open" in thought.reason
    assert ann.server.questions == []


@pytest.mark.parametrize(
    ("key", "settings", "expected"),
    [
        ("sk-1", {}, (OPENAI_URL, OPENAI_MODEL)),
        ("sk-1", {"llm_model": "m"}, (OPENAI_URL, "m")),
        ("x", {"llm_base_url": "http://h/v1", "llm_model": "m"}, ("http://h/v1", "m")),
        ("sk-ant-1", {}, (ANTHROPIC_URL, ANTHROPIC_MODEL)),
        (
            "sk-ant-1",
            {"llm_base_url": "http://h/v1", "llm_model": "m"},
            (ANTHROPIC_URL, ANTHROPIC_MODEL),
        ),
        ("sk-ant-1", {"llm_model": "claude-x"}, (ANTHROPIC_URL, "claude-x")),
    ],
)
def test_a_key_says_where_it_belongs(
    key: str, settings: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert provider(key, Settings("", **settings)) == expected


def test_what_a_deployment_is_told_to_spend_is_the_bound(
    server: ModelServer, tmp_path: Path
) -> None:
    clock = StillClock()
    settings = Settings("", llm_base_url=server.url, llm_daily_tokens=100)
    laptop = compose(LaptopPorts(tmp_path, clock=clock), settings)
    model_access = laptop.model_access
    ann = being_in(laptop.data, clock)

    thinking = model_access.for_call(ann, "sk-header")

    assert thinking is not None
    assert "spend cap of the day reached (100 tokens)" in str(thinking.diary(ann, []).reason)
    assert server.questions == []
    laptop.close()


def test_choosing_loads_no_sdk() -> None:
    code = """
import sys, tempfile
from nacre.wiring.compose import compose
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings
laptop = compose(LaptopPorts(tempfile.mkdtemp()), Settings(""))
model_access = laptop.model_access
being = "00000000-0000-4000-8000-000000000000"
assert model_access.for_call(being, None) is None
assert model_access.for_call(being, "sk-1").model == "gpt-4.1-mini"
laptop.close()
print(*sorted({"openai", "httpx", "httpx2", "numpy", "boto3", "cryptography"} & set(sys.modules)))
"""
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert loaded == []


def test_a_stack_counts_what_its_questions_cost_and_what_there_was_no_room_for(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = StillClock()
    with aws_stack() as stack:
        services: dict[str, Any] = {"dynamodb": stack.dynamodb, "kms": stack.kms}
        settings = Settings(
            "",
            stack="nacre",
            data_table=stack.ids["DataTable"],
            key_arn=stack.ids["NacreKey"],
            llm_daily_tokens=1000,
            llm_prices=(0.5, 2.0),
        )
        ports = StackPorts(settings, clients=services.__getitem__, clock=clock)
        model_access = compose(ports, settings).model_access
        spending = model_access.spending
        ann = being_in(DynamoTable(stack.dynamodb, settings.data_table, now=clock), clock)
        held = spending.reserve(ann, input_tokens=300, output_tokens=600)
        spending.reserve(ann, input_tokens=300, output_tokens=600)
        assert isinstance(held, Reservation)
        spending.settle(held, input_tokens=200, output_tokens=100)

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["spend", "spend"]
    assert lines[0]["SpendCaps"] == 1
    assert (lines[1]["LlmTokens"], lines[1]["LlmDollars"]) == (300, 0.0003)
