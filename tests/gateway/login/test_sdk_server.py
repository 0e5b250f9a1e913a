"""Logins to a server of the official Python SDK."""

from pathlib import Path

from nacre.gateway.login.logins import LoginServer
from tests.gateway.login.following import answer_of
from tests.gateway.login.sdk_server import sdk_server
from tests.scaffolding.gateway_world import world

BACK = "http://127.0.0.1:8765/callback"


def test_a_server_of_the_python_sdk_is_logged_in_to_used_and_logged_out_of(tmp_path: Path) -> None:
    with sdk_server() as (url, sdk), world(tmp_path / "w", {"web": {"url": url}}) as gateway:
        logins, server = gateway.laptop.logins, LoginServer("web", url)
        begun = logins.begin("me", server, BACK)
        logins.finish("me", answer_of(begun.url, BACK))

        assert gateway.tools() == ["mcp__web__whoami"]
        assert gateway.call("mcp__web__whoami")["content"][0]["text"] == "user"

        sdk.access.clear()  # the server has forgotten the token before its end
        assert gateway.call("mcp__web__whoami")["content"][0]["text"] == "user"
        assert len(sdk.refresh) == 1

        assert logins.log_out("me", server) is True
        assert (sdk.access, sdk.refresh) == ({}, {})
