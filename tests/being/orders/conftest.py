"""A Being that takes orders, on the laptop's stores and behind the Lambda face on those of AWS."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import SystemRandom
from types import SimpleNamespace
from typing import Any

import pytest

from nacre.being.language_model.api_keys import LlmKeys
from nacre.being.orders.media.chat_parts import MediaAbilities
from nacre.being.orders.order.request import OrderLimits
from nacre.being.orders.sessions.store import SessionStore
from nacre.being.patrol.planning.model_choice import ModelAccess
from nacre.core.coroutines import step
from nacre.core.limits import SESSION_LEASE_SECONDS
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Key
from nacre.ports.media.media_links import MediaLinks
from nacre.protocol.context import Context, Silence
from nacre.protocol.http.error_map import tool_error
from nacre.protocol.principal import FULL, Principal
from nacre.protocol.surface import Surface
from nacre.wiring.features.models import model_access_over
from nacre.wiring.features.orders import build_orders, with_orders
from nacre.wiring.settings import Secret, Settings
from tests.adapters.conftest import StillClock
from tests.being.memory.conftest import a_mind, clock, stack
from tests.being.memory.lambda_face import LambdaFace
from tests.being.memory.minds import Minded
from tests.scaffolding.model_server import ModelServer, model_server, saying
from tests.scaffolding.vaults import file_vault

__all__ = ["clock", "stack"]

KEY = "sk-deployment"


class RecordingChannel(Silence):
    """A channel that records its notifications; a test may set `cancelled`."""

    cancelled = False

    def __init__(self) -> None:
        self.notifications: list[dict[str, Any]] = []

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.notifications.append({"method": method, **params})


@dataclass
class World:
    """A Being, the tools around it, and the model that carries out its orders."""

    mind: Minded
    model: ModelServer
    surface: Surface
    sessions: SessionStore
    model_access: ModelAccess
    face: LambdaFace | None
    name: str = "order_being"
    channel: RecordingChannel = field(default_factory=RecordingChannel)

    @property
    def being_id(self) -> str:
        return self.mind.being_id

    def give(self, message: str, *, subject: str = "test", **arguments: Any) -> dict[str, Any]:
        """Give an order as a client does, and return the result, an error's too."""
        if self.face is not None and subject == "test" and not self.channel.cancelled:
            status, answer = self.face.call(
                self.name,
                {"message": message, **arguments},
                being_id=self.being_id,
                read_only=False,
            )
            assert status == 200, answer
            result: dict[str, Any] = answer["result"]
            return result
        return self.call({"message": message, **arguments}, self.context(subject))

    def call(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        """Call the tool in process, in this thread."""
        tool = self.surface.get_tool(self.name)
        assert tool is not None
        assert tool.blocking
        try:
            return dict(step(tool.call(arguments, context)).to_dict())
        except Exception as error:  # noqa: BLE001 - as the wire does
            text = tool_error(self.name, error)
            return {"content": [{"type": "text", "text": text}], "isError": True}

    def context(self, subject: str = "test", *, client: str | None = None) -> Context:
        principal = Principal(subject, self.being_id, FULL, client)
        return Context(principal=principal, channel=self.channel, progress_token="p")

    def text(self, message: str, **arguments: Any) -> str:
        """Give an order that succeeds with one text, and return it."""
        result = self.give(message, **arguments)
        assert result["isError"] is False, result
        assert [block["type"] for block in result["content"]] == ["text"]
        return str(result["content"][0]["text"])

    def error(self, message: str, **arguments: Any) -> str:
        """Give an order that fails, and return its error text."""
        result = self.give(message, **arguments)
        assert result["isError"] is True, result
        return str(result["content"][0]["text"])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def model(endpoint: ModelServer) -> ModelServer:
    """A model that has not been asked yet."""
    endpoint.begin_anew()
    endpoint.reply = saying("Very well.")
    return endpoint


@pytest.fixture(params=["laptop", "lambda"])
def world(request: pytest.FixtureRequest, clock: StillClock, model: ModelServer) -> Iterator[World]:
    """A Being on SQLite, called in process; and one on DynamoDB, called by events."""
    yield from _a_world(request, clock, model, request.param)


@pytest.fixture
def laptop(
    request: pytest.FixtureRequest, clock: StillClock, model: ModelServer
) -> Iterator[World]:
    """A Being on SQLite only, where the stores make no difference."""
    yield from _a_world(request, clock, model, "laptop")


class _MindRequest:
    """The request of the fixture a_mind, with another parameter."""

    def __init__(self, request: pytest.FixtureRequest, param: str) -> None:
        self.param = param
        self.getfixturevalue = request.getfixturevalue


def _a_world(
    request: pytest.FixtureRequest, clock: StillClock, model: ModelServer, param: str
) -> Iterator[World]:
    mind_request: Any = _MindRequest(request, param)
    for mind in a_mind(mind_request, clock):
        yield world_over(mind, model, clock, is_remote=param != "laptop")


def world_over(
    mind: Minded,
    model: ModelServer,
    clock: StillClock,
    *,
    is_remote: bool = False,
    limits: OrderLimits | None = None,
    key: str = KEY,
    abilities: Callable[[], MediaAbilities] = MediaAbilities,
    media_links: MediaLinks | None = None,
    **settings: Any,
) -> World:
    """Return a world over a mind."""
    chosen = Settings(
        "",
        llm_base_url=model.url,
        llm_model=settings.pop("llm_model", "some-model"),
        llm_api_key=Secret(key),
        media_links=media_links is not None,
        **settings,
    )
    vault = file_vault()
    rng = SystemRandom()
    llm_keys = LlmKeys(mind.table, lambda: vault, clock=clock, rng=rng)
    model_access = model_access_over(chosen, mind.table, llm_keys, clock=clock)
    ports: Any = SimpleNamespace(
        is_stack=media_links is not None,
        media_links=media_links,
        data=mind.table,
        read=lambda key: mind.table.get(Key(*key)),
        clock=clock,
        rng=rng,
        holders=None,
        order_limits=limits or (OrderLimits.gateway() if is_remote else OrderLimits.laptop()),
    )
    orders = build_orders(ports, chosen, lambda: surface, mind.mind, model_access, abilities())
    surface = with_orders(mind.server, ports, chosen, lambda: orders)
    lasting = timedelta(seconds=SESSION_LEASE_SECONDS)
    leases = Leases(mind.table, now=clock, duration=lasting)
    sessions = SessionStore(mind.table, leases, clock=clock)
    face = LambdaFace(surface) if is_remote else None  # type: ignore[arg-type]
    return World(mind, model, surface, sessions, model_access, face)
