"""The conformance fixtures behind each real face, on a loopback port."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from io import StringIO

from nacre.faces.http import asgi_app
from nacre.faces.lambda_events import mcp_handler
from nacre.faces.logs import Log
from nacre.protocol.fences import Fences
from nacre.protocol.http_messages import HttpRequest
from nacre.protocol.principal import FULL, Principal
from tests.asgi_server import served
from tests.conformance.fixture_server import conformance_application
from tests.conformance.gateway import gateway
from tests.lambda_events import BEING

_CALLER = Principal("tok_1", BEING, FULL)
_LOOPBACK = frozenset({"127.0.0.1", "localhost"})


def everybody(_request: HttpRequest, _path: str | None, _query: str | None) -> Principal:
    """Let every caller in: the suite cannot send a token."""
    return _CALLER


def laptop() -> AbstractContextManager[str]:
    """Serve the fixtures as the laptop server does."""
    app = asgi_app(
        conformance_application(),
        admit=everybody,
        fences=Fences(hosts=_LOOPBACK, origins=_LOOPBACK),
        log=Log(stream=StringIO()),
    )
    return served(app)


def on_lambda() -> AbstractContextManager[str]:
    """Serve the fixtures as the MCP function does, behind a stand-in for API Gateway."""
    return gateway(mcp_handler(conformance_application(), log=Log(stream=StringIO())))


FACES: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "laptop": laptop,
    "lambda": on_lambda,
}
