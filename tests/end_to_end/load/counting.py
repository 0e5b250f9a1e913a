"""What one call of each kind asks of the services on AWS, counted at the stack's own handlers.

The same calls give the same counts: `infra/measured.json` holds them for the capacity model, a
test counts again, and `python -m tests.end_to_end.load.counting` writes them there.
"""

import argparse
import gc
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from io import StringIO
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from qdrant_client import QdrantClient

from nacre.access.beings import Beings
from nacre.access.scopes import SCOPES_BY_NAME
from nacre.access.tokens.store import TokenStore
from nacre.adapters.aws.dynamodb import get
from nacre.adapters.aws.dynamodb.get import SignedGet
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.s3_blobs import S3Blobs
from nacre.adapters.qdrant import calls as qdrant_calls
from nacre.adapters.vectors import file_vectors
from nacre.being.memory.model import keys
from nacre.being.memory.store import recall_batches
from nacre.being.orders.order import request as order_request
from nacre.being.orders.order_surface import OrderNames
from nacre.core.clock import system_clock
from nacre.core.logs import Log
from nacre.core.token_prefixes import API
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.faces.aws_lambda.patrol_worker import worker_handler
from nacre.faces.aws_lambda.token_authorizer import authorizer_handler
from nacre.faces.evaluator.evaluator_function import policy_handler
from nacre.firewall.audit import stored_log
from nacre.gateway.mounts import Mounts
from nacre.jobs import lease
from nacre.protocol.http import error_map
from nacre.wiring import aws, signed_requests
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.features.policies import stack_source
from nacre.wiring.settings import Settings
from nacre.wiring.signed_requests import token_lookup
from tests.end_to_end.load import traffic
from tests.end_to_end.load.metered import Asked, Bill, Metered, metered
from tests.end_to_end.load.units import stored_bytes
from tests.scaffolding.aws_stack import Stack, aws_stack
from tests.scaffolding.dynamodb_http import settings_at
from tests.scaffolding.lambda_events import (
    FULL_ACCESS,
    LambdaContext,
    Sent,
    body_of,
    http_api_event,
)
from tests.scaffolding.model_server import model_server

ROOT = Path(__file__).parents[3]
MEASURED = ROOT / "infra" / "measured.json"
_SLOWNESS = 100.0
_PAUSE_SECONDS = 120.0  # longer than anything is kept in a function
_SCENES_AT_ONCE = 20
_SHOWN_SECONDS = 0.01  # until the fake queue hands a message out again that was put back
SCENES = (10, 35)  # noted before each count: two sizes tell what grows, and the larger is more
# than a search reads back
REPEATS = 3  # calls of a kind that are averaged: what they find differs
KINDS = tuple(traffic.KINDS)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a call asked for, how long the processor was at it, and how much it said and logged.

    The services answer in other threads, so that the time is the function's alone.
    """

    bill: Bill
    processor_ms: float
    log_bytes: int
    answer_bytes: int


class MeteredBlobs(S3Blobs):
    """The bucket of a stack, whose requests are on the bill."""

    def __init__(self, stack: Stack, front: Metered) -> None:
        super().__init__(stack.s3, stack.ids["BlobsBucket"], kms_key_id=stack.ids["NacreKey"])
        self._front = front

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        self._front.note("s3:PutObject")
        super().put(name, data, until=until)

    def get(self, name: str) -> bytes | None:
        self._front.note("s3:GetObject")
        return super().get(name)

    def delete(self, name: str) -> None:
        self._front.note("s3:DeleteObject")
        super().delete(name)


@dataclass
class Functions:
    """The functions of a stack in this process, and the bill for what they ask."""

    stack: Stack
    front: Metered
    being_id: str
    settings: Settings
    token: str
    ahead: list[float]
    log: StringIO
    rng: Random = field(default_factory=lambda: Random(9))
    number: int = 0
    answered: int = 0  # bytes

    def __post_init__(self) -> None:
        log = Log(stream=self.log, stack="nacre")
        self._start_mcp()
        ports = self._ports(aws.worker_ports)
        worker = cache(lambda: compose(ports, self.settings).worker(error_map))
        self._worker = worker_handler(worker, ports.postpone, log)
        self._policy = policy_handler(stack_source(self.settings), "INFO", "nacre")
        self._authorizer = authorizer_handler(token_lookup(self.settings))

    def _start_mcp(self) -> None:
        function = compose(self._ports(aws.mcp_ports), self.settings)
        self._mcp = mcp_handler(function.application, log=Log(stream=self.log, stack="nacre"))

    def _ports(self, of: Callable[[Settings], StackPorts]) -> StackPorts:
        ports = of(self.settings)
        if self.settings.search_files:
            vars(ports)["blobs"] = MeteredBlobs(self.stack, self.front)
        return ports

    def keep_file(self) -> None:
        """Let the Being have a file of its points, as if that had been turned on long ago."""
        self.note(1)
        place = keys.index_file(self.being_id)
        self.stack.dynamodb.update_item(
            TableName=self.settings.data_table,
            Key={"pk": {"S": place.pk}, "sk": {"S": place.sk}},
            UpdateExpression="SET #since = :long_ago",
            ExpressionAttributeNames={"#since": "since"},
            ExpressionAttributeValues={":long_ago": {"N": "1"}},
        )
        assert "s3:PutObject" in self.call("recall")

    def call(self, kind: str) -> Bill:
        """Make one call as API Gateway passes it on, and return what it asked for."""
        self.number += 1
        made = traffic.call(kind, self.rng, self.number)
        if kind == traffic.POLICY:
            self._answered(self._policy, "/policy/evaluate", made.arguments)
        else:
            self._tool(kind, made.arguments)
        return self.front.bill()

    def measured(self, action: Callable[[], Bill]) -> Measured:
        """Return what an action asked for, with its processor time and what it wrote."""
        self.answered = 0
        logged, began = self.log.tell(), time.thread_time()
        bill = action()
        return Measured(
            bill, 1000 * (time.thread_time() - began), self.log.tell() - logged, self.answered
        )

    def authorize(self) -> Bill:
        """Have the token looked up."""
        said: Any = self._authorizer({"identitySource": [f"Bearer {self.token}"]}, None)
        assert said["context"]["auth"] == "ok"
        return self.front.bill()

    def sweep(self) -> Bill:
        """Do what the schedule asks for each hour."""
        self.stack.sqs.send_message(
            QueueUrl=self.settings.queue_url,
            MessageBody='{"kind": "sweep"}',
            MessageGroupId="sweep",
        )
        return self.work_sweeps()

    def work_sweeps(self) -> Bill:
        """Do the jobs of sweeps that wait, and leave the others."""
        for message in self._take_all():
            if _job_of(message)["kind"] == "sweep":
                self._job(message)
            else:
                self._show(message)
        time.sleep(_SHOWN_SECONDS)
        return self.front.bill()

    def sweeps_wait(self) -> bool:
        """Tell whether a sweep goes on in jobs that wait."""
        return any(_job_of(message)["kind"] == "sweep" for message in self._look())

    def queued_beings(self) -> list[str]:
        """Return the Beings of the jobs that wait."""
        return [_job_of(message)["being_id"] for message in self._look()]

    def note(self, scenes: int) -> None:
        """Write memories, without a bill."""
        for start in range(0, scenes, _SCENES_AT_ONCE):
            some = range(start, min(scenes, start + _SCENES_AT_ONCE))
            self.number += len(some)
            written = [traffic.scene(self.rng, self.number + each) for each in some]
            self._tool("update_notes", {"scenes": written})
        self.front.bill()

    def work(self, jobs: float = math.inf) -> Bill:
        """Do the jobs that wait, or so many, and return what they asked for."""
        done = 0
        while done < jobs and (messages := self._waiting()):
            for message in messages:
                self._job(message)
            done += len(messages)
        return self.front.bill()

    def pause(self) -> None:
        """Let everything that is kept for a while be too old; files of points need a new start."""
        self.ahead[0] += _PAUSE_SECONDS
        if self.settings.search_files:
            self._start_mcp()

    def multiply_vectors(self, times: int) -> None:
        """Let each vector be there so often; what they belong to is not."""
        dynamodb, table = self.stack.dynamodb, self.settings.data_table
        for item in self.vectors():
            for copy in range(1, times):
                key = {"S": f"{item['sk']['S'][:-4]}{copy:04}"}
                dynamodb.put_item(TableName=table, Item={**item, "sk": key})

    def vectors(self) -> list[Mapping[str, Any]]:
        """Return the items that have the vector of a memory."""
        found = self.items()
        return [
            item
            for item in found
            if item["pk"]["S"].endswith("#V") and item["sk"]["S"].startswith("P#")
        ]

    def items(self) -> list[Mapping[str, Any]]:
        """Return every item of the Being."""
        pages = self.stack.dynamodb.get_paginator("scan").paginate(
            TableName=self.settings.data_table
        )
        found: list[Mapping[str, Any]] = [item for page in pages for item in page["Items"]]
        return [item for item in found if self.being_id in item["pk"]["S"]]

    def _tool(self, name: str, arguments: Mapping[str, Any]) -> None:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self._answered(self._mcp, "/mcp", message)
        assert not answer["result"].get("isError"), answer

    def _answered(self, handle: Callable[..., Any], path: str, message: Any) -> Any:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
            "x-llm-api-key": "sk-load",
        }
        sent = Sent(target=path, headers=headers, body=json.dumps(message).encode())
        event = http_api_event(sent, {**FULL_ACCESS, "being_id": self.being_id})
        answer = handle(event, LambdaContext())
        assert answer["statusCode"] == 200, answer
        self.answered += len(body_of(answer))
        return json.loads(body_of(answer))

    def _look(self) -> list[Any]:
        """Return the messages that wait, which go on waiting."""
        messages = self._take_all()
        for message in messages:
            self._show(message)
        time.sleep(_SHOWN_SECONDS)
        return messages

    def _take_all(self) -> list[Any]:
        messages: list[Any] = []
        while batch := self._waiting():
            messages += batch
        return messages

    def _show(self, message: Mapping[str, Any]) -> None:
        self.stack.sqs.change_message_visibility(
            QueueUrl=self.settings.queue_url,
            ReceiptHandle=message["ReceiptHandle"],
            VisibilityTimeout=0,
        )

    def _waiting(self) -> list[Any]:
        received = self.stack.sqs.receive_message(
            QueueUrl=self.settings.queue_url, MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return list(received.get("Messages", []))

    def _job(self, message: Mapping[str, Any]) -> None:
        record = {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message["Attributes"],
        }
        answer = self._worker({"Records": [record]}, LambdaContext())
        assert answer == {"batchItemFailures": []}, answer
        self.stack.sqs.delete_message(
            QueueUrl=self.settings.queue_url, ReceiptHandle=message["ReceiptHandle"]
        )


def _job_of(message: Mapping[str, Any]) -> dict[str, Any]:
    job: dict[str, Any] = json.loads(message["Body"])
    return job


@contextmanager
def functions(name: str = "nacre-load", *, searches: str = "items") -> Iterator[Functions]:
    """Deploy a stack's data to this process, with its functions before it."""
    real, ahead, began = time.monotonic, [0.0], time.monotonic()
    with model_server() as model, aws_stack(name) as stack, metered(stack) as front:
        traffic.ready(model)
        data = DynamoTable(stack.dynamodb, stack.ids["DataTable"])
        tokens = DynamoTable(stack.dynamodb, stack.ids["TokensTable"])
        rng = Random(4)
        being = Beings(data, clock=system_clock, rng=rng).create("Ann", owner="me")
        issued = TokenStore(tokens, clock=system_clock, rng=rng).issue(
            API,
            being_id=being.being_id,
            owner="me",
            scopes=SCOPES_BY_NAME["full"],
            lifetime=timedelta(days=1),
        )
        settings = settings_at(
            front.url,
            stack,
            tokens_table=stack.ids["TokensTable"],
            llm_base_url=model.url,
            llm_model="some-model",
            qdrant_url="http://qdrant.invalid" if searches == "qdrant" else "",
            search_files=searches == "files",
            bucket=stack.ids["BlobsBucket"],
        )
        qdrant = QdrantClient(":memory:")
        connect, patience = qdrant_calls.connect, get._TIMEOUT_SECONDS
        qdrant_calls.connect = lambda *_: qdrant  # of this process
        # What policies and names are kept by: slow, so that a busy machine keeps them as long.
        time.monotonic = lambda: began + (real() - began) / _SLOWNESS + ahead[0]
        defaults = _clock_defaults()
        for names, name in defaults:
            names[name] = lambda: time.monotonic()
        get._TIMEOUT_SECONDS = 60  # a request that is sent again would be counted again
        opened: list[SignedGet] = []
        made = signed_requests.signed
        signed_requests.signed = partial(_kept, opened, made)
        limits = vars(order_request)
        seconds, limits["ORDER_GATEWAY_SECONDS"] = limits["ORDER_GATEWAY_SECONDS"], 600
        audit = vars(stored_log)
        # The head of a chain is written once a minute, which the capacity model adds by itself.
        minute, audit["AUDIT_ANCHOR_SECONDS"] = audit["AUDIT_ANCHOR_SECONDS"], 10**6
        # Each recall begins a batch, and the capacity model says how many share one.
        batches = vars(recall_batches)
        batch, batches["RECALL_BATCH_BYTES"] = batches["RECALL_BATCH_BYTES"], 0
        # A patrol takes seconds on AWS, and minutes on a busy machine: here no lease is renewed.
        renewed = vars(lease)
        renewals, renewed["_RENEWALS"] = renewed["_RENEWALS"], 0.01
        files = vars(file_vectors)
        # Here calls come faster than files are renewed, and how many are depends on the machine.
        quiet, files["INDEX_FILE_QUIET_SECONDS"] = files["INDEX_FILE_QUIET_SECONDS"], -1
        log = StringIO()
        try:
            with redirect_stderr(log):
                yield Functions(stack, front, being.being_id, settings, issued.token, ahead, log)
        finally:
            time.monotonic, qdrant_calls.connect = real, connect
            for names, name in defaults:
                names[name] = real
            get._TIMEOUT_SECONDS = patience
            limits["ORDER_GATEWAY_SECONDS"] = seconds
            audit["AUDIT_ANCHOR_SECONDS"] = minute
            batches["RECALL_BATCH_BYTES"] = batch
            renewed["_RENEWALS"] = renewals
            files["INDEX_FILE_QUIET_SECONDS"] = quiet
            signed_requests.signed = made
            for each in opened:  # a function ends without a word, and would leave them open
                each.close()
            qdrant.close()
            gc.collect()


def _clock_defaults() -> list[tuple[dict[str, Any], str]]:
    """Return the defaults of those that keep lists and names, which are the clock of the import."""
    methods = ((Mounts.__init__, "tick"), (OrderNames.__init__, "monotonic"))
    return [(defaults, name) for method, name in methods if (defaults := method.__kwdefaults__)]


def _kept(opened: list[SignedGet], made: Callable[..., SignedGet], *given: Any) -> Any:
    opened.append(made(*given))
    return opened[-1]


def counted() -> dict[str, Any]:
    """Return everything that the capacity model is reckoned from, freshly counted."""
    return {searches: _counted(searches) for searches in ("items", "files", "qdrant")}


def _counted(searches: str) -> dict[str, Any]:
    with functions(f"nacre-load-{searches}", searches=searches) as all_:
        authorizer = _mean([all_.measured(all_.authorize) for _ in range(REPEATS)])
        if searches == "files":
            all_.keep_file()
        sizes = []
        before = 0
        for scenes in SCENES:
            all_.note(scenes)
            patrol = all_.measured(all_.work)
            memories = len(all_.vectors())  # orders and notes among the calls have left some too
            stored = sum(map(stored_bytes, all_.items()))
            calls = {}
            for kind in KINDS:
                all_.pause()
                first = all_.measured(partial(all_.call, kind))
                again = [all_.measured(partial(all_.call, kind)) for _ in range(REPEATS)]
                calls[kind] = {"after a pause": _mean([first]), "again": _mean(again)}
            sizes.append(
                {
                    "memories": memories,
                    "stored_bytes": stored,
                    "patrol": {"scenes": memories - before, **_mean([patrol])},
                    "calls": calls,
                }
            )
            before = memories
        return {
            "authorizer": authorizer,
            "sizes": sizes,
            "sweep": _mean([all_.measured(all_.sweep)]),
        }


def _mean(found: Sequence[Measured]) -> dict[str, Any]:
    """Return what one call of several asks for, costs and writes."""
    share = 1 / len(found)
    names = sorted({name for each in found for name in each.bill})
    asked = {
        name: [
            round(share * sum(each.bill.get(name, Asked()).times for each in found), 2),
            round(share * sum(each.bill.get(name, Asked()).units for each in found), 2),
        ]
        for name in names
    }
    return {
        "asked": asked,
        "processor_ms": round(median(each.processor_ms for each in found), 1),
        "log_bytes": round(share * sum(each.log_bytes for each in found)),
        "answer_bytes": round(share * sum(each.answer_bytes for each in found)),
    }


def main() -> None:
    """Count, and print it or write it to the file of the capacity model."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.end_to_end.load.counting", description=__doc__
    )
    parser.add_argument("--write", action="store_true", help=f"into {MEASURED.relative_to(ROOT)}")
    chosen = parser.parse_args()
    fresh = counted()
    if not chosen.write:
        print(json.dumps(fresh, indent=1))
        return
    known = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    MEASURED.write_text(json.dumps({**known, "counted": fresh}, indent=1) + "\n")


if __name__ == "__main__":
    main()
