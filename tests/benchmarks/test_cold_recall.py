"""The first recall of a function that has just started, as somebody waits for it.

The real runtime client starts it from the built layers with the processor that Lambda gives
for the memory; its items lie in a cloud on loopback, its index in the items, a file or Qdrant.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import pytest

from infra import services
from infra.local_cloud import credentials, local_cloud
from infra.qdrant_server import NoQdrantError, QdrantServer
from infra.tools import MissingPythonError
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import SceneDraft
from nacre.ports.items.table import Change
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.settings import Settings
from tests.benchmarks.memory_load import question, sentence
from tests.benchmarks.quota import cpu_quota
from tests.benchmarks.table import show
from tests.functions.runtime_api import Function
from tests.infra.declared import ROOT
from tests.scaffolding.lambda_functions import deployed

pytestmark = pytest.mark.benchmark

MEMORIES = 1000
ROUNDS = 5
MEGABYTES = 1769  # one whole processor
COLD_RECALL_MS = 1200.0


@dataclass(frozen=True)
class Place:
    """Where the function's memory is, and a question to it."""

    variables: dict[str, str]
    event: dict[str, Any]


@pytest.fixture(scope="module")
def cloud() -> Iterator[str]:
    try:
        with local_cloud() as url:
            services.create(url)
            yield url
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")


@pytest.fixture(params=["items", "files", "qdrant"])
def place(
    request: pytest.FixtureRequest, cloud: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    server = None
    if request.param == "qdrant":
        try:
            server = QdrantServer(tmp_path_factory.mktemp("qdrant"))
            server.start()
        except NoQdrantError as error:
            pytest.skip(str(error))
    try:
        yield remembered(cloud, server.url if server else "", files=request.param == "files")
    finally:
        if server is not None:
            server.kill()


def remembered(cloud: str, qdrant_url: str, *, files: bool) -> Place:
    """Let a new Being remember, and return how its function is told where."""
    told: dict[str, str] = json.loads((ROOT / "infra/local.json").read_text())["Parameters"]
    told["AWS_ENDPOINT_URL"] = cloud
    told["NACRE_QUEUE_URL"] = cloud + told["NACRE_QUEUE_URL"].partition("4566")[2]
    settings = Settings(
        "",
        data_table=told["NACRE_DATA_TABLE"],
        queue_url=told["NACRE_QUEUE_URL"],
        qdrant_url=qdrant_url,
        search_files=files,
        bucket=told["NACRE_BLOBS_BUCKET"],
        key_arn=told["NACRE_KMS_KEY"],
    )
    rng = Random(len(qdrant_url) + files)  # the ids of two Beings differ
    ports = StackPorts(settings, clients=lambda service: services.client(service, cloud))
    home = compose(ports, settings)
    being_id = home.beings.create(f"Pearl {bool(qdrant_url)} {files}", owner="me").being_id
    for first in range(0, MEMORIES, 20):
        home.memory_services.memory.scenes.record(
            being_id,
            [
                SceneDraft(action=sentence(rng, number), actors=("Ann",), when=("2026-07-01",))
                for number in range(first, first + 20)
            ],
        )
    if files:
        long_ago = Change(set={"since": 1})  # since when changes have been noted
        home.ports.data.update(keys.index_file(being_id), long_ago)
    event: dict[str, Any] = json.loads((ROOT / "infra/events/http_api_mcp.json").read_text())
    event["requestContext"]["authorizer"]["lambda"]["being_id"] = being_id
    call = {"name": "recall", "arguments": {"user_message": question(rng)}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    path = f"/mcp/{being_id}"
    event["requestContext"]["http"]["path"] = path
    event |= {
        "rawPath": path,
        "pathParameters": {"beingId": being_id},
        "body": json.dumps(message),
    }
    searched = {"NACRE_QDRANT_URL": qdrant_url, "NACRE_SEARCH_FILES": "on" if files else "off"}
    return Place({**credentials(cloud), **told, **searched}, event)


def test_the_first_recall_of_a_cold_function_is_soon_there(place: Place, request: Any) -> None:
    starts, calls, warm = [], [], []
    with cpu_quota(MEGABYTES) as wrapper:
        if wrapper is None:
            pytest.skip("needs a processor quota: the call itself is not measured otherwise")
        for number in range(ROUNDS + 1):  # the first round warms the disk cache
            with deployed(
                "McpHttpFunction", variables=place.variables, wrapper=wrapper
            ) as function:
                first, again = asked(function, place), asked(function, place)
            if number:
                starts.append(function.start.wall_ms)
                calls.append(first)
                warm.append(again)
    total = median(start + call for start, call in zip(starts, calls, strict=True))

    row = [request.node.callspec.id, *(f"{median(each):.0f}" for each in (starts, calls, warm))]
    show(
        f"The first recall of {MEMORIES} memories in ms at {MEGABYTES} MB, median of {ROUNDS}",
        ["index", "INIT", "first recall", "second recall", "INIT and first"],
        [[*row, f"{total:.0f}"]],
    )
    assert total <= COLD_RECALL_MS


def asked(function: Function, place: Place) -> float:
    """Return how long a recall took, in milliseconds."""
    began = time.perf_counter()
    answer = function.invoke(place.event)
    taken = (time.perf_counter() - began) * 1000
    assert answer["statusCode"] == 200, answer
    assert "<memory-recall>" in answer["body"], answer["body"]
    return taken
