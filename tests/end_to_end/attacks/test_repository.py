"""Secrets among the committed files: ours by their checksum, everybody's by detect-secrets."""

import json
import re
import subprocess
from pathlib import Path
from random import Random

import pytest

from infra.tools import programs
from nacre.access.tokens.token_format import kind_of, mint
from nacre.core.token_prefixes import API, SCANNER_PATTERN
from tests.end_to_end.attacks.rows import attack
from tests.project.test_committed_files import ROOT, committed, texts

# Examples that nobody could use, in the files that are about what looks like a secret.
EXPLAINED = {
    ("docs/concepts/content-checks.md", "Basic Auth Credentials"),
    ("docs/guides/memory.md", "GitHub Token"),
    ("docs/guides/network.md", "Basic Auth Credentials"),
    ("docs/reference/settings.md", "Basic Auth Credentials"),
    ("shared/nacre/http_client/tunnel.py", "Basic Auth Credentials"),
    ("shared/nacre/wiring/settings.py", "Basic Auth Credentials"),
    ("tests/access/tokens/test_authentication.py", "JSON Web Token"),
    ("tests/cli/operate/test_doctor.py", "Basic Auth Credentials"),
    ("tests/cli/servers/test_server.py", "GitHub Token"),
    ("tests/cli/service/test_service.py", "Basic Auth Credentials"),
    ("tests/end_to_end/poisoning/blind_cases.jsonl", "NPM tokens"),
    ("tests/firewall/enforce/test_fast_path.py", "AWS Access Key"),
    ("tests/firewall/proxy/http/test_commands.py", "Basic Auth Credentials"),
    ("tests/firewall/wrap/test_wrapper.py", "Basic Auth Credentials"),
    ("tests/fuzz/targets/content.py", "Private Key"),
    ("tests/fuzz/targets/texts.py", "Basic Auth Credentials"),
    ("tests/gateway/servers/test_config.py", "Basic Auth Credentials"),
    ("tests/http_client/test_proxies.py", "Basic Auth Credentials"),
    ("tests/protocol/http/test_allowed_origins.py", "Basic Auth Credentials"),
}
# Guesses about long and random texts, which hashes and examples are.
GUESSES = ("Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector")
LARGE = ("uv.lock", "package-lock.json", "pieces.txt", "htmx.min.js", "SHA256SUMS")


@attack("N7")
def test_no_token_of_ours_is_committed() -> None:
    found = [
        (name, token[:8])
        for name, text in texts()
        for token in re.findall(SCANNER_PATTERN, text)
        if kind_of(token)
    ]

    # Well-formed, and of no server: what a function is to look up and not to find.
    assert found == [("tests/functions/test_runtime.py", "brt_8x3E")]


def findings(root: Path, names: list[str]) -> set[tuple[str, str]]:
    """Return the kinds of secrets that detect-secrets finds in each file."""
    without = [part for name in GUESSES for part in ("--disable-plugin", name)]
    done = subprocess.run(
        [str(programs("review") / "detect-secrets"), "scan", "--no-verify", *without, *names],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    results = json.loads(done.stdout)["results"]
    return {(name, each["type"]) for name, found in results.items() for each in found}


@attack("N7")
@pytest.mark.slow
def test_no_secret_of_anybody_is_committed() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in committed()]
    found = findings(ROOT, [name for name in names if not name.endswith(LARGE)])

    assert found <= EXPLAINED


@pytest.mark.slow
def test_a_planted_secret_is_found(tmp_path: Path) -> None:
    key = "-----BEGIN RSA PRIVATE " + "KEY-----"
    (tmp_path / "planted.py").write_text(f'KEY = """{key}"""\n')

    assert findings(tmp_path, ["planted.py"]) == {("planted.py", "Private Key")}
    assert re.fullmatch(SCANNER_PATTERN, mint(API, Random(1)))
