"""The suite's fixtures behind each face as production wires it.

The fixtures are an owner's own server of tools, loaded by NACRE_TOOL_SERVERS, and the owner's
policy allows them. Tokens, policy, audit, tasks and logs are those of `nacre serve`, and of the
functions: their own handlers, over the data resources of template.yaml.
"""

import gc
import json
import os
import runpy
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory
from typing import Any

from infra import services
from infra.local_cloud import credentials, local_cloud
from nacre.access.beings import Beings
from nacre.access.scopes import SCOPES_BY_NAME
from nacre.access.tokens.store import TokenStore
from nacre.adapters.aws.dynamodb.get import SignedGet
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.clock import system_clock
from nacre.core.token_prefixes import API
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.wiring import signed_requests
from nacre.wiring.settings import Settings
from tests.cli.processes import finish, serving, start
from tests.end_to_end.conformance.fixture_server import owners_server
from tests.end_to_end.conformance.gateway import gateway
from tests.end_to_end.conformance.relay import relayed
from tests.infra.declared import ROOT
from tests.scaffolding.lambda_events import Event, LambdaContext
from tests.scaffolding.lambda_functions import environment

SERVERS = "tests.end_to_end.conformance.fixture_server:owners_server"
NAME = owners_server().name
# The built-in policy, and before it what an owner writes to use a server of tools.
POLICY = "".join(
    f'[[rule]]\naction = "allow"\n{kind} = "**"\nserver = "{NAME}"\n'
    for kind in ("tool", "resource", "prompt")
) + (ROOT / "shared" / "nacre" / "firewall" / "policies" / "packs" / "default.toml").read_text(
    "utf-8"
)
_WORKERS = 4  # the suite leaves some work of a minute behind


@contextmanager
def laptop() -> Iterator[str]:
    """Run `nacre serve` with the fixtures."""
    with TemporaryDirectory() as name:
        policy = Path(name, "policy.toml")
        policy.write_text(POLICY)
        variables = {
            "NACRE_HOME": str(Path(name, "data")),
            "NACRE_TOOL_SERVERS": SERVERS,
            "NACRE_POLICY": str(policy),
        }
        with _variables(variables), serving() as server:
            code, out, err = finish(start("token", "create", "--scope", "full", "--json"))
            assert code == 0, err
            issued = json.loads(out)
            there = f"{server.url}/{issued['being_id']}"
            with relayed(there, token=issued["token"], server=owners_server()) as url:
                yield url


@contextmanager
def on_lambda() -> Iterator[str]:
    """Run the authorizer, the MCP function and the worker over a cloud on this machine."""
    with _ending(), local_cloud() as cloud, _stack(cloud) as url:
        yield url


@contextmanager
def _stack(cloud: str) -> Iterator[str]:
    services.create(cloud)
    data = DynamoTable(services.client("dynamodb", cloud), services.NAMES["DataTable"][1])
    tokens = DynamoTable(services.client("dynamodb", cloud), services.NAMES["TokensTable"][1])
    queue_url = _queue_url(cloud)
    being = Beings(data, clock=system_clock, rng=SystemRandom()).create("Ann", owner="me")
    PolicyVersions(data, clock=system_clock).push(
        "global", POLICY, source="policy.toml", based_on=0, by="me"
    )
    issued = TokenStore(tokens, clock=system_clock, rng=SystemRandom()).issue(
        API,
        being_id=being.being_id,
        owner="me",
        scopes=SCOPES_BY_NAME["full"],
        lifetime=timedelta(days=1),
    )
    given = {
        **credentials(cloud),
        "NACRE_TOKENS_TABLE": services.NAMES["TokensTable"][1],
        "NACRE_DATA_TABLE": services.NAMES["DataTable"][1],
        "NACRE_BLOBS_BUCKET": services.NAMES["BlobsBucket"][1],
        "NACRE_QUEUE_URL": queue_url,
        "NACRE_KMS_KEY": _output(cloud, "KeyArn"),
        "NACRE_TOOL_SERVERS": SERVERS,
    }
    authorize, mcp, worker = (
        _function(name, given) for name in ("token_authorizer", "mcp_http", "patrol_worker")
    )

    def through_authorizer(event: Event, context: Any) -> Event:
        presented = event["headers"].get("authorization", "")
        said: Any = authorize({"identitySource": [presented], "headers": {}}, None)
        event["requestContext"]["authorizer"] = {"lambda": said["context"]}
        answer: Event = mcp(event, context)
        return answer

    with (
        _variables(credentials(cloud)),  # boto3 looks for them when it is first used
        _working(worker, cloud, queue_url),
        gateway(through_authorizer) as front,
        relayed(f"{front}/{being.being_id}", token=issued.token, server=owners_server()) as url,
    ):
        yield url


FACES: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "laptop": laptop,
    "lambda": on_lambda,
}


@contextmanager
def _ending() -> Iterator[None]:
    """Let connections end with the block: Lambda ends its environments without a word."""
    opened: list[SignedGet] = []
    made = signed_requests.signed

    def kept(kind: type[SignedGet], table: str, settings: Settings) -> SignedGet:
        opened.append(made(kind, table, settings))
        return opened[-1]

    signed_requests.signed = kept  # type: ignore[assignment]  # it is called with SignedGet alone
    try:
        yield
    finally:
        signed_requests.signed = made
        for each in opened:
            each.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # of boto3's
            gc.collect()


@contextmanager
def _variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Put these variables, and no others of Nacre or AWS, into the environment."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("NACRE_", "AWS_")):
            del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _function(name: str, given: Mapping[str, str]) -> Callable[..., Any]:
    """Return a function's handler, made in the environment that the template gives it."""
    names = {"token_authorizer": "TokenAuthorizer", "mcp_http": "McpHttp"}
    declared = environment(f"{names.get(name, 'PatrolWorker')}Function")
    aws = {key: value for key, value in given.items() if key.startswith("AWS_")}
    values = {key: given.get(key, value) for key, value in declared.items()}
    with _variables({**values, **aws}):
        handle: Callable[..., Any] = runpy.run_path(str(ROOT / "functions" / name / "handler.py"))[
            "handle"
        ]
    return handle


@contextmanager
def _working(worker: Callable[..., Any], cloud: str, queue_url: str) -> Iterator[None]:
    """Hand the queue's messages to the worker, one by one, until the block ends."""
    done = threading.Event()
    sqs = services.client("sqs", cloud)

    def work() -> None:
        while not done.is_set():
            received = sqs.receive_message(
                QueueUrl=queue_url,
                MaxNumberOfMessages=1,
                AttributeNames=["All"],
                WaitTimeSeconds=1,
            )
            for message in received.get("Messages", []):
                record = {
                    "messageId": message["MessageId"],
                    "receiptHandle": message["ReceiptHandle"],
                    "body": message["Body"],
                    "attributes": message["Attributes"],
                }
                if worker({"Records": [record]}, LambdaContext()) == {"batchItemFailures": []}:
                    sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])

    # Lambda runs several groups at once.
    threads = [threading.Thread(target=work) for _ in range(_WORKERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _queue_url(cloud: str) -> str:
    rows = services.client("cloudformation", cloud).describe_stack_resources(
        StackName=services.STACK
    )["StackResources"]
    [url] = [
        each["PhysicalResourceId"] for each in rows if each["LogicalResourceId"] == "PatrolQueue"
    ]
    return str(url)


def _output(cloud: str, name: str) -> str:
    [stack] = services.client("cloudformation", cloud).describe_stacks(StackName=services.STACK)[
        "Stacks"
    ]
    return str({each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}[name])
