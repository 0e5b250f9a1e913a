"""Servers that people use, set up as the guide's pages say: what the pages promise of each."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from infra.browser import chromium_path
from tests.end_to_end.clients.guide_server import WAYS, Client, kill_programs, talk
from tests.end_to_end.clients.postgres import postgres
from tests.end_to_end.clients.recorded_server import recorded, serving_pages
from tests.scaffolding.server_pages import server_page
from tests.scaffolding.third_party import prepare_repository

pytestmark = pytest.mark.slow

DENIED = "Blocked by policy"
RECORDING = Path(__file__).with_name("github.jsonl")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
by_both_ways = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the folder that the pages call /home/ann."""
    folder = tmp_path / "ann"
    folder.mkdir()
    return folder


@by_both_ways
def test_files_are_read_and_asked_about_and_keys_stay(way: str, tmp_path: Path, home: Path) -> None:
    projects = home / "projects"
    projects.mkdir()
    (projects / "a.txt").write_text("one\ntwo\n")
    (projects / ".env").write_text("KEY=1")
    (home / "b.txt").write_text("outside")
    page = server_page("filesystem").placed({"/home/ann": str(home)})

    async def say(client: Client) -> None:
        tools = await client.tools()
        assert set(tools) == {"read_text_file", "write_file"}
        assert tools["write_file"].annotations.destructive_hint
        assert await client.call("read_text_file", path=f"{projects}/a.txt") == "one\ntwo\n"
        assert await client.call("read_text_file", path=f"{projects}/a.txt", head=1) == "one"
        kept = await client.call("read_text_file", path=f"{projects}/.env")
        assert kept == "! Keys, and what Git runs, stay as they are"
        assert DENIED in await client.call("read_text_file", path=f"{home}/b.txt")
        assert DENIED in await client.call("read_text_file", path=f"{projects}/../b.txt")
        assert DENIED in await client.call("read_multiple_files", paths=[f"{projects}/a.txt"])
        assert "ENOENT" in await client.call("read_text_file", path=f"{projects}/none.txt")
        assert client.asked == []
        assert "Successfully wrote" in await client.call(
            "write_file", path=f"{projects}/c.txt", content="new"
        )
        client.decision = "deny"
        refused = await client.call("write_file", path=f"{projects}/d.txt", content="new")
        assert refused.startswith("! "), refused
        assert len(client.asked) == 2
        assert "write_file" in client.asked[0]

    talk(way, page, page.installed(), tmp_path, say)

    assert sorted(each.name for each in projects.iterdir()) == [".env", "a.txt", "c.txt"]


@by_both_ways
def test_git_is_looked_at_and_a_commit_is_asked_about(way: str, tmp_path: Path, home: Path) -> None:
    site = home / "projects" / "site"
    site.mkdir(parents=True)
    environment = prepare_repository(site)
    git = partial(subprocess.run, cwd=site, check=True, capture_output=True, text=True)
    git(["git", "add", "a.txt"])
    page = server_page("git").placed({"/home/ann": str(home)})
    entry = page.installed()

    async def say(client: Client) -> None:
        here = str(site)
        diffs = {"git_diff_staged", "git_diff_unstaged"}
        assert set(await client.tools()) == {"git_status", "git_commit", *diffs}
        assert "modified:   a.txt" in await client.call("git_status", repo_path=here)
        assert "+second" in await client.call("git_diff_staged", repo_path=here)
        assert DENIED in await client.call("git_status", repo_path=str(home))
        assert DENIED in await client.call("git_checkout", repo_path=here, branch_name="main")
        assert (await client.call("git_diff_staged", repo_path=here, context_lines="x"))[0] == "!"
        client.decision = "deny"
        assert (await client.call("git_commit", repo_path=here, message="No"))[0] == "!"
        client.decision = "allow once"
        assert "committed" in await client.call("git_commit", repo_path=here, message="Yes")
        assert ["Hooks of the repository" in text for text in client.asked] == [True, True]

    talk(way, page, {**entry, "env": environment}, tmp_path, say)

    assert git(["git", "log", "--format=%s"]).stdout.split() == ["Yes", "Begin"]


def test_github_is_read_and_its_workflows_stay(tmp_path: Path) -> None:
    page = server_page("github")
    (header,) = (value for name, value in page.entry["headers"].items() if name == "Authorization")
    assert header == "Bearer ${secret:GITHUB_TOKEN}"
    repository = {"owner": "acme", "repo": "site"}

    async def say(client: Client) -> None:
        tools = await client.tools()
        assert tools["get_file_contents"].annotations.read_only_hint
        result = await client.result("get_file_contents", **repository, path="README.md")
        text = result["content"][1]["resource"]["text"]
        assert text.startswith("# Site\n")
        assert SECRET not in text
        assert DENIED in await client.call(
            "get_file_contents", owner="acme", repo="payroll", path="README.md"
        )
        for path in (".github/workflows/ci.yml", ".GitHub/workflows/ci.yml"):
            given = {"path": path, "content": "on: push", "message": "m", "branch": "main"}
            refused = await client.call("create_or_update_file", **repository, **given)
            assert "Workflows run with" in refused
        missing = await client.call("get_file_contents", **repository, path="none.md")
        assert missing.startswith("! failed to get file contents")
        issue = {"method": "create", "title": "Tea"}
        assert "issues/7" in await client.call("issue_write", **repository, **issue)
        client.decision = "deny"
        assert (await client.call("issue_write", **repository, **issue))[0] == "!"
        assert ["Everybody can read" in text for text in client.asked] == [True, True]

    recording = tmp_path / "github.jsonl"
    recording.write_text(RECORDING.read_text().replace("# Site\\n", f"# Site\\n{SECRET}\\n"))
    with recorded(recording, token="right") as (url, requests):
        here = page.placed({"https://api.githubcopilot.com/mcp/": url})
        records = talk("gateway", here, here.entry, tmp_path, say, GITHUB_TOKEN="right")

    assert {each["x-mcp-toolsets"] for each in requests} == {"repos,issues"}
    assert "right" not in json.dumps(records)


def test_a_token_that_github_refuses_is_named(tmp_path: Path) -> None:
    page = server_page("github")

    async def say(client: Client) -> None:
        assert await client.tools() == {}
        given = {"owner": "acme", "repo": "site", "path": "README.md"}
        assert "refuses its token (HTTP 401)" in await client.call("get_file_contents", **given)

    with recorded(RECORDING, token="right") as (url, _):
        here = page.placed({"https://api.githubcopilot.com/mcp/": url})
        talk("gateway", here, here.entry, tmp_path, say, GITHUB_TOKEN="wrong")


class Site(BaseHTTPRequestHandler):
    """Two pages, and an address that leads elsewhere."""

    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "/tea")
            self.end_headers()
            return
        is_there = self.path in ("/", "/tea")
        body = b"<title>Tea</title><h1>Tea</h1><a href='/away'>More</a>" if is_there else b""
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    with serving_pages(Site) as url:
        yield url


def test_a_browser_goes_where_it_may_and_clicks_if_it_is_allowed(
    tmp_path: Path, home: Path, site: str
) -> None:
    chromium = chromium_path()
    if chromium is None:
        pytest.skip("Chromium is not installed; on Debian: apt-get install chromium")
    page = server_page("playwright").placed({"/home/ann": str(home), "http://localhost:3000": site})
    entry = page.installed("--no-sandbox", "--executable-path", chromium)

    async def say(client: Client) -> None:
        seen = {"browser_navigate", "browser_snapshot", "browser_click"}
        assert set(await client.tools()) == seen
        assert "Page Title: Tea" in await client.call("browser_navigate", url=f"{site}/tea")
        assert 'heading "Tea"' in await client.call("browser_snapshot")
        assert DENIED in await client.call("browser_navigate", url="file:///etc/passwd")
        assert DENIED in await client.call("browser_navigate", url=f"{site}@127.0.0.2/")
        assert DENIED in await client.call("browser_tabs", action="new", url="http://127.0.0.2/")
        assert DENIED in await client.call("browser_evaluate", function="() => 1")
        assert DENIED in await client.call("browser_snapshot", filename="a.md")
        assert "Invalid arguments" in await client.call("browser_click")
        client.decision = "deny"
        assert (await client.call("browser_click", element="More", target="e3"))[0] == "!"
        assert len(client.asked) == 2

    talk("gateway", page, entry, tmp_path, say)


@by_both_ways
def test_postgres_is_asked_one_reading_question_at_a_time(way: str, tmp_path: Path) -> None:
    page = server_page("postgres")
    with postgres() as (port, password):
        here = page.placed({"localhost:5432/shop": f"127.0.0.1:{port}/postgres"})
        entry = here.installed()
        if way == "wrap":
            entry["env"] = {"PGPASSWORD": password}

        async def say(client: Client) -> None:
            schema = f"postgres://agent@127.0.0.1:{port}/orders/schema"
            assert set(await client.tools()) == {"query"}
            assert '"tea"' in await client.call("query", sql="SELECT * FROM orders")
            assert DENIED in await client.call("query", sql="COMMIT; DROP TABLE orders")
            assert DENIED in await client.call("query", sql="DELETE FROM orders")
            assert DENIED in await client.call("query")
            wrong = await client.call("query", sql="SELECT nothing")
            assert wrong == '! -32603: column "nothing" does not exist'
            listed = {str(each.uri) for each in (await client.session.list_resources()).resources}
            assert schema in listed
            assert "integer" in await client.read(schema)
            assert kill_programs("postgresql://") == 1
            if way == "gateway":
                assert '"tea"' in await client.call_after_a_loss("query", sql="SELECT 'tea' AS a")

        talk(way, here, entry, tmp_path, say, SHOP_PASSWORD=password)


@by_both_ways
def test_sqlite_is_read_and_a_change_is_asked_about(way: str, tmp_path: Path, home: Path) -> None:
    import sqlite3

    with closing(sqlite3.connect(home / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE orders (name)")
    page = server_page("sqlite").placed({"/home/ann": str(home)})

    async def say(client: Client) -> None:
        assert set(await client.tools()) == {"read_query", "list_tables", "write_query"}
        assert await client.call("list_tables") == "[{'name': 'orders'}]"
        insert = "INSERT INTO orders VALUES ('tea')"
        assert "affected_rows" in await client.call("write_query", query=insert)
        client.decision = "deny"
        assert (await client.call("write_query", query=insert))[0] == "!"
        assert len(client.asked) == 2
        assert await client.call("read_query", query="SELECT * FROM orders") == "[{'name': 'tea'}]"
        assert DENIED in await client.call("read_query", query=insert)
        assert DENIED in await client.call("read_query", query="SELECT 1; DROP TABLE orders")
        assert DENIED in await client.call("create_table", query="CREATE TABLE a (b)")
        wrong = await client.call("read_query", query="SELECT * FROM none")
        assert wrong == "Database error: no such table: none"
        assert kill_programs("shop.db") == 1
        if way == "gateway":
            assert "orders" in await client.call_after_a_loss("list_tables")

    talk(way, page, page.installed(), tmp_path, say)


def test_pages_are_fetched_from_one_place(tmp_path: Path, site: str) -> None:
    page = server_page("fetch").placed({"https://docs.python.org": site})

    async def say(client: Client) -> None:
        assert set(await client.tools()) == {"fetch"}
        assert "[More](/away)" in await client.call("fetch", url=f"{site}/tea")
        assert "[More](/away)" in await client.call("fetch", url=f"{site}/away")
        assert "404" in await client.call("fetch", url=f"{site}/none")
        assert DENIED in await client.call("fetch", url="http://127.0.0.2/")
        assert DENIED in await client.call("fetch", url="file:///etc/passwd")
        assert DENIED in await client.call("fetch")
        assert client.asked == []
        client.decision = "deny"
        assert (await client.call("fetch", url="https://elsewhere.example/?q=tea"))[0] == "!"
        assert len(client.asked) == 1

    talk("gateway", page, page.installed("--allow-private-ips"), tmp_path, say)

    async def refused(client: Client) -> None:
        assert set(await client.tools()) == {"fetch"}
        assert "not a public address" in await client.call("fetch", url=f"{site}/tea")

    other = tmp_path / "other"
    other.mkdir()
    talk("gateway", page, page.installed(), other, refused)


def test_the_time_is_told_again_after_the_program_was_killed(tmp_path: Path) -> None:
    page = server_page("time")

    async def say(client: Client) -> None:
        assert set(await client.tools()) == {"get_current_time", "convert_time"}
        assert "Asia/Tokyo" in await client.call("get_current_time", timezone="Asia/Tokyo")
        assert (await client.call("get_current_time", timezone="No/Where"))[0] == "!"
        assert (await client.call("get_current_time"))[0] == "!"
        assert kill_programs("--local-timezone") == 1
        tokyo = await client.call_after_a_loss("get_current_time", timezone="Asia/Tokyo")
        assert "Asia/Tokyo" in tokyo

    talk("gateway", page, page.installed(), tmp_path, say)


def test_a_graph_is_written_and_nothing_is_deleted_unasked(tmp_path: Path, home: Path) -> None:
    page = server_page("memory").placed({"/home/ann": str(home)})
    ann = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}

    async def say(client: Client) -> None:
        assert "search_nodes" in await client.tools()
        assert "Ann" in await client.call("create_entities", entities=[ann])
        assert "likes tea" in await client.call("search_nodes", query="tea")
        assert DENIED in await client.call("read_graph")
        assert (await client.call("create_entities", entities="Ann"))[0] == "!"
        client.decision = "deny"
        assert (await client.call("delete_entities", entityNames=["Ann"]))[0] == "!"
        assert len(client.asked) == 1

    talk("gateway", page, page.installed(), tmp_path, say)

    assert "Ann" in (home / "graph.jsonl").read_text()


@by_both_ways
def test_everything_is_tried(way: str, tmp_path: Path) -> None:
    page = server_page("everything")

    async def say(client: Client) -> None:
        tools = await client.tools()
        assert {"echo", "get-tiny-image"} <= set(tools)
        assert "get-env" not in tools
        assert "It shows its environment" in await client.call("get-env")
        assert len(await client.call("echo", message="x" * 100_000)) > 100_000
        assert (await client.call("echo"))[0] == "!"
        steps = {"duration": 0.2, "steps": 2}
        assert "completed" in await client.call("trigger-long-running-operation", **steps)
        assert client.progress == [1, 2]
        image = (await client.result("get-tiny-image"))["content"]
        assert [block["type"] for block in image] == ["text", "image", "text"]
        links = (await client.result("get-resource-links", count=2))["content"]
        assert [block["type"] for block in links] == ["text", "resource_link", "resource_link"]
        weather = await client.result("get-structured-content", location="Chicago")
        assert weather["structuredContent"]["temperature"] == 36
        noted = await client.result("get-annotated-message", messageType="error")
        assert noted["content"][0]["annotations"]["priority"] == 1
        document = "demo://resource/static/document/architecture.md"
        assert "Architecture" in await client.read(document)
        prompts = await client.session.list_prompts()
        assert f"{client.prefix}simple-prompt" in {each.name for each in prompts.prompts}
        assert (await client.session.get_prompt(f"{client.prefix}simple-prompt")).messages
        assert client.asked == []
        asked = {"prompt": "Say something", "maxTokens": 10}
        assert "1 message" in await client.call("trigger-sampling-request", **asked)
        assert client.asked[-1] == "sampling"
        assert "Ann" in await client.call("trigger-elicitation-request")
        client.decision = "deny"
        before = client.asked.count("sampling")
        assert (await client.call("trigger-sampling-request", **asked))[0] == "!"
        assert client.asked.count("sampling") == before

    talk(way, page, page.installed(), tmp_path, say)
