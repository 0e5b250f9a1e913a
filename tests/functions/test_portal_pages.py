"""The owner's pages as the portal function serves them: its handler, variables and tables."""

import asyncio
import importlib.util
import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from nacre.access.authority import Authority, authority
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.console.frame import MENU
from nacre.console.parts import Console
from nacre.core.clock import system_clock
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.console import console_parts
from nacre.wiring.features.firewall import whole_results
from nacre.wiring.settings import Settings
from tests.being.memory.keeping import a_node
from tests.scaffolding.aws_stack import REGION, Stack, aws_stack
from tests.scaffolding.lambda_events import LambdaContext, Sent, body_of, http_api_event
from tests.scaffolding.lambda_functions import environment, task
from tests.scaffolding.passkeys import Device, add, enter, said
from tests.scaffolding.web_site import Answer, Browser

HOST = "api.execute-api.eu-central-1.amazonaws.com"


class Served:
    """A place for a browser: API Gateway before the real handler."""

    def __init__(self, made: Authority) -> None:
        self._loop = asyncio.new_event_loop()
        self._handle = self._on_loop(_handler)
        self.authority = made

    def get(self, target: str, headers: Any) -> Answer:
        return self._send("GET", target, headers)

    def post_form(self, target: str, fields: Any, headers: Any) -> Answer:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self._send("POST", target, {**kind, **headers}, urlencode(fields).encode())

    def link(self) -> str:
        return self.authority.sign_in.links.make("me").secret

    def _send(self, method: str, target: str, headers: Any, body: bytes = b"") -> Answer:
        event = http_api_event(Sent(method, target, {"host": HOST, **headers}, body), None)
        result = self._on_loop(self._handle, event, LambdaContext())
        pairs = [(name.lower(), value) for name, value in result["headers"].items()]
        pairs += [("set-cookie", cookie) for cookie in result.get("cookies") or []]
        return Answer(result["statusCode"], tuple(pairs), body_of(result))

    def _on_loop(self, function: Callable[..., Any], *arguments: Any) -> Any:
        asyncio.set_event_loop(self._loop)  # Mangum's, which it would otherwise make and leave
        try:
            return function(*arguments)
        finally:
            asyncio.set_event_loop(None)

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, Console]]:
    """The function with the variables that the template gives it, over a stack's tables."""
    with aws_stack() as stack:
        given = {
            **environment("PortalFunction"),
            "NACRE_TOKENS_TABLE": stack.ids["TokensTable"],
            "NACRE_DATA_TABLE": stack.ids["DataTable"],
            "NACRE_QUEUE_URL": stack.ids["PatrolQueue"],
            "NACRE_BLOBS_BUCKET": stack.ids["BlobsBucket"],
            "NACRE_KMS_KEY": stack.ids["NacreKey"],
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        for name in os.environ:
            if name.startswith(("NACRE_", "AWS_")):
                monkeypatch.delenv(name)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        place = Served(_authority(stack))
        settings = Settings.from_environment()
        yield place, console_parts(compose(StackPorts(settings), settings))
        place.close()


def _handler() -> Any:
    path = task("PortalFunction") / "handler.py"
    spec = importlib.util.spec_from_file_location("portal_handler_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.handle


def _authority(stack: Stack) -> Authority:
    tokens, data = (
        DynamoTable(stack.dynamodb, stack.ids[name], now=system_clock)
        for name in ("TokensTable", "DataTable")
    )
    return authority(tokens, data, documents=None, clock=system_clock, rng=Random(1))


def test_an_owner_looks_around_changes_and_erases_on_a_stack(
    served: tuple[Served, Console],
) -> None:
    place, parts = served
    being = place.authority.beings.create("Ann", owner="me").being_id
    parts.memory_services().memory.nodes.add(being, [a_node(1), a_node(2, action="Bo sails")])
    node = f"/beings/{being}/memories/{a_node(2).node_id}"
    results = whole_results(StackPorts(Settings.from_environment()))
    result = results.keep(b'{"content": []}', being=being, caller="t1")
    browser: Any = Browser(place)  # type: ignore[arg-type]
    browser.sign_in()

    seen = {
        page: browser.get(f"/beings/{being}/{page}")
        for page in ("overview", "map", "memories?q=sails", "profile", "history", "relations")
    }
    saved = browser.submit(browser.get(f"{node}/edit"), f"{node}/edit", action="Bo rows")
    pinned = browser.submit(browser.get(node), f"{node}/pin")
    changed = browser.get(node)
    erased = browser.submit(browser.get(f"{node}/forget"), f"{node}/forget")
    export = browser.get(f"/beings/{being}/export/file")

    assert {page: answer.status for page, answer in seen.items()} == dict.fromkeys(seen, 200)
    assert "Bo sails" in seen["memories?q=sails"].text
    assert "2 memories in 1 cluster" in seen["map"].text
    assert (saved.status, pinned.status, erased.status) == (303, 303, 303)
    assert "Bo rows" in changed.text
    assert "pinned" in changed.text
    assert browser.get(node).status == 404
    assert results.read(result, being=being, caller="t1") is None
    assert export["content-type"] == "application/gzip"
    assert export.body[:2] == b"\x1f\x8b"


def test_an_owner_decides_on_a_stack_what_a_being_may_do(served: tuple[Served, Console]) -> None:
    place, parts = served
    being = f"/beings/{place.authority.beings.create('Ann', owner='me').being_id}"
    browser: Any = Browser(place)  # type: ignore[arg-type]
    browser.sign_in()
    pages = {
        (f"{being}/" if group.of_being else "/") + entry.path
        for group in MENU
        for entry in group.entries
    }

    seen = {page: browser.get(page).status for page in pages}
    key = browser.submit(browser.get(f"{being}/model"), f"{being}/model/key", key="sk-test")
    run = browser.submit(browser.get(f"{being}/patrols"), f"{being}/patrols/run")
    task = browser.submit(browser.get(f"{being}/patrols"), f"{being}/patrols/dry-run")
    rules = browser.get(f"{being}/policy")
    allow = '[[rule]]\naction = "allow"\ntool = "*"\n'
    checked = browser.submit(rules, f"{being}/policy/check", text=allow)
    saved = browser.submit(checked, f"{being}/policy/save", text=allow)

    assert seen == dict.fromkeys(pages, 200)
    assert [each.status for each in (key, run, task, saved)] == [303] * 4
    assert "A key was set" in browser.get(f"{being}/model").text
    assert "is not finished yet" in browser.get(task["location"]).text
    assert "own rules, version 1" in browser.get(saved["location"]).text
    assert "sk-test" not in str(parts.table().query(being.replace("/beings/", "B#")).items)


@pytest.mark.slow
def test_a_passkey_is_kept_signs_in_and_is_removed_on_a_stack(
    served: tuple[Served, Console],
) -> None:
    place, _ = served
    owner, other, late = (Browser(place) for _ in range(3))  # type: ignore[arg-type]
    device = Device(HOST, f"https://{HOST}")
    owner.sign_in()

    added = add(owner, device)
    device.counter += 1
    entered = enter(other, device)
    copied = enter(late, device)
    removed = owner.submit(owner.get("/account"), "/account/passkeys/remove")
    device.counter += 1
    gone = enter(late, device)

    assert (added.status, entered.status, removed.status) == (303, 303, 303)
    assert (copied.status, gone.status) == (401, 401)
    assert "went backwards" in said(copied)
    assert "was removed" in said(gone)
