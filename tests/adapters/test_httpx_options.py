"""Clients of vendors connect as Nacre does: models at an endpoint, and Qdrant."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest

from nacre.adapters.httpx_options import httpx_options
from nacre.adapters.openai.chat import OpenAIChats
from nacre.adapters.openai.embedder import OpenAIEmbedder
from nacre.adapters.openai.model import OpenAIModel
from nacre.adapters.openai.transcriber import OpenAITranscriber
from nacre.adapters.qdrant.calls import connect
from nacre.http_client.outgoing import Outgoing
from nacre.http_client.proxies import Proxies
from tests.scaffolding.certificates import Authority
from tests.scaffolding.connect_proxy import connect_proxy
from tests.scaffolding.server_threads import answering

ANSWERS: dict[str, Any] = {
    "/v1/chat/completions": {"choices": [{"message": {"content": '{"a": 1}'}}]},
    "/v1/embeddings": {"data": [{"index": 0, "embedding": [1.0] * 8}]},
    "/v1/audio/transcriptions": {"text": "hello"},
    "/collections": {"result": {"collections": []}, "status": "ok", "time": 0.0},
}


@contextmanager
def endpoint(tls: ssl.SSLContext | None) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(ANSWERS[self.path]).encode()
            self.rfile.read(int(self.headers["content-length"] or 0))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that the base class looks for

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with answering(server):
        yield server.server_port


def use_everything(outgoing: Outgoing, base: str) -> None:
    async def chat() -> None:
        chat = OpenAIChats(outgoing).open("m", key="k", base_url=f"{base}/v1")
        answer = await chat.complete([], [], may_call=False, max_tokens=9, seconds=30)
        assert answer.text == '{"a": 1}'
        await chat.close()

    asyncio.run(chat())
    model = OpenAIModel("m", key="k", base_url=f"{base}/v1", outgoing=outgoing)
    assert model.ask(system="s", user="u", schema={}, max_tokens=9).text == '{"a": 1}'
    embedder = OpenAIEmbedder("m", 8, key=lambda: "k", base_url=f"{base}/v1", outgoing=outgoing)
    assert len(embedder.query("text")) == 32
    transcriber = OpenAITranscriber("m", key=lambda: "k", base_url=f"{base}/v1", outgoing=outgoing)
    assert transcriber.transcribe(b"x", name="x", mime_type="audio/wav").text == "hello"
    qdrant = connect(base, "", outgoing)
    assert qdrant.get_collections().collections == []
    qdrant.close()


@pytest.mark.parametrize("is_secure_proxy", [False, True])
def test_endpoints_elsewhere_are_reached_through_the_proxy(
    tmp_path: Path, *, is_secure_proxy: bool
) -> None:
    authority = Authority(tmp_path)
    proxy_tls = authority.server("localhost") if is_secure_proxy else None
    with (
        endpoint(authority.server("far.example")) as port,
        connect_proxy(credentials="ann:s3%40cret", tls=proxy_tls) as proxy,
    ):
        proxy.credentials, url = "ann:s3@cret", proxy.url
        outgoing = Outgoing(Proxies(url, url), authority.file)
        use_everything(outgoing, f"https://far.example:{port}")
    assert proxy.asked == [f"CONNECT far.example:{port}"] * 5


def test_the_systems_authorities_are_trusted_and_no_other_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, bundled, system = (
        Authority(tmp_path / name, name) for name in ("own", "bundled", "system")
    )
    monkeypatch.setattr(certifi, "where", lambda: bundled.file)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert answers(own, ca_file=own.file)
    assert not answers(bundled, ca_file=own.file)
    monkeypatch.setenv("SSL_CERT_FILE", system.file)
    assert answers(system, ca_file=bundled.file)


def answers(authority: Authority, *, ca_file: str) -> bool:
    with endpoint(authority.server("localhost")) as port:
        url = f"https://localhost:{port}"
        with httpx.Client(**httpx_options(Outgoing(ca_file=ca_file), url)) as client:
            try:
                return client.get(f"{url}/collections").status_code == 200
            except httpx.ConnectError:
                return False


def test_endpoints_on_this_machine_are_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with endpoint(None) as port:
        nobody = Proxies("http://127.0.0.1:9", "http://127.0.0.1:9")
        use_everything(Outgoing(nobody), f"http://localhost:{port}")
