"""A real server through a mixed session with canaries everywhere: what is left of them after.

The functions' logs are held to the same by tests/functions/test_log_content.py.
"""

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from nacre.access.tokens.token_format import kind_of
from nacre.core.token_prefixes import SCANNER_PATTERN
from tests.cli.processes import Server, finish, serving, start
from tests.end_to_end.attacks.rows import attack
from tests.end_to_end.attacks.wire import Wire, link
from tests.functions.test_log_content import filled
from tests.scaffolding.model_server import model_server
from tests.scaffolding.oauth import asking, connected, exchange, register, renew, tokens_of
from tests.scaffolding.web_site import Browser, form_of

pytestmark = pytest.mark.slow

WORD = "qzcanary"  # in every memory, name and argument
KEYS = {
    "by header": f"sk-{WORD}-of-a-caller-0123456789",
    "of the server": f"sk-{WORD}-of-the-server-0123456789",
    "kept": f"sk-{WORD}-of-a-being-0123456789",
}
PASSWORD = f"four slow {WORD} snails"


class Session:
    """Everything that somebody does with a server in a day, right and wrong."""

    def __init__(self, server: Server, folder: Path, being: str, token: str) -> None:
        self.wire = Wire(server.url.removesuffix("/mcp"))
        self.folder = folder
        self.path = f"/mcp/{being}"
        self.being = being
        self.token = token
        self.secrets = [token, PASSWORD, *KEYS.values()]

    def call(self, token: str, method: str, **params: Any) -> Any:
        headers = {
            "authorization": f"Bearer {token}",
            "mcp-protocol-version": "2025-11-25",
            "x-llm-api-key": KEYS["by header"],
            "user-agent": WORD,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.wire.post_json(self.path, body, headers)

    def use_every_tool(self) -> None:
        tools = self.call(self.token, "tools/list").json["result"]["tools"]
        assert len(tools) > 10
        for tool in tools:
            for arguments in (filled(tool["inputSchema"]), {WORD: WORD}, {"query": {WORD: 1}}):
                assert self.call(
                    self.token, "tools/call", name=tool["name"], arguments=_marked(arguments)
                ).status in (200, 400)
        self.call(self.token, "tools/call", name=f"{WORD}_tool", arguments={})
        self.call(self.token, "resources/read", uri=f"nacre://{WORD}")
        self.call(self.token, f"{WORD}/method")
        self.call(self.token, "tools/list", cursor=WORD)
        # As a model may: in the place of a name, which a record is about.
        self.call(self.token, "tools/call", name=self.token, arguments={})
        self.call(self.token, "tools/call", name="recall", arguments={self.token: "x"})
        self.call(self.token, "tools/call", name="recall", arguments={self.token: {"x": 1}})

    def send_secrets_to_wrong_places(self) -> None:
        for secret in self.secrets:
            plain = re.sub(r"[^\w-]", "_", secret)
            self.wire.get(f"{self.path}?token={plain}&{WORD}={WORD}")
            self.wire.get(f"/mcp/{plain}", {"authorization": f"Bearer {secret}"})
            self.wire.get(f"/{plain}/{WORD}", {"cookie": f"{plain}={plain}"})
            self.call(secret, "ping")
            self.wire.post_json(self.path, f"{{{secret}".encode(), {"authorization": secret})
            self.wire.post_form("/token", {"grant_type": secret, "client_id": secret})
            self.wire.post_json("/register", {"redirect_uris": [secret], "client_name": secret})
            self.wire.get(asking(self.wire.site(), secret, state=secret))

    def log_in_a_client(self, owner: Browser) -> None:
        site = self.wire.site()
        client_id, tokens = connected(site, owner)
        newer = tokens_of(renew(site, client_id, tokens.refresh))
        self.secrets += [tokens.access, tokens.refresh, newer.access, newer.refresh]
        assert self.call(newer.access, "ping").status == 200
        other = register(site, token_endpoint_auth_method="client_secret_post")
        self.secrets.append(other["client_secret"])
        exchange(site, other["client_id"], newer.access, client_secret=other["client_secret"])

    def be_the_owner(self) -> Browser:
        owner = self.wire.browser()
        secret = link(self.wire.base, self.folder)
        assert owner.sign_in(secret).status == 303
        self.secrets += [secret, *owner.cookies.values()]
        account = owner.get("/account")
        self.secrets.append(form_of(account, "/account/password")["csrf"])
        changed = owner.submit(account, "/account/password", password=PASSWORD, again=PASSWORD)
        assert changed.status == 303
        page = owner.get(f"/beings/{self.being}/model")
        kept = owner.submit(page, f"/beings/{self.being}/model/key", key=KEYS["kept"])
        assert kept.status == 303
        for path in ("memories?q=", "history?q=", "audit?tool=", "policy?text="):
            assert owner.get(f"/beings/{self.being}/{path}{WORD}").status == 200
        assert owner.get(f"/beings/{self.being}/export/file").status == 200
        wrong = self.wire.browser()
        wrong.submit(wrong.get("/sign-in"), "/sign-in", owner=WORD, password=f"{PASSWORD}!")
        return owner


def _marked(value: Any) -> Any:
    """Return the same with our own word in every text."""
    match value:
        case str():
            return value.replace("canary", WORD)
        case dict():
            return {name: _marked(each) for name, each in value.items()}
        case list():
            return [_marked(each) for each in value]
        case _:
            return value


def _said(*command: str) -> str:
    code, out, err = finish(start(*command))
    assert code == 0, err
    return out


@attack("N8")
def test_nothing_is_left_of_what_was_said_or_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    where = ("--data-dir", str(folder))
    with model_server() as model:
        monkeypatch.setenv("NACRE_LLM_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("NACRE_LLM_API_KEY", KEYS["of the server"])
        monkeypatch.setenv("NACRE_LOG_LEVEL", "DEBUG")
        with serving(*where) as server:
            [being] = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", _said("being", "list", *where))[:1]
            told = _said("token", "create", "--being", being, "--scope", "full", *where)
            token = next(each for each in re.findall(SCANNER_PATTERN, told) if kind_of(each))
            session = Session(server, folder, being, token)
            owner = session.be_the_owner()
            session.use_every_tool()
            session.log_in_a_client(owner)
            session.send_secrets_to_wrong_places()
            code, _, logged = server.stop(signal.SIGTERM)

    # Standard output showed a token and a link, once, to who started it; the log is the other.
    assert code == 0
    assert len(logged.splitlines()) > 60
    audit = "".join(path.read_text() for path in folder.rglob("*.jsonl"))
    stored = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert audit.count("\n") > 20
    assert WORD not in logged
    # A record is about a name: of a tool, and of arguments. It holds nothing of their values.
    assert WORD not in re.sub(r'"(tool|name)":"[^"]*"|"shape":\{[^}]*\}', "", audit)
    for text in (logged, audit, stored.decode("latin-1")):
        assert [each for each in session.secrets if each in text] == []
        assert [each for each in re.findall(SCANNER_PATTERN, text) if kind_of(each)] == []
