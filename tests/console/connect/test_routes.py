"""The page that connects clients, and the key of a language model."""

import json
import re
from base64 import b64decode
from html import unescape
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from nacre.console.connect.recipes import recipes
from tests.console.conftest import Desk

CLIENTS = (
    "Claude Code",
    "Claude Desktop",
    "claude.ai",
    "ChatGPT",
    "Cursor",
    "VS Code",
    "Codex",
    "Gemini CLI",
)


def test_each_client_has_the_url_of_the_being(desk: Desk) -> None:
    page = desk.get("connect")
    url = f"{desk.place.base}/mcp/{desk.being}"

    sections = re.findall(r"<section class=\"card recipe\".*?</section>", page.text, re.DOTALL)
    told = {re.findall(r"<h2>(.*?)</h2>", each)[0]: unescape(each) for each in sections}

    assert set(CLIENTS) <= set(told)
    assert all(url in each for each in told.values())
    warned = {name for name, each in told.items() if 'class="warning"' in each}
    is_laptop = desk.place.base.startswith("http://127")
    assert warned == ({"Claude Desktop", "claude.ai", "ChatGPT"} if is_laptop else set())
    assert 'src="/static/copy.js?v=' in page.text


def test_links_that_open_a_client_hold_its_configuration() -> None:
    url = "https://nacre.example/mcp/b"
    links = {each.key: [step.opened for step in each.steps if step.opened] for each in recipes(url)}

    [cursor] = links["cursor"]
    config = parse_qs(urlsplit(cursor).query)["config"][0]
    assert cursor.startswith("cursor://anysphere.cursor-deeplink/mcp/install?name=nacre&")
    assert json.loads(b64decode(config)) == {"url": url}
    [code] = links["vs-code"]
    scheme, _, encoded = code.partition("?")
    assert scheme == "vscode:mcp/install"
    assert json.loads(unquote(encoded)) == {"name": "nacre", "type": "http", "url": url}


def test_claude_desktop_on_the_same_machine_starts_the_server_itself() -> None:
    url = "http://127.0.0.1:8642/mcp/b"
    local = {each.key: each for each in recipes(url, ["/opt/nacre", "mcp-server", "--being", "b"])}
    remote = {each.key: each for each in recipes(url)}

    desktop = local["claude-desktop"]
    [entry] = [json.loads(step.copied) for step in desktop.steps if step.copied]
    assert entry == {
        "mcpServers": {"nacre": {"command": "/opt/nacre", "args": ["mcp-server", "--being", "b"]}}
    }
    assert not desktop.needs_internet
    assert local["claude-ai"].needs_internet
    assert remote["claude-desktop"].needs_internet


def test_a_key_is_kept_sealed_and_never_shown(desk: Desk) -> None:
    page = desk.get("model")
    assert "No key is set." in page.text

    kept = desk.submit(page, "model", "key", key="  sk-ant-geheim  ")

    assert "The key was saved, encrypted." in kept.text
    assert "geheim" not in kept.text
    assert desk.controls.keys.stored(desk.being) == "sk-ant-geheim"
    assert "geheim" not in desk.place.dump()
    gone = desk.submit(kept, "model", "key", "clear")
    assert "The key was deleted." in gone.text
    assert desk.controls.keys.status(desk.being) is None


@pytest.mark.parametrize("key", ["", "two words", "x" * 2000, "schlüssel"])
def test_what_is_no_key_is_refused_and_not_repeated(desk: Desk, key: str) -> None:
    answer = desk.browser.submit(desk.get("model"), desk.at("model", "key"), key=key)

    assert answer.status == 400
    assert not key or key not in answer.text
    assert desk.controls.keys.status(desk.being) is None


def test_the_page_says_what_a_key_is_used_for(desk: Desk) -> None:
    text = " ".join(desk.get("model").text.split())

    assert "orders and patrols, and a call may bring another key" in text
