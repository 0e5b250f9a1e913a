"""`nacre serve --container`: the checks and answers that only a container needs."""

import json
import re
from pathlib import Path

from nacre.core.errors import ConfigurationError
from nacre.protocol.http.asgi import AsgiApp, Receive, Scope, Send

HOST = "0.0.0.0"  # noqa: S104  a container is reached from outside only
PORT = 8000
TOKEN_HEADER = b"x-amzn-bedrock-agentcore-runtime-custom-nacre-token"
_HEALTH = "/ping"
_HEALTHY = json.dumps({"status": "Healthy"}).encode()
_LOST = frozenset({"overlay", "aufs", "tmpfs", "ramfs", "rootfs"})
_ESCAPED = re.compile(r"\\([0-7]{3})")
_MOUNTS = Path("/proc/self/mountinfo")


def require_volume(folder: str) -> None:
    """Raise ConfigurationError if the data folder would be lost with the container."""
    path = str(Path(folder).absolute())
    if not is_on_volume(path, _MOUNTS.read_text(encoding="utf-8") if _MOUNTS.exists() else ""):
        raise ConfigurationError(
            f"{path} is on a disk that is lost with the container; mount a named volume there"
            " (docker run --volume nacre:/data), or name a stack with NACRE_STACK"
        )


def is_on_volume(folder: str, mounts: str) -> bool:
    """Tell whether a folder is on a mount that outlives the container, by /proc/self/mountinfo.

    An anonymous volume of Docker has 64 hexadecimal digits for a name, and is lost.
    """
    best = ("", "", "")
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.partition(" ")[0]
        if len(fields) < 5:
            continue
        root, point = (_ESCAPED.sub(_character, field) for field in fields[3:5])
        is_above = folder == point or folder.startswith(f"{point.rstrip('/')}/")
        # A later line of the same place is mounted over the earlier one.
        if is_above and len(point) >= len(best[0]):
            best = (point, root, kind)
    point, root, kind = best
    is_anonymous = re.search(r"/volumes/[0-9a-f]{64}(/|$)", root) is not None
    return point not in ("", "/") and kind not in _LOST and not is_anonymous


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 8))


def container_app(app: AsgiApp) -> AsgiApp:
    """Return an application that also answers health checks, and reads AgentCore's header.

    AgentCore keeps the header `Authorization` for itself, and passes on others of this prefix.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["path"] == _HEALTH and scope["method"] == "GET":
                await _send_healthy(send)
                return
            _move_token(scope)
        await app(scope, receive, send)

    return answer


def _move_token(scope: Scope) -> None:
    """Make the token of AgentCore's header the Authorization of a request."""
    headers = scope["headers"]
    token = next((value for name, value in headers if name == TOKEN_HEADER), b"")
    if token:
        others = [pair for pair in headers if pair[0] not in (b"authorization", TOKEN_HEADER)]
        scope["headers"] = [*others, (b"authorization", b"Bearer " + token)]


async def _send_healthy(send: Send) -> None:
    length = str(len(_HEALTHY)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _HEALTHY})
