"""What stands in front of a deployment: requests go on under the API's own host name."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.scaffolding.http_front import Answered, Asked, front, passed_on


@contextmanager
def host_proxy(port: int, address: str, host: str) -> Iterator[None]:
    """Pass on what comes in on a port of loopback, until the block ends."""

    def answer(asked: Asked) -> Answered:
        others = {n: v for n, v in asked.headers.items() if n.lower() != "host"}
        return passed_on(Asked(asked.method, asked.path, others, asked.body), address, Host=host)

    with front(answer, port):
        yield
