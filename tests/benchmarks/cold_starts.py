"""Cold starts of `mcp_http` in one run: of this clone, of another version, and of the peer.

`python -m tests.benchmarks.cold_starts BUILT [MEGABYTES]`, where BUILT is the folder that
`sam build --build-dir BUILT` wrote in a checkout of the other version. Each first fills a Being
with 1,000 memories by its own `update_notes`; their items lie in a cloud on loopback.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from infra import services
from infra.local_cloud import credentials, local_cloud
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.settings import Settings
from tests.benchmarks.memory_load import question, sentence
from tests.benchmarks.quota import cpu_quota
from tests.benchmarks.table import show
from tests.benchmarks.test_init import call_of_the_peer, post
from tests.functions.runtime_api import Function, _usage
from tests.infra.declared import ROOT
from tests.scaffolding.lambda_functions import environment, runtime_python, task
from tests.scaffolding.lambda_layers import layer

MEMORIES = 1000
ROUNDS = 5
BATCH = 20
Parts = tuple[Path, list[Path]]


def ask(being_id: str, method: str, **params: Any) -> dict[str, Any]:
    """Return a message to a Being as API Gateway hands it over."""
    event = post(method, params)
    path = f"/mcp/{being_id}"
    event["requestContext"]["authorizer"]["lambda"]["being_id"] = being_id
    event["requestContext"]["http"]["path"] = path
    return event | {"rawPath": path, "pathParameters": {"beingId": being_id}}


def fill(function: Function, being_id: str) -> None:
    """Have a version note what it is asked for later."""
    rng = Random(1)
    for first in range(0, MEMORIES, BATCH):
        scenes = [
            {"action": sentence(rng, number), "actors": ["Ann"], "when": ["2026-07-01"]}
            for number in range(first, first + BATCH)
        ]
        noting = {"name": "update_notes", "arguments": {"scenes": scenes}}
        answer = function.invoke(ask(being_id, "tools/call", **noting))
        assert '"isError":true' not in answer["body"].replace(" ", ""), answer


def measured(function: Function, event: dict[str, Any]) -> tuple[float, ...]:
    """Return INIT, the first answer and both in ms: on the clock, and of the processor."""
    began = time.perf_counter()
    answer = function.invoke(event)
    taken = (time.perf_counter() - began) * 1000
    assert answer["statusCode"] == 200, answer
    start = function.start
    whole = _usage(function._server.pid)[0]
    cpu = whole - start.cpu_ms
    return start.wall_ms, taken, start.wall_ms + taken, start.cpu_ms, cpu, whole


def main(arguments: Sequence[str]) -> None:
    """Measure, taking turns, and show the medians."""
    built, megabytes = Path(arguments[0]), int(arguments[1]) if arguments[1:] else 1769
    libs = layer("libs").python
    versions: dict[str, Parts] = {
        "the other version": (
            built / "McpHttpFunction",
            [built / "HotLayer/python", built / "LibsLayer/python"],
        ),
        "now": (task("McpHttpFunction"), [layer("hot").python, libs]),
    }
    peer: Parts = (ROOT / "tests/benchmarks/peer", [libs, layer("web").python])
    with local_cloud() as cloud, cpu_quota(megabytes) as wrapper:
        services.create(cloud)
        told = json.loads((ROOT / "infra/local.json").read_text())["Parameters"]
        told["AWS_ENDPOINT_URL"] = cloud
        told["NACRE_QUEUE_URL"] = cloud + told["NACRE_QUEUE_URL"].partition("4566")[2]
        variables = {**environment("McpHttpFunction"), **credentials(cloud), **told}
        settings = Settings(
            "", data_table=told["NACRE_DATA_TABLE"], queue_url=told["NACRE_QUEUE_URL"]
        )
        home = compose(
            StackPorts(settings, clients=lambda name: services.client(name, cloud)), settings
        )

        def function(parts: Parts, limit: Sequence[str] = ()) -> Function:
            own, layers = parts
            return Function(
                python=runtime_python(),
                task=own,
                layers=layers,
                environment=variables,
                memory=megabytes,
                wrapper=limit,
            )

        asked: dict[tuple[str, str], tuple[Parts, dict[str, Any]]] = {
            ("the peer", "a call"): (peer, call_of_the_peer())
        }
        recall = {"name": "recall", "arguments": {"user_message": question(Random(5))}}
        for number, (name, parts) in enumerate(versions.items()):
            being_id = home.beings.create(f"Pearl {number}", owner="me").being_id
            with function(parts) as filling:
                fill(filling, being_id)
            asked[name, "`tools/list`"] = parts, ask(being_id, "tools/list")
            asked[name, "`recall`"] = parts, ask(being_id, "tools/call", **recall)
        taken: dict[tuple[str, str], list[tuple[float, ...]]] = {each: [] for each in asked}
        for number in range(ROUNDS + 1):  # the first round warms the disk cache
            for each, (parts, event) in asked.items():
                with function(parts, wrapper or ()) as cold:
                    times = measured(cold, event)
                if number:
                    taken[each].append(times)
    rows = [
        [*each, *(f"{median(column):.0f}" for column in zip(*times, strict=True))]
        for each, times in taken.items()
    ]
    how = "under a processor quota" if wrapper else "without a processor quota"
    header = ["version", "first", "INIT", "answer", "both", "INIT cpu", "answer cpu", "both cpu"]
    show(f"Cold starts in ms, {megabytes} MB, median of {ROUNDS} ({how})", header, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
