"""Variables that look like settings and have no effect, in commands that run for long."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.wiring.settings import VARIABLES, unknown_variables
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, serving, start

ROOT = Path(__file__).parents[3]
MISSPELT = (
    "NACRE_POLICIES is not a setting, so it has no effect; did you mean NACRE_POLICY?",
    "NACRE_PORT is not a setting, so it has no effect; use the option --port of 'nacre serve'",
)


@pytest.fixture(autouse=True)
def misspelt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_POLICIES", "/private/policy.toml")
    monkeypatch.setenv("NACRE_PORT", "9000")
    monkeypatch.setenv("NACRE_PIPELINE", "1")
    monkeypatch.setenv("NACRE_LOG_LEVEL", "INFO")


def told(err: str) -> list[str]:
    """Return what the JSON lines of a log say about settings."""
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    return [line["said"] for line in lines if line["event"] == "settings"]


def first_lines(*command: str) -> list[str]:
    """Return what a command that goes on says first on standard error, a line for each warning."""
    process = start(*command)
    try:
        assert process.stderr is not None
        return [process.stderr.readline() for _ in MISSPELT]
    finally:
        process.kill()
        process.communicate()


def test_a_server_warns_once_in_its_log() -> None:
    with serving() as server:
        assert server.process.stderr is not None
        lines = [server.process.stderr.readline() for _ in MISSPELT]
        _, _, others = server.stop(signal.SIGTERM)

    assert told("".join(lines)) == [*MISSPELT]
    assert told(others) == []
    assert "/private" not in "".join(lines) + others


def test_a_server_warns_in_the_terminal() -> None:
    lines = first_lines("serve", "--port", "0", "--quiet")

    assert lines == [f"warning: settings said={text}\n" for text in MISSPELT]


def test_a_server_of_one_client_warns(nacre: Nacre) -> None:
    code, out, err = finish(start("mcp-server", stdin=subprocess.PIPE), "")

    assert (code, out) == (0, "")
    assert told(err) == [*MISSPELT]


def test_a_mirror_that_goes_on_warns(nacre: Nacre, tmp_path: Path) -> None:
    nacre("being", "create", "Ann")
    lines = first_lines("mirror", str(tmp_path / "mirror"), "--watch")

    assert lines == [f"warning: {text}\n" for text in MISSPELT]


def test_a_proxy_warns_of_all_but_the_variables_that_its_options_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = [sys.executable, "-c", "pass"]
    monkeypatch.setenv("NACRE_URL", "http://127.0.0.1:9/mcp")
    monkeypatch.setenv("NACRE_BEARER", "abc")
    monkeypatch.setenv("NACRE_HEADER_1", "def")
    options = ["--url-env", "NACRE_URL", "--bearer-env", "NACRE_BEARER"]
    options += ["--header-env", "x-one=NACRE_HEADER_1"]

    _, _, before_url = finish(start("proxy", *options, stdin=subprocess.PIPE), "")
    _, _, before_program = finish(start("proxy", "--", *program, stdin=subprocess.PIPE), "")

    assert told(before_url) == [*MISSPELT]
    assert [text.partition(" ")[0] for text in told(before_program)] == [
        *("NACRE_BEARER", "NACRE_HEADER_1", "NACRE_POLICIES", "NACRE_PORT", "NACRE_URL")
    ]


def test_what_this_projects_builds_and_tests_read_is_not_misspelt() -> None:
    texts = [(ROOT / "Makefile").read_text(), (ROOT / ".ci" / "run").read_text()]
    texts += [path.read_text() for path in (ROOT / "infra" / "layers").glob("*/Makefile")]
    names = {name for text in texts for name in re.findall(r"NACRE_[A-Z_]+", text)}
    for path in (ROOT / "tests").rglob("*.py"):
        names |= set(re.findall(r'environ[^\n"]*"(NACRE_[A-Z_]+)"', path.read_text()))
    settings = {variable.name for variable in VARIABLES.values()}

    assert len(names - settings) > 10
    assert unknown_variables(dict.fromkeys(names, "")) == []
