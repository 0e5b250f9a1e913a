"""One renewal of a login at a time, however many processes want it."""

import subprocess
import sys
from pathlib import Path

import pytest

from nacre.gateway.login.logins import LoginServer
from nacre.wiring.laptop import open_home
from tests.gateway.login.provider import provider

SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor

from nacre.gateway.login.logins import LoginServer
from nacre.wiring.laptop import open_home

folder, url, refused = sys.argv[1:]
home = open_home(folder)
server = LoginServer("web", url)
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    running = [pool.submit(home.logins.renewed, "me", server, refused) for _ in range(4)]
    print(*{future.result() for future in running})
home.close()
"""
BACK = "http://127.0.0.1:8765/callback"


@pytest.mark.requirement("002.external.login-renewal")
def test_processes_renew_a_token_once(tmp_path: Path) -> None:
    home = open_home(str(tmp_path))
    with provider() as at:
        server = LoginServer("web", at.url)
        home.logins.finish("me", at.consent(home.logins.begin("me", server, BACK).url))
        refused = home.logins.token("me", server)
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), at.url, str(refused)]
        processes = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
            for _ in range(4)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        outcomes = {process.communicate("\n", timeout=60)[0].strip() for process in processes}

        assert outcomes == {home.logins.token("me", server)}
        assert [form["grant_type"] for form in at.forms].count("refresh_token") == 1
        assert at.used_refresh == []
    home.close()
