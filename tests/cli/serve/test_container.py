"""`nacre serve --container`: what it keeps, what it refuses, and a stack's Beings in it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from nacre.cli.serve import container
from nacre.cli.serve.serve import stack_app
from nacre.core.errors import ConfigurationError
from nacre.core.logs import Log
from nacre.protocol.changes import Changes
from nacre.protocol.http.asgi import AsgiApp
from nacre.wiring.aws import open_stack
from nacre.wiring.settings import Settings
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, start
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed

ROOT = "30 1 0:28 / / rw,relatime - overlay overlay rw,lowerdir=/a"
NAMED = "31 30 8:1 /var/lib/docker/volumes/nacre/_data /data rw - ext4 /dev/sda1 rw"
ANONYMOUS = f"31 30 8:1 /var/lib/docker/volumes/{'0a' * 32}/_data /data rw - ext4 /dev/sda1 rw"
TMPFS = "31 30 0:40 / /data rw,nosuid - tmpfs tmpfs rw"
FOLDER = "32 30 8:1 /srv/my\\040nacre /my\\040data rw - ext4 /dev/sda1 rw"
PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize(
    ("folder", "mounts", "is_kept"),
    [
        ("/data", [ROOT, NAMED], True),
        ("/data/nacre", [ROOT, NAMED], True),
        ("/my data", [ROOT, FOLDER], True),
        ("/database", [ROOT, NAMED], False),
        ("/data", [ROOT], False),
        ("/data", [ROOT, ANONYMOUS], False),
        ("/data", [ROOT, TMPFS], False),
        ("/data", [ROOT, NAMED, TMPFS], False),
        ("/data", ["30 1 8:1 / / rw - ext4 /dev/sda1 rw"], False),
        ("/data", [], False),
        ("/data", ["nonsense", ""], False),
    ],
)
def test_only_a_volume_that_outlives_the_container_is_kept(
    folder: str, mounts: list[str], is_kept: bool
) -> None:
    assert container.is_on_volume(folder, "\n".join(mounts)) is is_kept


def test_without_a_volume_and_a_stack_the_server_refuses_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(ROOT)
    monkeypatch.setattr(container, "_MOUNTS", tmp_path / "mounts")

    with pytest.raises(ConfigurationError, match=r"lost with the container.*NACRE_STACK"):
        container.require_volume("/data")


def test_the_command_of_the_image_refuses_a_root_disk(folder: Path) -> None:
    # No test folder is a mount of its own, except where somebody mounts the temporary folder.
    if container.is_on_volume(str(folder), Path("/proc/self/mountinfo").read_text()):
        pytest.skip("the temporary folder is on a volume")

    code, out, err = finish(start("serve", "--container", "--port", "0"))

    assert (code, out) == (2, "")
    assert "lost with the container" in err
    assert not folder.exists()


async def asked(
    app: AsgiApp, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, Any]:
    sent: list[Any] = []
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "http_version": "1.1",
    }
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        message = next(messages, None)
        if message is None:
            await asyncio.Event().wait()
        return message

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], json.loads(content or b"null")


def test_a_container_serves_the_beings_of_a_stack(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    with deployed(monkeypatch) as stack:
        nacre("being", "create", "Ann", "--stack", stack)
        token = nacre("token", "create", "--scope", "full", "--stack", stack).out.strip()
        settings = Settings("", region=REGION, embeddings="none")
        home = open_stack(stack, settings, "server")
        app = stack_app(
            home, container.HOST, settings, Log("error"), Changes(home.application.surface)
        )
        being = nacre("being", "list", "--stack", stack, "--json").json()[0]["being_id"]
        path = f"/mcp/{being}"
        base = {
            "content-type": "application/json",
            "accept": "application/json",
            "host": "x.example",
        }

        def post(message: dict[str, Any], **headers: str) -> tuple[int, Any]:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            return asyncio.run(asked(app, "POST", path, base | named, json.dumps(message).encode()))

        listing = post(PING, authorization=f"Bearer {token}")
        note = {"name": "update_notes", "arguments": {"notes": ["Book the train"]}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": note}
        agentcore = container.TOKEN_HEADER.decode().replace("-", "_")
        noted = post(call, **{agentcore: token}, mcp_session_id="a" * 40)
        refused = post(PING, authorization="Bearer brt_wrong")
        ping = asyncio.run(asked(app, "GET", "/ping", base))
        audited = nacre("audit", "tail", "--stack", stack, "--json")
        home.close()

    assert ping == (200, {"status": "Healthy"})
    assert listing[0] == 200
    assert len(listing[1]["result"]["tools"]) >= 11
    assert (noted[0], noted[1]["result"].get("isError", False)) == (200, False)
    assert refused[0] == 401
    assert "update_notes" in audited.out
