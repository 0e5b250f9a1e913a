"""A language model in a patrol, from the header of a call over HTTP to the provider."""

import json
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from nacre.core.logs import Log
from nacre.faces.http.laptop_server import asgi_app
from nacre.protocol.http import error_map
from nacre.protocol.principal import FULL
from nacre.wiring.compose import Home
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.settings import Secret, Settings
from tests.scaffolding.asgi_server import served
from tests.scaffolding.model_server import (
    ModelServer,
    Question,
    Response,
    failing,
    model_server,
    saying,
)

KEY = "sk-from-the-header"
SCENE = {
    "action": "Mia adopted a cat named Fern",
    "actors": ["Mia"],
    "when": ["2026-03-01"],
    "setting": None,
    "feeling": None,
    "themes": ["pets"],
    "importance": 0.6,
    "messages": [1],
}


@pytest.fixture(autouse=True)
def nobodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def sensible(question: Question) -> Response:
    """Answer what is asked, as a model does."""
    fields = question.body["response_format"]["json_schema"]["schema"]["properties"]
    answers: dict[str, Any] = {
        "scenes": {"scenes": [SCENE]},
        "merge": {"merge": [], "action": None, "feeling": None, "supersede": []},
        "split": {"split": False, "first_label": "", "second_label": ""},
        "label": {"label": "Fern the cat", "digest": "Mia has a cat."},
        "diary": {"diary": "I heard of a cat."},
        "notes": {"notes": ["Fern is a cat."]},
    }
    return saying(answers[next(iter(fields))])(question)


@dataclass(frozen=True)
class World:
    """A server on this machine, its provider, and what it wrote into its log."""

    url: str
    token: str
    laptop: Home
    being_id: str
    provider: ModelServer
    log: StringIO
    folder: Path
    left: list[str] = field(default_factory=list)  # what the Being's items are at the end

    def patrol(self, *texts: str, key: str | None = None) -> dict[str, Any]:
        """Call trigger_patrol as a client does."""
        messages = [{"role": "user", "content": text} for text in texts]
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "trigger_patrol", "arguments": {"messages": messages}},
        }
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
            **({"x-llm-api-key": key} if key else {}),
        }
        request = urllib.request.Request(
            f"{self.url}/{self.being_id}", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
        data = text if text.startswith("{") else text.rpartition("data: ")[2]
        result: dict[str, Any] = json.loads(data)["result"]
        return result

    def report(self, *texts: str, key: str | None = None) -> dict[str, Any]:
        result = self.patrol(*texts, key=key)
        assert not result.get("isError"), result
        report: dict[str, Any] = json.loads(result["content"][0]["text"])
        return report


@contextmanager
def world(folder: Path, *, deployment: str = "") -> Iterator[World]:
    with model_server() as provider:
        provider.reply = sensible
        settings = Settings(
            str(folder),
            llm_base_url=provider.url,
            llm_model="some-model",
            llm_api_key=Secret(deployment),
        )
        laptop = open_laptop(folder, settings)
        being = first_being(laptop)
        assert being is not None
        issued = laptop.tokens.issue(
            "brt",
            being_id=being.being_id,
            owner=being.owner,
            scopes=FULL,
            lifetime=timedelta(hours=1),
        )
        log = StringIO()

        @asynccontextmanager
        async def working() -> AsyncIterator[None]:
            loop = laptop.worker_loop(lambda outcome: print(outcome, file=log), error_map)
            loop.start()
            yield
            assert loop.stop(60)

        app = asgi_app(
            laptop.application,
            admit=lambda request, path, query: laptop.gate.admit(
                authorization=request.headers.get("authorization"),
                path_being=path,
                query_being=query,
            ),
            log=Log("debug", log),
            lifespan=working,
        )
        try:
            with served(app) as url:
                ann = World(url, issued.token, laptop, being.being_id, provider, log, folder)
                yield ann
            # A patrol is done before its job is: the job ends with the server at the latest.
            items = laptop.data.query(f"B#{being.being_id}").items
            ann.left.extend(str(item["sk"]) for item in items)
        finally:
            laptop.close()


@pytest.mark.requirement("003.llm-key.header")
def test_a_header_lets_one_patrol_think_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with world(tmp_path / "data") as ann:
        report = ann.report("I adopted a cat, she is called Fern", key=KEY)

    assert (report["status"], report["scenes_created"], report["nodes_created"]) == ("ok", 1, 1)
    assert {question.key for question in ann.provider.questions} == {f"Bearer {KEY}"}
    assert not [name for name in ann.left if name.startswith("SECRET#")]
    assert any(name.startswith("SPEND#") for name in ann.left)
    files = [path.read_bytes() for path in ann.folder.rglob("*") if path.is_file()]
    assert KEY.encode() not in b"".join(files)
    assert KEY not in ann.log.getvalue()
    assert "Fern" not in ann.log.getvalue()


@pytest.mark.requirement("003.llm-key.stored")
def test_without_it_the_stored_key_of_the_being_thinks(tmp_path: Path) -> None:
    with world(tmp_path / "data", deployment="sk-deployment") as ann:
        ann.laptop.llm_keys.set(ann.being_id, "sk-stored")
        report = ann.report("I adopted a cat, she is called Fern")

    assert report["scenes_created"] == 1
    assert {question.key for question in ann.provider.questions} == {"Bearer sk-stored"}


@pytest.mark.requirement("003.llm-key.none")
def test_without_any_key_the_patrol_runs_and_says_what_it_skipped(tmp_path: Path) -> None:
    with world(tmp_path / "data") as ann:
        report = ann.report("I adopted a cat, she is called Fern")

    assert (report["status"], report["scenes_created"]) == ("ok", 0)
    assert any("no_llm" in reason for reason in report["reasons"])
    assert ann.provider.questions == []


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_provider_that_fails_leaves_the_messages_for_the_next_patrol(
    tmp_path: Path, status: int
) -> None:
    with world(tmp_path / "data") as ann:
        ann.provider.reply = failing(status, retry_after="0")
        first = ann.report("I adopted a cat, she is called Fern", key=KEY)
        ann.provider.reply = sensible
        second = ann.report(key=KEY)

    assert (first["status"], first["scenes_created"]) == ("ok", 0)
    assert any("gave no answer" in reason for reason in first["reasons"])
    assert not any(word in str(first) for word in (KEY, "Fern"))
    assert second["scenes_created"] == 1
    assert not [name for name in ann.left if name.startswith("SECRET#")]


def test_a_header_that_is_no_key_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with world(tmp_path / "data") as ann:
        result = ann.patrol("hello", key="sk with blanks")

    assert result["isError"] is True
    assert "not the key of a language model provider" in result["content"][0]["text"]
    assert "with blanks" not in str(result)
    assert ann.provider.questions == []
