"""Paths through the links of a process: only the server that opens them knows where they lead."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.adapters.files import real_paths
from nacre.firewall.rules.arguments import process_paths
from nacre.firewall.rules.arguments.process_paths import mounts_in, rest_of, without_links
from nacre.firewall.rules.arguments.readings import resolved
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from tests.firewall.deciding import call, decides_path, policy

LOCAL = Surroundings(is_local=True)
FAST = Surroundings(is_local=True, follow=real_paths.resolved)
BASED = Surroundings(is_local=True, follow=real_paths.resolved, bases=("/home/user",))
EVERYWHERE = (NOWHERE, Surroundings(bases=("/home/user",)), LOCAL, FAST, BASED)
KEYS = """
[[rule]]
action = "deny"
tool = "*"
args."*" = "/home/user/.ssh/**"
[[rule]]
action = "allow"
tool = "*"
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def decided(rules: str, value: str, where: Surroundings) -> str:
    return policy(rules).decide(call("cat", {"path": value}), where).action


@pytest.mark.parametrize(
    "value",
    [
        "/proc/self/cwd/.ssh/id_rsa",
        "/proc/thread-self/cwd/.ssh/id_rsa",
        "/proc/12/cwd/.ssh/id_rsa",
        "/proc/self/task/7/cwd/.ssh/id_rsa",
        "/proc/self/cwd/../user/.ssh/id_rsa",
        "/proc/self/root/home/user/.ssh/id_rsa",
        "/proc/self/fd/5/.ssh/id_rsa",
        "/dev/fd/5/.ssh/id_rsa",
        "/dev/fd/../cwd/.ssh/id_rsa",
        "/proc/net/../cwd/.ssh/id_rsa",
        "//proc/./self//cwd/.ssh/id_rsa",
        "/proc/x/../self/cwd/.ssh/id_rsa",
        "/%70roc/self/cwd/.ssh/id_rsa",
        "file:///proc/self/cwd/.ssh/id_rsa",
        "jar:file:///proc/self/cwd/.ssh/id_rsa",
        "../../../../proc/self/cwd/.ssh/id_rsa",
        "../../../../dev/fd/../cwd/.ssh/id_rsa",
        "/.vol/16777220/2/.ssh/id_rsa",
    ],
)
@pytest.mark.parametrize("where", EVERYWHERE)
def test_a_deny_sees_what_follows_the_link_of_a_process(value: str, where: Surroundings) -> None:
    assert decided(KEYS, value, where) == "deny"
    assert not decides_path("allow", "/home/user/projects/**", value, where)
    assert not decides_path("allow", "/proc/**", value, where)


@pytest.mark.parametrize("where", EVERYWHERE)
def test_where_nothing_shows_what_it_leads_to_it_is_asked_about(where: Surroundings) -> None:
    for value in ("/proc/self/cwd/id_rsa", "/dev/fd/3", "/dev/stdin", "/proc/7/fd/3"):
        assert decided(KEYS, value, where) == "prompt"
    assert decided(KEYS, "/proc/self/cwd/notes.md", where) == "prompt"
    assert decided(KEYS.replace("/**", "/id_*"), "/proc/self/cwd/notes.md", where) == "allow"


@pytest.mark.parametrize("value", ["/proc/cpuinfo", "/proc/self/status", "/dev/null", "/proc"])
def test_other_files_of_the_system_stay_plain(value: str) -> None:
    for where in EVERYWHERE:
        assert decides_path("allow", f"{value}*", value, where) or where.is_local
        assert decided(KEYS, value, where) == "allow"


def test_a_server_that_opens_no_files_is_asked_about_none() -> None:
    assert decided(KEYS, "/proc/self/cwd/notes.md", Surroundings(opens_files=False)) == "allow"


@pytest.mark.parametrize("name", ["/private/etc/passwd", "/System/Volumes/Data/private/etc/passwd"])
def test_the_second_names_of_folders_on_macos_are_denied_too(name: str) -> None:
    assert decides_path("deny", "/etc/**", name)
    assert decides_path("deny", "/private/etc/**", "/etc/passwd")
    assert decides_path("deny", "/Users/ann/.ssh/**", "/System/Volumes/Data/Users/ann/.ssh/key")
    assert not decides_path("deny", "/etc/**", "/private/other/passwd")


def test_the_rest_is_what_lies_beyond_the_link() -> None:
    assert rest_of("/proc/self/cwd") == ""
    assert rest_of("/proc/self/cwd/a/b") == "a/b"
    assert rest_of("/proc/self/cwdx/a") is rest_of("/srv/proc/self/cwd/a") is None
    assert without_links("/dev/fd/../cwd/a") == "/proc/self/cwd/a"
    assert without_links("/dev/./fd//3/a/../b") == "/proc/self/fd/3/a/../b"


@linux
def test_a_link_on_the_disk_into_a_process_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/cwd")
    (tmp_path / "far").symlink_to("link")
    for where in (LOCAL, FAST):
        for name in ("link", "far"):
            assert decided(KEYS, f"{tmp_path}/{name}/.ssh/id_rsa", where) == "deny"
            assert not decides_path("allow", f"{tmp_path}/**", f"{tmp_path}/{name}/x", where)


@linux
def test_another_mount_of_the_processes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "40 22 0:21 / /host\\040x/proc rw - proc proc rw",
        "41 22 0:21 /sys /proc/sys ro - proc proc rw",
        "42 22 0:9 / /srv rw shared:1 - ext4 /dev/x rw",
        "43 22 0:21 / /proc rw - proc proc rw",
    ]
    mounts = tuple(mounts_in(lines))
    assert mounts == ("/host x/proc/",)

    monkeypatch.setattr(process_paths, "_process_mounts", lambda: mounts)
    assert decided(KEYS, "/host x/proc/1/root/home/user/.ssh/id_rsa", LOCAL) == "deny"


# Against a process with another working folder.

ASKED = """
import json, os, sys
os.chdir(sys.argv[1])
for line in sys.stdin:
    print(json.dumps(os.path.realpath(json.loads(line))), flush=True)
"""
NAMES = [
    *(
        "proc",
        "self",
        "thread-self",
        "cwd",
        "root",
        "fd",
        "0",
        "9",
        "net",
        "task",
        "dev",
        "..",
        ".",
    ),
    *("user", "secret", "key", "link", "into", "up"),
]
STARTS = [
    "/proc/self",
    "/proc/self/cwd",
    "/dev/fd",
    "/proc/thread-self",
    "",
    "{tree}",
    "{tree}/user",
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree").resolve()
    (root / "user" / "secret").mkdir(parents=True)
    (root / "user" / "secret" / "key").write_text("k")
    (root / "user" / "link").symlink_to("/proc/self/cwd")
    (root / "into").symlink_to("user/link/secret")
    (root / "user" / "up").symlink_to("..")
    return root


@pytest.fixture(scope="module")
def opened(tree: Path) -> Iterator[Callable[[str], str]]:
    """Where a path leads for a process whose working folder is `user`."""
    command = [sys.executable, "-c", ASKED, str(tree / "user")]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None
        assert answers is not None

        def ask(place: str) -> str:
            asked.write(f"{json.dumps(place)}\n")
            asked.flush()
            return str(json.loads(answers.readline()))

        yield ask
        asked.close()


@linux
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.sampled_from(STARTS),
    names=st.lists(st.sampled_from(NAMES), max_size=6),
    end=st.sampled_from(["", "secret/key", "user/secret/key", "key"]),
    fast=st.booleans(),
    based=st.booleans(),
)
def test_no_path_to_a_secret_of_another_process_is_allowed(
    tree: Path,
    opened: Callable[[str], str],
    start: str,
    names: list[str],
    end: str,
    fast: bool,
    based: bool,
) -> None:
    place = "/".join([start.format(tree=tree), *names, end])
    where = (FAST if fast else LOCAL)._replace(bases=(str(tree / "user"),) if based else ())
    rules = KEYS.replace("/home/user/.ssh", str(tree / "user" / "secret"))
    only = f'[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "{tree}/user/up*/**"\n'

    if opened(place).startswith(f"{tree}/user/secret/"):
        assert decided(rules, place, where) != "allow"
        assert decided(only, place, where) != "allow"


@linux
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.sampled_from(["a", "loop", "up", "user", "link2", "..", ".", ""]), max_size=6)
)
def test_other_links_are_followed_as_python_does_and_loops_lead_nowhere(
    tree: Path, names: list[str]
) -> None:
    for name, target in (("loop", "loop"), ("link2", "user/secret")):
        if not (tree / name).is_symlink():
            (tree / name).symlink_to(target)
    place = "/".join([str(tree), *names])
    try:
        expected = Path(place).resolve().as_posix()
    except RuntimeError:
        expected = "\0"

    result = resolved(place)

    assert result == expected or ("loop" in names and result == "\0")
