"""`nacre service`, with a stand-in for the programs of the system that records how it is called."""

import json
import os
import plistlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from nacre.cli.program_state import installed_program
from nacre.cli.service.definition import Definition
from nacre.cli.service.launchd import LaunchAgent
from nacre.cli.service.systemd import SystemdUser
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.core.lazy_dataclasses import replace
from nacre.core.token_prefixes import SCANNER_PATTERN
from nacre.wiring.server_registry import registered_server
from tests.cli.conftest import Nacre

# It is-active as long as it was started last, in the process that PROCESS names.
_SYSTEMCTL = """#!/bin/sh
echo "$(basename "$0") $*" >>"$RECORD"
case "$*" in
    *MainPID*) echo "${PROCESS:-0}" ;;
    *is-active*) if grep -q ' restart ' "$RECORD" && ! grep -q ' disable ' "$RECORD"; then
        echo active; else echo inactive; exit 3; fi ;;
esac
"""
ODD = Definition(
    ("/home/a b/nacre", "serve", "--data-dir", '/x/100%n $HOME "q" \\ é'),
    {"PATH": "/usr/bin:/a b/%h", "NACRE_LLM_MODEL": 'a "b" $c'},
)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("systemctl", "loginctl"):
        (programs / name).write_text(_SYSTEMCTL)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path / "record"


def unit() -> Path:
    return Path.home() / ".config" / "systemd" / "user" / "nacre.service"


def test_install_starts_the_service_on_the_port_that_clients_have(
    nacre: Nacre, record: Path, folder: Path
) -> None:
    (Path.home() / ".claude.json").write_text("{}")
    nacre("connect", "claude-code", "--url", "http://127.0.0.1:8701/mcp")

    done = nacre("service", "install")
    shown = nacre("service", "status", "--json")

    assert done.code == 0, done.err
    assert "Nacre runs at http://127.0.0.1:8701/mcp" in done.out
    assert re.search(
        r"^Sign in once: http://127\.0\.0\.1:8701/sign-in#bos_\w+$", done.out, re.MULTILINE
    )
    assert [being["name"] for being in nacre("being", "list", "--json").json()] == ["Pearl"]
    assert shown.json()["state"] == "running"
    assert f"--port 8701 --log --quiet --data-dir {folder}" in unit().read_text()
    calls = record.read_text().splitlines()
    assert calls[:4] == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --quiet nacre.service",
        "systemctl --user restart nacre.service",
        "loginctl --no-ask-password enable-linger",
    ]


def test_uninstall_leaves_the_data(nacre: Nacre, record: Path, folder: Path) -> None:
    nacre("service", "install")

    done = nacre("service", "uninstall")

    assert done.code == 0, done.err
    assert not unit().exists()
    assert (folder / "nacre.db").is_file()
    assert "systemctl --user disable --quiet --now nacre.service" in record.read_text()
    assert nacre("service", "status").out == "The service is not installed.\n"
    assert nacre("service", "uninstall").code == 3


def test_the_unit_has_settings_and_no_secret(
    nacre: Nacre, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_LLM_MODEL", "qwen3:8b")
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-very-secret-key")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-secret-key")
    monkeypatch.setenv("NACRE_QDRANT_API_KEY", "qdrant-secret-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret-key")

    done = nacre("service", "install")
    nacre("token", "create", "--scope", "full")

    text = unit().read_text()
    assert "Environment=NACRE_LLM_MODEL=qwen3:8b\n" in text
    assert "secret" not in text.replace("# Secrets", "")
    assert not re.findall(SCANNER_PATTERN, text)
    for name in ("NACRE_LLM_API_KEY", "OPENAI_API_KEY", "NACRE_QDRANT_API_KEY"):
        assert f"warning: {name} is a secret" in done.err


def test_the_unit_has_proxies_without_credentials(
    nacre: Nacre, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:s3cret@other.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://ann:s3cret@proxy.example:3128")
    monkeypatch.setenv("all_proxy", "")
    monkeypatch.setenv("ALL_PROXY", "http://all.example:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8,.example.com")

    done = nacre("service", "install")

    text = unit().read_text()
    assert re.findall("^Environment=(.*_PROXY=.*)$", text, re.MULTILINE) == [
        "HTTPS_PROXY=http://proxy.example:3128",
        "NO_PROXY=10.0.0.0/8,.example.com",
    ]
    assert "s3cret" not in text + done.out + done.err
    assert re.findall("warning: ([A-Z_]+) is a secret", done.err) == ["HTTP_PROXY"]


def test_a_file_that_is_not_ours_stays(nacre: Nacre, record: Path) -> None:
    unit().parent.mkdir(parents=True)
    unit().write_text("[Service]\nExecStart=/bin/true\n")

    refused = [nacre("service", verb) for verb in ("install", "status", "uninstall")]

    assert [done.code for done in refused] == [5, 5, 5]
    assert unit().read_text() == "[Service]\nExecStart=/bin/true\n"
    assert not record.exists()


def test_a_system_that_does_not_answer_is_named(nacre: Nacre, record: Path, tmp_path: Path) -> None:
    (tmp_path / "programs" / "systemctl").write_text("#!/bin/sh\necho 'no bus' >&2; exit 1\n")

    done = nacre("service", "install")

    assert done.code == 4
    assert "'systemctl --user daemon-reload' failed: no bus" in done.err
    assert "systemctl --user enable --now nacre.service" in done.err


def test_a_server_that_does_not_start_is_reported_with_its_last_error(
    nacre: Nacre, record: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    (programs / "systemctl").write_text(
        '#!/bin/sh\ncase "$*" in *restart*) echo "Job for nacre.service failed" >&2; exit 1; esac\n'
    )
    unread = nacre("service", "install")
    (programs / "journalctl").write_text(
        "#!/bin/sh\necho 'error: an older one'\necho 'error: port 8642 is in use'\necho 'hint: …'\n"
    )
    (programs / "journalctl").chmod(0o755)

    done = nacre("service", "install")

    assert (unread.code, done.code) == (4, 4)
    assert "Nacre runs" not in unread.out + done.out
    assert "failed: Job for nacre.service failed, see journalctl --user" in unread.err
    assert "does not start: port 8642 is in use\nhint: solve that, then run" in done.err


@pytest.mark.parametrize("loginctl", ["#!/bin/sh\nexit 1\n", None])
def test_a_service_that_ends_with_the_session_is_not_said_to_start_with_the_machine(
    nacre: Nacre,
    record: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    loginctl: str | None,
) -> None:
    if loginctl is None:  # a system without logind
        (tmp_path / "programs" / "loginctl").unlink()
        monkeypatch.setenv("PATH", str(tmp_path / "programs"))
        for name in ("basename", "grep", "sh"):
            (tmp_path / "programs" / name).symlink_to(shutil.which(name, path=os.defpath) or name)
    else:
        (tmp_path / "programs" / "loginctl").write_text(loginctl)

    done = nacre("service", "install")

    assert done.code == 0, done.err
    assert "Nacre runs at http://127.0.0.1:8642/mcp.\n" in done.out
    assert "sudo loginctl enable-linger $USER" in done.err


def test_a_service_from_before_an_upgrade_is_reported(
    nacre: Nacre, record: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen() -> tuple[str | None, str, list[tuple[str, str]]]:
        status, text = nacre("service", "status", "--json").json(), nacre("service", "status").err
        return (
            status["outdated"],
            text,
            [
                (finding["state"], finding["advice"])
                for finding in nacre("doctor", "--json").json()
                if finding["check"] == "running version"
            ],
        )

    nacre("service", "install")
    monkeypatch.setenv("PROCESS", str(os.getpid()))
    restart = "run: systemctl --user restart nacre.service"
    url = "http://127.0.0.1:8642/mcp"
    program = installed_program()
    with registered_server(folder, url, program.as_text()):
        assert seen() == (None, "", [("ok", "")])
    with registered_server(folder, url, replace(program, version="0.0.9").as_text()):
        older = seen()
    with registered_server(folder, url, replace(program, digest="").as_text()):
        changed = seen()
    with registered_server(folder, url, ""):
        unknown = seen()
        monkeypatch.setenv("PROCESS", "1")
        other = seen()
        monkeypatch.setenv("PROCESS", str(os.getpid()))
        unit().write_text(unit().read_text().replace("ExecStart=", "ExecStart=/opt"))
        elsewhere = nacre("service", "status")

    assert older[0] == f"it runs Nacre 0.0.9, and this program is {program.version}"
    assert older[1] == f"warning: {older[0]}\nhint: {restart}\n"
    assert changed[0] == "it was started before this program was changed"
    assert unknown[0] == "it was started by an older Nacre"
    assert {told[2][0] for told in (older, changed, unknown)} == {("warn", restart)}
    assert other[:2] == (None, "")
    assert other[2][0][1].startswith("stop it, then run: ")
    assert elsewhere.err.endswith("service install\n")
    assert not list((folder / "serving").iterdir())


def test_a_program_in_a_cache_is_not_installed(
    nacre: Nacre, record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "uv" / "archive-v0" / "x" / "bin" / "nacre"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setattr("sys.argv", [str(script)])

    done = nacre("service", "install")

    assert done.code == 2
    assert "uv tool install" in done.err


def test_windows_is_told_what_to_do(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.cli.service.service.sys.platform", "win32")

    done = nacre("service", "install")

    assert done.code == 2
    assert "Task Scheduler" in done.err


def test_doctor_knows_the_service(nacre: Nacre, record: Path, tmp_path: Path) -> None:
    def service() -> list[tuple[str, str]]:
        findings = nacre("doctor", "--json").out
        return [
            (finding["state"], finding["found"])
            for finding in json.loads(findings)
            if finding["check"] == "service"
        ]

    before = service()
    nacre("service", "install", "--port", "8702")
    running = service()
    (Path.home() / ".claude.json").write_text("{}")
    nacre("connect", "claude-code", "--url", "http://127.0.0.1:8703/mcp")
    apart = service()
    unit().write_text(re.sub(r"ExecStart=\S+", "ExecStart=/gone/nacre", unit().read_text()))
    gone = service()

    assert before[0][0] == "ok"
    assert running == [("ok", "it runs at http://127.0.0.1:8702/mcp")]
    assert apart[0] == ("warn", "it listens on port 8702, but clients have 8703")
    assert gone == [("fail", "it starts /gone/nacre, which is not there")]


def test_a_unit_says_what_it_was_given(tmp_path: Path) -> None:
    manager = SystemdUser(str(tmp_path), {})
    Path(manager.file).parent.mkdir(parents=True)
    Path(manager.file).write_text(manager.text(ODD))

    assert manager.installed() == ODD
    with pytest.raises(InvalidInputError, match="control characters"):
        manager.text(Definition(("nacre\nExecStart=/bin/rm",), {}))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
@pytest.mark.parametrize("folder", ["plain", "a b", "100%n", "ö", "it's", 'a "b"', "$HOME", "a\\b"])
def test_systemd_accepts_the_unit(tmp_path: Path, folder: str) -> None:
    manager = SystemdUser(str(tmp_path), {})
    program = tmp_path / folder / "nacre"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    program.chmod(0o755)
    odd = Definition((str(program), *ODD.command[1:]), ODD.environment)
    file = Path(manager.file)
    file.parent.mkdir(parents=True)
    file.write_text(manager.text(odd))
    assert manager.installed() == odd

    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", file],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stderr) == (0, "")
    [line] = [line for line in file.read_text().splitlines() if line.startswith("ExecStart=")]
    words = [word.replace("$$", "$").replace("%%", "%") for word in shlex.split(line[10:])]
    ran = subprocess.run(words, env={}, capture_output=True, text=True, check=True)
    assert tuple(ran.stdout.splitlines()) == odd.command


def test_a_property_list_says_what_it_was_given(tmp_path: Path) -> None:
    manager = LaunchAgent(str(tmp_path), 501)
    Path(manager.file).parent.mkdir(parents=True)
    Path(manager.file).write_text(manager.text(ODD))

    agent = plistlib.loads(Path(manager.file).read_bytes())
    assert manager.installed() == ODD
    assert (agent["Label"], agent["RunAtLoad"], agent["KeepAlive"]) == (
        *("local.nacre.serve", True),
        True,
    )
    assert agent["StandardErrorPath"] == f"{tmp_path}/Library/Logs/Nacre/nacre.log"
    assert agent["StandardOutPath"] == "/dev/null"


def test_a_property_list_that_is_not_ours_stays(tmp_path: Path) -> None:
    manager = LaunchAgent(str(tmp_path), 501)
    Path(manager.file).parent.mkdir(parents=True)
    Path(manager.file).write_bytes(plistlib.dumps({"Label": "local.nacre.serve"}))

    with pytest.raises(ConflictError):
        manager.installed()


def test_launchd_is_asked_for_the_agent(
    tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(tmp_path / "programs" / "systemctl", tmp_path / "programs" / "launchctl")
    manager = LaunchAgent(str(tmp_path), 501)

    manager.install(ODD)
    manager.uninstall()

    assert record.read_text().splitlines() == [
        "launchctl bootout gui/501/local.nacre.serve",
        f"launchctl bootstrap gui/501 {manager.file}",
        "launchctl bootout gui/501/local.nacre.serve",
    ]
    assert not Path(manager.file).exists()


def answers(port: int) -> bool:
    """Wait until the server refuses a call without a token."""
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp", timeout=60)
        except urllib.error.HTTPError as error:
            return error.code == 401
        except OSError:
            time.sleep(0.1)  # the process is starting
    return False


@pytest.mark.slow
def test_what_the_unit_starts_needs_no_environment_and_survives_a_kill(
    nacre: Nacre, record: Path, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nacre("service", "install", "--port", str(port))
    being = nacre("being", "list", "--json").json()[0]["being_id"]
    token = nacre("token", "create", "--scope", "full").out.strip()
    definition = SystemdUser(str(Path.home()), {}).installed()
    assert definition is not None

    written = []
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = subprocess.Popen(
            definition.command,
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert answers(port)
        finally:
            process.send_signal(number)
            written.append(process.communicate(timeout=60))

    assert [out for out, _ in written] == ["", ""]
    assert '"event": "stopped"' in written[1][1]
    assert not re.findall(SCANNER_PATTERN, "".join(err for _, err in written))
    assert token.startswith("brt_")
    assert nacre("being", "list", "--json").json()[0]["being_id"] == being
