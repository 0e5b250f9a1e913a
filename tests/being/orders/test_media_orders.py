"""Orders with images and files, from the client to the model and back, on every face."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.core.limits import LAMBDA_MEDIA_BYTES, MAX_MEDIA_BYTES
from tests.being.orders.conftest import World
from tests.being.orders.documents import SAMPLES, pdf, png, sent
from tests.cli.processes import Server, finish, serving, start
from tests.scaffolding.model_server import ModelServer, model_server, saying

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def user_content(model: ModelServer) -> Any:
    """Return the content of the user's message as the model got it."""
    return model.questions[-1].body["messages"][-1]["content"]


@pytest.mark.requirement("001.media.images")
@pytest.mark.requirement("001.media.files")
def test_what_comes_with_an_order_reaches_the_model(world: World, model: ModelServer) -> None:
    zipped = SAMPLES["application/zip"]

    text = world.text(
        "What is this?",
        images=[sent(png(), "image/png", "shell.png")],
        files=[
            sent(b"# Notes", "text/markdown", "../notes.md"),
            sent(zipped, "application/zip"),
        ],
    )

    assert text == "Very well."
    message, shell, picture, notes, archive = user_content(model)
    assert message == {"type": "text", "text": "What is this?"}
    assert shell["text"].startswith("[attachment 1: shell.png, image/png, ")
    url = "data:image/png;base64," + base64.b64encode(png()).decode()
    assert picture == {"type": "image_url", "image_url": {"url": url}}
    assert notes["text"] == (
        "[attachment 2: notes.md, text/markdown, 7 bytes]\n```markdown\n# Notes\n```"
    )
    assert archive["text"].startswith(
        "[attachment 3: file-2.zip, application/zip, 22 bytes, not op"
    )


def test_an_image_that_is_an_archive_stops_the_order(world: World, model: ModelServer) -> None:
    zipped = sent(SAMPLES["application/zip"], "image/png", "cat.png")

    assert world.error("Look", images=[zipped]) == (
        "Error: images[0] (cat.png): it is declared as image/png, but looks like application/zip"
    )
    assert model.questions == []


@pytest.mark.parametrize("extra", [0, 1])
def test_an_order_through_lambda_carries_4_5_mb(
    world: World, model: ModelServer, extra: int
) -> None:
    images = [sent(png(LAMBDA_MEDIA_BYTES - 1_000_000 + extra), "image/png")]
    files = [sent(b"a" * 1_000_000, "text/plain")]

    if world.face is None or not extra:
        assert world.text("Look", images=images, files=files) == "Very well."
        assert len(user_content(model)) == 4
    else:
        assert world.error("Look", images=images, files=files) == (
            "Error: attachments are 4.500001 MB; this deployment accepts 4.5 MB per call"
            " (AWS Lambda). Use the local server or fewer files."
        )
        assert model.questions == []


# Real processes, and what they take of memory.


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as server:
        server.reply = saying("A shell.")
        for name, value in {
            "NACRE_HOME": str(tmp_path / "nacre"),
            "NACRE_LLM_BASE_URL": server.url,
            "NACRE_LLM_API_KEY": "any",
            "NACRE_LLM_MODEL": "m",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def order(message: str, **media: Any) -> dict[str, Any]:
    arguments = {"message": message, **media}
    params = {"name": "order_being", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


Ask = Callable[[dict[str, Any]], dict[str, Any]]


def over_stdio(process: "subprocess.Popen[str]") -> Ask:
    def ask(message: dict[str, Any]) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(message, ensure_ascii=False) + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    return ask


def over_http(server: Server, path: str, token: str) -> Ask:
    def ask(message: dict[str, Any]) -> dict[str, Any]:
        status, answer = server.post(path, token, message)
        assert status == 200, answer
        reply: dict[str, Any] = answer
        return reply

    return ask


@pytest.fixture(params=["stdio", "http"])
def talking(request: pytest.FixtureRequest, home: ModelServer) -> Iterator[tuple[Ask, int]]:
    """A way to ask a real process, and its number."""
    if request.param == "stdio":
        with start("mcp-server", stdin=subprocess.PIPE) as process:
            yield over_stdio(process), process.pid
            process.communicate(timeout=60)
        return
    with serving() as server:
        token = said("token", "create", "--scope", "full")
        (being,) = json.loads(said("being", "list", "--json"))
        yield over_http(server, f"/{being['being_id']}", token), server.process.pid


def said(*arguments: str) -> str:
    code, out, err = finish(start(*arguments))
    assert code == 0, err
    return out.strip()


@pytest.mark.slow
@pytest.mark.requirement("001.media.files")
def test_a_session_with_an_image_and_a_pdf(talking: tuple[Ask, int], home: ModelServer) -> None:
    ask, _ = talking

    answer = ask(
        order(
            "What do you see?",
            images=[sent(png(), "image/png", "shell.png")],
            files=[sent(pdf("Pearls grow slowly."), "application/pdf", "report.pdf")],
        )
    )

    assert answer["result"]["content"] == [{"type": "text", "text": "A shell."}]
    assert "1 of 1 pages]\n```\nPearls grow slowly.\n```" in user_content(home)[-1]["text"]


@pytest.mark.slow
@linux
@pytest.mark.parametrize("message", ["What is this?", "貝 🐚?"])
def test_an_order_takes_three_times_its_attachments_at_most(
    talking: tuple[Ask, int], message: str
) -> None:
    ask, pid = talking
    ask(order("Load what an order needs.", images=[sent(png(), "image/png")]))
    images = [sent(png(MAX_MEDIA_BYTES), "image/png")] * 4
    before = resident(pid)

    answer = ask(order(message, images=images))

    grown = (peak(pid) - before) / (4 * MAX_MEDIA_BYTES)
    print(f"an order of {4 * MAX_MEDIA_BYTES / 1e6:.0f} MB takes {grown:.2f} times as much")
    assert answer["result"]["content"][0]["text"] == "A shell."
    assert grown <= 3


def resident(pid: int) -> int:
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
    return _kilobytes(pid, "VmRSS")


def peak(pid: int) -> int:
    return _kilobytes(pid, "VmHWM")


def _kilobytes(pid: int, name: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith(name)]
    return int(line.split()[1]) * 1024
