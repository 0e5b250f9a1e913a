"""A laptop and a stack in this process, whose servers and policy a test chooses."""

import gc
import json
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import boto3

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.coroutines import Looper, step
from nacre.faces.mcp_endpoint import dispatcher
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.gateway.catalogue.store import Entry, StoredCatalogue
from nacre.gateway.servers.config import server_from
from nacre.gateway.servers.store import ServerStore
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Silence
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.messages import Request, parse_message
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import Home, compose
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.scaffolding.aws_stack import REGION, Stack, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, DynamoDb, dynamodb_over_http


class Clock:
    """The time of this machine, which tests can move on."""

    def __init__(self) -> None:
        self.moved = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.moved

    def move(self, seconds: float) -> None:
        self.moved += timedelta(seconds=seconds)


class Deployment:
    """A deployment with a Being, and agents that call it."""

    def __init__(self, opened: Callable[[Clock], Home]) -> None:
        self.clock = Clock()
        self.stack: Stack | None = None  # if it is one
        self.worker_of_stack: Callable[[Clock], Home] | None = None
        self._opened = opened
        self._threads = threading.local()
        self.home = opened(self.clock)
        self.being = self.home.beings.create("Pearl", owner="me")

    def _looper(self) -> Looper:
        """Return the event loop of this thread, as a server has one for all of its calls."""
        if not hasattr(self._threads, "looper"):
            self._threads.looper = Looper()
        looper: Looper = self._threads.looper
        return looper

    def add(self, name: str, entry: dict[str, Any]) -> None:
        """Add a server, or replace it; `restart` lists its tools."""
        ServerStore(lambda: self.home.data).add(name, entry, replaces=True)
        unasked = Entry(server_from(name, entry).digest, 0.0, None)
        StoredCatalogue(lambda: self.home.data).update(lambda entries: {**entries, name: unasked})

    def restart(self) -> None:
        """End the process, and start another one over the same data."""
        self.home.close()
        self.home = self._opened(self.clock)
        self.request("tools/list", {})

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        token: str = "t1",
        scopes: frozenset[str] = FULL,
        version: str = "2025-11-25",
        capabilities: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        request = parse_message(json.dumps(message).encode())
        assert isinstance(request, Request)
        principal = Principal(token, self.being.being_id, scopes)
        begun = dispatcher(self.home.application).begin(
            request, Caller(version, principal, Peer(dict(capabilities or {})), None)
        )
        if isinstance(begun, Call):
            running = begun.run(Silence())
            begun = step(running) if begun.blocking else self._looper().run(running)
        answer: dict[str, Any] = json.loads(begun.body)
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any], **caller: Any) -> dict[str, Any]:
        answer = self.request("tools/call", {"name": tool, "arguments": arguments}, **caller)
        result: dict[str, Any] = answer["result"]
        return result


Made = TypeVar("Made", bound=Deployment)


@contextmanager
def on_laptop(
    made: Callable[[Callable[[Clock], Home]], Made], folder: Path, rules: str, **more: Any
) -> Iterator[Made]:
    """Open a laptop with this policy; `made` makes a deployment of what opens it."""
    (folder / "policy.toml").write_text(rules)
    settings = Settings(
        data_folder=str(folder / "data"),
        policy_file=str(folder / "policy.toml"),
        **{"embeddings": "none", **more},
    )
    yield made(lambda clock: open_laptop(folder / "data", settings, clock=clock))


def stack_settings(deployed: Stack, front: DynamoDb) -> Settings:
    """Return the settings of a function of a stack in a fake AWS."""
    return Settings.from_environment(
        {
            "HOME": "/nowhere",
            "AWS_ENDPOINT_URL": front.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_access_key,
            "AWS_SESSION_TOKEN": CREDENTIALS.session_token,
            "NACRE_DATA_TABLE": deployed.ids["DataTable"],
            "NACRE_QUEUE_URL": deployed.ids["PatrolQueue"],
            "NACRE_SECRETS": "/nacre/test",
        }
    )


@contextmanager
def on_stack(
    made: Callable[[Callable[[Clock], Home]], Made], rules: str, *, embeddings: str = "none"
) -> Iterator[Made]:
    """Open a stack in a fake AWS with this policy; `made` makes a deployment of what opens it."""
    with aws_stack() as deployed, dynamodb_over_http(deployed) as front:
        table = DynamoTable(deployed.dynamodb, deployed.ids["DataTable"])
        PolicyVersions(table, clock=Clock()).push(
            "global", rules, source="p.toml", based_on=0, by="ann"
        )
        settings = stack_settings(deployed, front)._replace(
            private_networks=("127.0.0.0/8",), embeddings=embeddings
        )

        def opened(clock: Clock) -> Home:
            return compose(StackPorts(settings, clients=_client, clock=clock), settings)

        def worker(clock: Clock) -> Home:
            return compose(StackPorts(settings, "worker", clients=_client, clock=clock), settings)

        deployment = made(opened)
        deployment.worker_of_stack = worker
        deployment.stack = deployed
        yield deployment
        vars(deployment).clear()  # what reads items keeps its connections as long as the process
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def _client(service: str) -> Any:
    # Threads that ask several servers must not open clients of one session at the same time.
    return boto3.Session(region_name=REGION).client(service)  # type: ignore[call-overload]
