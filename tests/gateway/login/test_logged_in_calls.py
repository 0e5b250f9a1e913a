"""Calls of servers that want a login: each with the login of the caller's owner."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nacre.gateway.login.logins import LoginServer
from nacre.protocol.context import Silence
from nacre.protocol.principal import Principal
from tests.gateway.login.provider import Provider, provider
from tests.scaffolding.gateway_world import MODERN, World, world

BACK = "http://127.0.0.1:8765/callback"
URLS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


@contextmanager
def behind(folder: Path, **options: Any) -> Iterator[tuple[World, Provider]]:
    with provider(**options) as at, world(folder / "w", {"web": {"url": at.url}}) as gateway:
        yield gateway, at


def log_in(gateway: World, at: Provider, owner: str = "me", account: str = "ann") -> None:
    logins = gateway.laptop.logins
    begun = logins.begin(owner, LoginServer("web", at.url), BACK)
    logins.finish(owner, at.consent(begun.url, account))


def of_owner(gateway: World, owner: str) -> World:
    """Return the world as a client of another owner sees it."""
    home = gateway.laptop
    home.owners.add(owner)
    being = home.beings.create("Theirs", owner=owner)
    principal = Principal("t2", being.being_id, gateway.principal.scopes)
    return World(home, principal, gateway.folder, gateway.looper)


def whoami(gateway: World) -> str:
    text: str = gateway.call("mcp__web__whoami")["content"][0]["text"]
    return text


@pytest.mark.requirement("002.external.login")
def test_a_server_is_used_with_the_login_of_its_owner(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert gateway.tools() == ["mcp__web__whoami", "mcp__web__write"]
        assert whoami(gateway) == "ann"
        assert gateway.missing() == {}


def test_a_server_without_a_login_says_how_to_log_in(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, _):
        assert gateway.tools() == []
        assert "nacre server login web" in gateway.missing()["web"]


@pytest.mark.security
@pytest.mark.requirement("002.external.login")
def test_no_owner_is_served_with_the_login_of_another_one(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        gateway.tools()
        theirs = of_owner(gateway, "ben")
        assert theirs.tools() == ["mcp__web__whoami", "mcp__web__write"]
        assert "wants you to log in" in whoami(theirs)
        assert at.calls == []
        log_in(gateway, at, "ben", "ben")
        assert (whoami(theirs), whoami(gateway)) == ("ben", "ann")


@pytest.mark.security
def test_a_list_for_several_owners_names_no_resource_of_one(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        theirs = of_owner(gateway, "ben")
        log_in(gateway, at)
        gateway.tools()
        for each in (gateway, theirs):
            listed = each.ask("resources/list")["result"]["resources"]
            assert [one for one in listed if one["uri"].startswith("notes:")] == []


def test_the_only_owner_sees_the_resources_of_a_server(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        gateway.tools()
        listed = gateway.ask("resources/list")["result"]["resources"]
        assert "notes://ann/1" in [one["uri"] for one in listed]


def test_a_token_that_the_server_refuses_is_renewed_and_the_call_is_made_once(
    tmp_path: Path,
) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert gateway.tools()
        at.access.clear()  # the server has forgotten it before its end
        assert whoami(gateway) == "ann"
        assert at.calls == [("whoami", "ann")]


@pytest.mark.requirement("002.external.login-renewal")
def test_calls_of_two_owners_renew_their_tokens_in_parallel(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        theirs = of_owner(gateway, "ben")
        log_in(gateway, at)
        log_in(gateway, at, "ben", "ben")
        assert gateway.tools()
        assert (whoami(theirs), whoami(gateway)) == ("ben", "ann")
        at.access.clear()
        at.pause = threading.Event()
        with ThreadPoolExecutor(8) as pool:
            running = [pool.submit(_whoami_alone, each) for each in (gateway, theirs) * 4]
            assert at.refreshing.wait(60)
            at.pause.set()
            answers = [future.result(120) for future in running]
        assert answers == ["ann", "ben"] * 4
        assert [form["grant_type"] for form in at.forms].count("refresh_token") == 2
        assert at.used_refresh == []


def _whoami_alone(gateway: World) -> str:
    from nacre.core.coroutines import Looper

    return whoami(World(gateway.laptop, gateway.principal, gateway.folder, Looper()))


def test_a_login_that_has_ended_is_asked_for_again(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert whoami_after_list(gateway) == "ann"
        at.access.clear()
        at.refresh.clear()
        assert "wants you to log in" in whoami(gateway)
        log_in(gateway, at)
        assert whoami(gateway) == "ann"


def whoami_after_list(gateway: World) -> str:
    gateway.tools()
    return whoami(gateway)


def test_a_logout_counts_at_once(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert whoami_after_list(gateway) == "ann"
        gateway.laptop.logins.log_out("me", LoginServer("web", at.url))
        assert "wants you to log in" in whoami(gateway)
        assert len(at.calls) == 1


# More rights.


def test_a_call_that_needs_more_rights_says_so(tmp_path: Path) -> None:
    scopes = {"scopes_supported": ["read"]}
    with behind(tmp_path, resource=scopes, write_scope="write") as (gateway, at):
        log_in(gateway, at)
        assert gateway.tools()
        refused = gateway.call("mcp__web__write")
        assert "wants more rights (write)" in refused["content"][0]["text"]
        assert whoami(gateway) == "ann"
        log_in(gateway, at)
        assert gateway.call("mcp__web__write")["content"][0]["text"] == "ann"
        assert at.calls[-1] == ("write", "ann")


def test_a_server_that_asks_for_rights_it_has_given_is_not_believed(tmp_path: Path) -> None:
    with behind(tmp_path, write_scope="write") as (gateway, at):
        at.token_extra = {"scope": "write"}
        log_in(gateway, at)
        assert gateway.tools()
        refused = gateway.call("mcp__web__write")
        assert "refuses these credentials" in refused["content"][0]["text"]


# Links.


class Clicking(Silence):
    """A client of the older generation, whose person logs in, or does not."""

    can_ask = True

    def __init__(self, act: Any, action: str = "accept") -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self._act = act
        self._action = action

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        self._act()
        return {"action": self._action}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "nacre.wiring.server_registry.running_urls", lambda _: ["http://127.0.0.1:8766/mcp"]
    )


@pytest.mark.usefixtures("served")
def test_a_call_sends_its_person_a_link_and_goes_on_after_the_login(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert gateway.tools()
        gateway.laptop.logins.log_out("me", LoginServer("web", at.url))
        client = Clicking(lambda: log_in(gateway, at))
        asked = {"name": "mcp__web__whoami", "arguments": {}}
        answer = gateway.ask("tools/call", asked, capabilities=URLS, channel=client)
        assert answer["result"]["content"][0]["text"] == "ann"
        [(method, params)] = client.asked
        assert (method, params["mode"]) == ("elicitation/create", "url")
        assert params["url"] == "http://127.0.0.1:8766/logins?server=web"


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_who_declines_is_not_asked_twice(action: str, tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert gateway.tools()
        gateway.laptop.logins.log_out("me", LoginServer("web", at.url))
        client = Clicking(lambda: None, action)
        asked = {"name": "mcp__web__whoami", "arguments": {}}
        answer = gateway.ask("tools/call", asked, capabilities=URLS, channel=client)
        assert "wants you to log in" in answer["result"]["content"][0]["text"]
        assert len(client.asked) == 1
        assert at.calls == []


@pytest.mark.usefixtures("served")
def test_a_client_of_the_newer_generation_comes_back_with_the_answer(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, at):
        log_in(gateway, at)
        assert gateway.tools()
        gateway.laptop.logins.log_out("me", LoginServer("web", at.url))
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": URLS,
        }
        asked = {"name": "mcp__web__whoami", "arguments": {}, "_meta": meta}
        first = gateway.ask("tools/call", asked, version=MODERN, capabilities=URLS)["result"]
        [(key, question)] = first["inputRequests"].items()
        assert question["params"]["mode"] == "url"
        log_in(gateway, at)
        again = {
            **asked,
            "inputResponses": {key: {"action": "accept"}},
            "requestState": first["requestState"],
        }
        answer = gateway.ask("tools/call", again, version=MODERN, capabilities=URLS)
        assert answer["result"]["content"][0]["text"] == "ann"


def test_a_fixed_token_is_sent_and_no_login(tmp_path: Path) -> None:
    with provider() as at:
        at.access["fixed"] = ("bot", "")
        entry = {"url": at.url, "headers": {"Authorization": "Bearer fixed"}}
        with world(tmp_path / "w", {"web": entry}) as gateway:
            log_in(gateway, at)
            assert whoami_after_list(gateway) == "bot"
