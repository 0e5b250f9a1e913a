"""The conformance fixtures behind each real face, on a loopback port."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import StringIO

from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.faces.http.laptop_server import asgi_app
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.principal import FULL, Principal
from tests.end_to_end.conformance.fixture_server import working_application
from tests.end_to_end.conformance.gateway import gateway
from tests.scaffolding.asgi_server import served
from tests.scaffolding.lambda_events import BEING

_CALLER = Principal("tok_1", BEING, FULL)
_LOOPBACK = frozenset({"127.0.0.1", "localhost"})


def everybody(_request: HttpRequest, _path: str | None, _query: str | None) -> Principal:
    """Let every caller in: the suite cannot send a token."""
    return _CALLER


@contextmanager
def laptop() -> Iterator[str]:
    """Serve the fixtures as the laptop server does."""
    with working_application() as application:
        app = asgi_app(
            application,
            admit=everybody,
            fences=Fences(hosts=_LOOPBACK, origins=_LOOPBACK),
            log=Log(stream=StringIO()),
        )
        with served(app) as url:
            yield url


@contextmanager
def on_lambda() -> Iterator[str]:
    """Serve the fixtures as the MCP function does, behind a stand-in for API Gateway."""
    with (
        working_application() as application,
        gateway(mcp_handler(application, log=Log(stream=StringIO()))) as url,
    ):
        yield url


FACES: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "laptop": laptop,
    "lambda": on_lambda,
}
