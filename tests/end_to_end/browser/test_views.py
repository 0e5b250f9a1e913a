"""Views (MCP Apps) in Chromium, shown by the host's half of the official library."""

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Frame, Page, Route

from infra.browser import NARROW, WIDE, Window, window
from nacre.protocol.views import VIEW_TYPE, VIEWS
from tests.end_to_end.browser.places import Place, sampled

pytestmark = pytest.mark.slow

HOST = "http://view-host.test"
TOOLS = Path(__file__).parents[3] / ".tools" / "node"
BUNDLE = """
const { build } = await import("vite");
const built = await build({ root: process.cwd(), configFile: false, logLevel: "error",
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: { write: false, minify: false, lib: { entry: process.argv[1], formats: ["es"] } } });
process.stdout.write((Array.isArray(built) ? built[0] : built).output[0].code);
"""


@pytest.fixture(scope="module")
def host_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The host page's script in one file, with the official library in it."""
    if not (TOOLS / "node_modules" / "vite").is_dir():
        pytest.skip("needs npm's packages: run `make browser`")
    entry = TOOLS / f"view-host-{tmp_path_factory.getbasetemp().name}.mjs"
    entry.write_text(Path(__file__).with_name("view_host.mjs").read_text())
    try:
        done = subprocess.run(
            ["node", "--input-type=module", "-e", BUNDLE, str(entry)],
            cwd=TOOLS,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        entry.unlink()
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with sampled(tmp_path_factory.mktemp("sample") / "data") as made:
        yield made


class Client:
    """A client that declares views, by the token of the sample."""

    def __init__(self, place: Place) -> None:
        assert place.sample is not None
        self._sample, self._base = place.sample, place.base
        self.called: list[str] = []
        extensions = {VIEWS: {"mimeTypes": [VIEW_TYPE]}}
        info = {"name": "test-host", "version": "1.0.0"}
        self.send(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={"extensions": extensions},
            clientInfo=info,
        )

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection(urlsplit(self._base).netloc, timeout=60)
        headers = {
            "authorization": f"Bearer {self._sample.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
            "user-agent": "test-host/1.0.0",
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        path = f"/mcp/{self._sample.being_id}"
        connection.request("POST", path, json.dumps(message), headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        assert "error" not in answer, answer
        return answer["result"]  # type: ignore[no-any-return]

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.send("tools/call", name=name, arguments=arguments)

    def answer(self, params: str) -> str:
        """Pass on the call of a view, as a host does for tools that the view may call."""
        call = json.loads(params)
        self.called.append(call["name"])
        listed = {tool["name"] for tool in self.send("tools/list")["tools"]}
        assert call["name"] in listed
        return json.dumps(self.call(call["name"], **call["arguments"]))


@contextmanager
def hosted(
    browser: Browser, script: str, client: Client, size: tuple[int, int] = WIDE
) -> Iterator[Window]:
    """Open the page of a client that shows views; nothing may go wrong or leave the page."""
    with window(browser, HOST, size=size) as made:
        page = made.page
        page.route(
            f"{HOST}/",
            lambda route: route.fulfill(
                content_type="text/html",
                body='<!doctype html><html lang="en"><title>Host</title><body>'
                '<script type="module" src="/host.js"></script>',
            ),
        )
        page.route(
            f"{HOST}/host.js",
            lambda route: route.fulfill(content_type="text/javascript", body=script),
        )
        page.route(f"{HOST}/favicon.ico", lambda route: route.fulfill(status=204))
        page.expose_function("callTool", client.answer)
        made.go("/")
        page.wait_for_function("Boolean(window.showView)")
        yield made


def show(page: Page, client: Client, name: str, **arguments: Any) -> Frame:
    """Call a tool and show its result in the view that its definition names."""
    tool = next(tool for tool in client.send("tools/list")["tools"] if tool["name"] == name)
    [document] = client.send("resources/read", uri=tool["_meta"]["ui"]["resourceUri"])["contents"]
    result = client.call(name, **arguments)
    page.evaluate("([html, result]) => showView(html, result)", [document["text"], result])
    frame = page.frames[-1]
    frame.wait_for_selector("main h1, main article, main .empty")
    return frame


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_from_the_map_to_a_corrected_memory(
    browser: Browser, place: Place, host_script: str, size: tuple[int, int]
) -> None:
    client = Client(place)
    with hosted(browser, host_script, client, size) as made:
        frame = show(made.page, client, "show_map")
        assert frame.locator("svg a circle.dot").count() >= 30
        assert frame.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"

        dot = frame.locator("svg a:has(circle.dot)").first
        dot.dispatch_event("click")
        frame.wait_for_selector("#corrected")
        text = f"Ann <b>eats</b> {size[0]} tomatoes & „Brot“ 庭"
        frame.fill("#corrected", text)
        frame.locator("button", has_text="Save").focus()
        made.page.keyboard.press("Enter")
        frame.locator("#told", has_text="Corrected.").wait_for()

        assert frame.locator("article .text").inner_text() == text
        assert frame.locator("article b").count() == 0
        assert client.called == ["show_memory", "update_memory", "show_memory"]
        assert (
            frame.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            <= 0
        )
        assert made.wrong == []


def test_the_cluster_of_the_legend_opens_and_leads_back(
    browser: Browser, place: Place, host_script: str
) -> None:
    client = Client(place)
    with hosted(browser, host_script, client) as made:
        frame = show(made.page, client, "show_map")
        frame.locator(".legend a").first.click()
        frame.get_by_role("link", name="The whole map").click()
        frame.wait_for_selector(".legend")

        assert client.called == ["show_map", "show_map"]
        assert made.wrong == []


def test_an_approval_leads_to_its_owners_console(
    browser: Browser, place: Place, host_script: str
) -> None:
    client = Client(place)
    tom = {"entity_name": "Tom", "relation_type": "person", "action": "upsert"}
    assert client.call("update_relation", **tom, content="<img src=x>")["isError"] is True
    with hosted(browser, host_script, client) as made:
        frame = show(made.page, client, "show_approvals")
        assert "update_relation" in frame.locator("article").first.inner_text()
        frame.get_by_role("button", name="Check again").click()
        frame.get_by_role("button", name="Decide in the console").click()
        made.page.wait_for_function("window.opened.length === 1")

        assert made.page.evaluate("window.opened") == [f"{place.base}/approvals"]
        assert client.called == ["show_approvals"]
        assert made.wrong == []
    assert client.call("update_relation", **tom, content="<img src=x>")["isError"] is True


HOSTILE = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    f"<img src='{HOST}/leak'>",
    f"<iframe src='{HOST}/leak'></iframe>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    f"<link rel=stylesheet href='{HOST}/leak'>",
    f"<svg><image href='{HOST}/leak'/><animate onbegin='window.ran = 1' dur=1s></svg>",
    "<p style='position: fixed; inset: 0'>over everything</p>",
    f"<style>@import '{HOST}/leak'; body {{ background: url({HOST}/leak) }}</style>",
    "<a href='javascript:window.ran = 1'>click</a>",
)


def test_html_from_a_hostile_host_runs_nothing_and_reaches_nobody(
    browser: Browser, place: Place, host_script: str
) -> None:
    client = Client(place)
    with hosted(browser, host_script, client) as made:
        reached: list[str] = []

        def leak(route: Route) -> None:
            reached.append(route.request.url)
            route.fulfill(status=200, body="")

        frame = show(made.page, client, "show_map")
        # A request that the view's policy stops never comes here.
        made.page.route(re.compile(r"/(?:leak|x)$"), leak)
        for html in HOSTILE:
            result = {"content": [], "_meta": {"nacre/view": f"<h2>next</h2>{html}"}}
            made.page.evaluate("result => sendResult(result)", result)
            frame.wait_for_selector("h2")
            for link in frame.locator("main a").all():
                link.click()
            made.page.wait_for_function(
                "() => new Promise(done => setTimeout(() => done(true), 50))"
            )
            assert frame.evaluate("window.ran") is None, html
            assert (
                frame.locator("main p").count() == 0
                or frame.evaluate("getComputedStyle(document.querySelector('main p')).position")
                == "static"
            )
        assert reached == []
        assert client.called == []
        made.page.evaluate(f"fetch('{HOST}/leak')")  # the host itself can, so the test would see it
        assert reached == [f"{HOST}/leak"]
