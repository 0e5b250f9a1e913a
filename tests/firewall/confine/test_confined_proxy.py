"""Servers behind `nacre proxy --confine`: what rules allow works, and nothing else does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.firewall.confine.confined_server import OwnerGrants
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.rule import Surroundings
from nacre.wiring.features.confine import explained_rights
from nacre.wiring.settings import Settings
from tests.firewall.confine.confined_world import (
    HOSTILE,
    IS_SUPPORTED,
    confined,
    output_of,
    server_of,
    world_in,
)
from tests.firewall.proxy.link_race import counted
from tests.firewall.proxy.programs import ROOT, environment, proxied
from tests.firewall.proxy.test_relative_paths import KEY, NOTES, Home, client

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(not IS_SUPPORTED, reason="this kernel has no Landlock"),
]
ROOTED = [
    *(sys.executable, "-I", "-S"),
    str(ROOT / "tests" / "firewall" / "proxy" / "rooted_server.py"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path.resolve()).make()
    monkeypatch.setenv("HOME", str(made.user))
    return made


def test_a_server_reads_and_writes_where_rules_allow_it(home: Home) -> None:
    with client(
        home, [*ROOTED, str(home.user)], "guide", "--confine", cwd="{home}", roots=()
    ) as talk:
        projects = home.user / "projects"
        assert NOTES in talk.call("read_text_file", path=f"{projects}/notes.md")
        written = talk.call("write_file", path=f"{projects}/new.md", content="mine")
        assert "written" in written
        assert (projects / "new.md").read_text() == "mine"


def test_a_call_that_rules_allow_gets_no_further_than_the_rights(home: Home) -> None:
    """The last rule allows every call; the kernel holds what the first denies, and the base."""
    line = [*ROOTED, str(home.user)]
    options = ("--confine", "--base", str(home.user / "projects"))
    with client(home, line, "deny then allow", *options, cwd="{home}", roots=()) as talk:
        (home.user / "diary.md").write_text("dear diary")
        assert NOTES in talk.call("read_text_file", path=f"{home.user}/projects/notes.md")
        assert "Permission denied" in talk.call("read_text_file", path=f"{home.user}/diary.md")
        assert "Permission denied" in talk.call(
            "write_file", path=f"{home.user}/diary.md", content="x"
        )
    assert (home.user / "diary.md").read_text() == "dear diary"


def test_a_link_that_leads_out_is_held_by_the_kernel(home: Home) -> None:
    assert KEY in (home.user / "projects" / "link" / "id_rsa").read_text()

    found = counted(home, "confines nothing", 50, swaps=True, options=("--confine",))

    assert found["leaked"] == 0


@pytest.mark.slow
def test_of_ten_thousand_swapped_links_none_leaks(home: Home) -> None:
    calls = int(os.environ.get("NACRE_RACES", "10000"))

    found = counted(home, "confines nothing", calls, swaps=True, options=("--confine",))

    assert found.total() == calls
    assert found["leaked"] == 0
    assert found["read inside"] > 0


def test_what_is_granted_works(tmp_path: Path) -> None:
    """A port, a rename between folders, a temporary file, a thread and a child process."""
    program = """
import os, socket, subprocess, sys, tempfile, threading
root, port = sys.argv[1], int(sys.argv[2])
with open(root + "/a.txt", "w") as file:
    file.write("a")
os.rename(root + "/a.txt", root + "/sub/b.txt")
os.mkdir(root + "/c"); os.rmdir(root + "/c"); os.truncate(root + "/sub/b.txt", 0)
with tempfile.TemporaryFile() as file:
    file.write(b"x")
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
child = [sys.executable, "-I", "-S", "-c", "print('child')"]
print(subprocess.check_output(child, text=True).strip())
socket.create_connection(("127.0.0.1", port), 5).close()
print(os.environ["TMPDIR"], sorted(os.environ))
sys.stderr.write("said\\n")
"""
    with world_in(tmp_path) as world:
        line = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            program,
            str(world.root),
            str(world.ports["open"]),
        ]
        given = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TOKEN": "x"}
        start = confined(
            world.rules(), server_of(line, cwd=world.root, environment=given), tmp_path
        )
        code, out = output_of(start, world.root)

    lines = out.decode().splitlines()
    assert code == 0
    assert lines[:2] == ["thread", "child"]
    folder, _, names = lines[2].partition(" ")
    assert names == "['HOME', 'LC_ALL', 'PATH', 'TEMP', 'TMP', 'TMPDIR']"
    assert not Path(folder).exists()
    assert (world.root / "sub" / "b.txt").read_text() == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["docker", "run", "-i", "server"], "docker cannot be confined: its daemon"),
        (["sudo", "server"], "sudo cannot be confined"),
        (["nowhere-at-all"], "nowhere-at-all: no such program"),
    ],
)
def test_what_cannot_be_confined_is_refused_in_words(
    command: list[str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text('[[rule]]\naction = "allow"\ntool = "*"\n')

    done = subprocess.run(
        proxied(command, tmp_path, "--confine"),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode != 0
    assert said in done.stderr
    assert done.stdout == ""


def test_a_root_that_became_a_link_stops_the_start(tmp_path: Path) -> None:
    with world_in(tmp_path) as world:
        start = confined(
            world.rules(),
            server_of([sys.executable, "-I", "-S", str(HOSTILE)], cwd=tmp_path),
            tmp_path,
        )
        world.readable.rename(tmp_path / "moved")
        world.readable.symlink_to(world.outside)
        code, out = output_of(start, tmp_path)

    assert (code, out) == (126, b"")


def test_the_code_of_the_server_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("")
    line = [sys.executable, "-I", "-S", "-c", "import sys; sys.stderr.write('bye'); sys.exit(7)"]

    done = subprocess.run(
        proxied(line, tmp_path, "--confine"),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert (done.returncode, done.stderr) == (7, "bye")


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_AUDIT"])
def test_a_proxy_that_a_variable_changes_confines_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("")

    done = subprocess.run(
        proxied([sys.executable, "-c", "print('started')"], tmp_path, "--confine"),
        env={**environment(), name: ""},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert f"'{name}' acts on the proxy too" in done.stderr


def test_variables_reach_the_server_and_not_the_launcher(tmp_path: Path) -> None:
    """The launcher is not confined when it starts, so a variable must not load code into it."""
    program = "import os; print(os.environ['LD_PRELOAD'], ascii(os.environ['NAME']))"
    line = [sys.executable, "-I", "-S", "-c", program]
    given = {"LD_PRELOAD": "/nowhere/x.so", "NAME": "h\u00e9\udcff"}
    grants = OwnerGrants(env=("LD_PRELOAD", "NAME"))

    start = confined("", server_of(line, cwd=tmp_path, environment=given, grants=grants), tmp_path)
    assert start.environment == {}
    code, out = output_of(start, tmp_path)

    assert (code, out) == (0, b"/nowhere/x.so 'h\\xe9\\udcff'\n")


def test_no_option_lets_a_server_change_what_starts_it(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("")
    line = [sys.executable, "-I", "-S", "-c", "print('started')"]

    done = subprocess.run(
        proxied(line, tmp_path, "--confine", "--write", sys.prefix),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "can start itself unconfined" in done.stderr


def test_no_server_reads_the_list_of_servers(tmp_path: Path) -> None:
    servers = tmp_path / "notes" / "servers.json"
    servers.parent.mkdir()
    servers.write_text("{}")
    (servers.parent / "one.md").write_text("1")
    rules = f'[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "{servers.parent}/**"\n'
    settings = Settings.from_environment()._replace(
        data_folder=str(tmp_path / "data"), servers_file=str(servers)
    )

    found = explained_rights(
        settings, load_policy(rules, source="policy.toml"), "files", (), Surroundings(is_local=True)
    )

    assert {(root.path, root.access) for root in found.roots} == {
        (str(servers.parent), "list"),
        (str(servers.parent / "one.md"), "read"),
    }
