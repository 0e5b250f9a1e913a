"""What the runtime of a command needs, without starting it."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from shutil import which

import pytest

from nacre.core.errors import ConfigurationError
from nacre.firewall.confine.packages import installed
from nacre.firewall.confine.runtimes import REFUSED, runtime_of

HOME = Path("/home/user")


def program(file: Path, text: str = "#!/bin/sh\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def roots(command: list[str], cwd: Path, path: str) -> dict[str, str]:
    found = runtime_of(command, path, HOME, cwd).roots
    return {root.path: root.access for root in sorted(found, key=lambda root: root.access)}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_programs_that_would_start_the_server_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} cannot be confined: .+"):
        runtime_of([f"/usr/bin/{name}", "run"], None, HOME, Path("/"))


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such program"):
        runtime_of(["nowhere-at-all"], str(tmp_path), HOME, tmp_path)


def test_a_script_of_node_needs_its_packages_and_nothing_above_them(tmp_path: Path) -> None:
    node = program(tmp_path / "bin" / "node", "")
    file = program(tmp_path / "app" / "node_modules" / "server" / "index.js", "")

    found = roots(["node", str(file), "/data"], tmp_path, str(node.parent))

    assert found[str(tmp_path / "app" / "node_modules")] == "read"
    assert found[str(node)] == "run"
    assert str(tmp_path / "app") not in found


def test_a_script_in_a_package_needs_the_package(tmp_path: Path) -> None:
    node = program(tmp_path / "bin" / "node", "")
    program(tmp_path / "app" / "package.json", "{}")
    file = program(tmp_path / "app" / "src" / "index.js", "")

    assert roots([str(node), str(file)], tmp_path, "")[str(tmp_path / "app")] == "read"


def test_a_script_without_a_package_gives_the_file_alone(tmp_path: Path) -> None:
    node = program(tmp_path / "bin" / "node", "")
    file = program(tmp_path / "mixed" / "server.js", "")
    program(tmp_path / "mixed" / "key.pem", "")

    found = roots([str(node), str(file)], tmp_path, "")

    assert {path for path in found if path.startswith(str(tmp_path))} == {str(node), str(file)}


def test_a_script_in_the_home_gives_the_file_alone(tmp_path: Path) -> None:
    node = program(tmp_path / "bin" / "node", "")
    file = program(tmp_path / "home" / "server.js", "")
    runtime = runtime_of([str(node), str(file)], "", tmp_path / "home", tmp_path)

    read = {root.path for root in runtime.roots if root.path.startswith(str(tmp_path))}
    assert read == {str(node), str(file)}


def test_a_program_of_an_environment_needs_the_environment_and_its_python(tmp_path: Path) -> None:
    python = program(tmp_path / "python" / "bin" / "python3.12", "")
    (tmp_path / "python" / "lib").mkdir()
    venv = tmp_path / "app" / ".venv"
    program(venv / "pyvenv.cfg", f"home = {python.parent}\n")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(python)
    script = program(venv / "bin" / "server", f"#!{venv}/bin/python\n")

    found = roots([str(script)], tmp_path, "")

    assert found[str(venv)] == "read"
    assert found[str(python)] == "run"
    assert found[str(tmp_path / "python" / "lib")] == "read"
    assert found[str(script)] == "run"
    assert str(tmp_path / "app") not in found


def test_rules_take_nothing_back_of_a_python_but_of_its_environment(tmp_path: Path) -> None:
    """Its library has files such as `secrets.py`, which denies of secrets would match."""
    python = program(tmp_path / "python" / "bin" / "python3.12", "")
    (tmp_path / "python" / "lib").mkdir()
    venv = tmp_path / "venv"
    program(venv / "pyvenv.cfg", f"home = {python.parent}\n")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(python)

    runtime = runtime_of([str(venv / "bin" / "python"), "-m", "server"], "", HOME, tmp_path)

    assert [root.path for root in runtime.code] == [str(venv)]
    assert str(tmp_path / "python" / "lib") in {root.path for root in runtime.roots}


def test_a_program_needs_its_loader() -> None:
    found = roots([sys.executable, "-c", "pass"], Path("/"), "")

    assert [path for path, access in found.items() if access == "run" and "ld-" in path]


@pytest.mark.parametrize(
    "command",
    [
        ["npx"],
        ["npx", "-c", "x"],
        ["npx", "--package=a", "b"],
        ["uvx"],
        ["uvx", "--with", "a", "b"],
    ],
)
def test_other_forms_of_npx_and_uvx_are_refused(command: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be confined|names no package"):
        installed(command, tmp_path, {}, lambda _: None, cwd=tmp_path)


def test_a_package_is_installed_once_without_running_its_code(tmp_path: Path) -> None:
    """A small program in the place of npm records how it is called."""
    calls = tmp_path / "calls"
    program(tmp_path / "tools" / "npx", "")
    program(
        tmp_path / "tools" / "npm",
        f"""#!/bin/sh
echo "$@" >> {calls}
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/@scope/server" && cd "$2"
echo '{{"dependencies": {{"@scope/server": "1"}}}}' > package.json
echo '{{"bin": {{"server": "main.js"}}}}' > node_modules/@scope/server/package.json
touch node_modules/@scope/server/main.js
""",
    )
    line = [str(tmp_path / "tools" / "npx"), "-y", "@scope/server@1", "/data"]
    environment = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"}
    spoken: list[str] = []

    commands = [
        installed(line, tmp_path / "home", environment, spoken.append, cwd=tmp_path)
        for _ in range(2)
    ]

    node, file, data = commands[0]
    assert commands[1] == commands[0]
    assert (node, data) == ("node", "/data")
    assert file.endswith("node_modules/@scope/server/main.js")
    assert len(spoken) == 1
    (call,) = calls.read_text().splitlines()
    assert "install --ignore-scripts=true --allow-git=none --git=/bin/false" in call
    assert call.endswith("-- @scope/server@1")


def test_a_package_names_no_file_outside_of_itself(tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text("")
    program(tmp_path / "npx", "")
    program(
        tmp_path / "npm",
        """#!/bin/sh
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/server" && cd "$2"
echo '{"dependencies": {"server": "1"}}' > package.json
echo '{"bin": "../../../../secret.js"}' > node_modules/server/package.json
""",
    )

    with pytest.raises(ConfigurationError, match="no single program"):
        installed(
            [str(tmp_path / "npx"), "-y", "server"],
            tmp_path / "home",
            {"PATH": "/usr/bin:/bin"},
            lambda _: None,
            cwd=tmp_path,
        )


def test_a_script_names_no_file_that_is_not_a_program(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    script = program(tmp_path / "bin" / "server", f"#!{tmp_path}/key\n")

    assert str(tmp_path / "key") not in roots([str(script)], tmp_path, "")


def test_an_environment_names_no_folder_without_a_python(tmp_path: Path) -> None:
    (tmp_path / "private" / "lib").mkdir(parents=True)
    (tmp_path / "private" / "bin").mkdir()
    python = program(tmp_path / "venv" / "bin" / "python", "")
    program(tmp_path / "venv" / "pyvenv.cfg", f"home = {tmp_path}/private/bin\n")

    assert str(tmp_path / "private" / "lib") not in roots([str(python)], tmp_path, "")


def test_an_installation_that_fails_is_reported_and_tried_again(tmp_path: Path) -> None:
    program(tmp_path / "npx", "")
    program(tmp_path / "npm", "#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    line = [str(tmp_path / "npx"), "-y", "nowhere"]

    for _ in range(2):
        with pytest.raises(ConfigurationError, match="no such package"):
            installed(
                *(line, tmp_path / "home", {"PATH": "/usr/bin:/bin"}, lambda _: None), cwd=tmp_path
            )


def test_an_installer_gets_no_settings_and_variables_that_run_code(tmp_path: Path) -> None:
    """A small program in the place of npm records its folder and its variables."""
    seen = tmp_path / "seen"
    program(tmp_path / "npx", "")
    program(tmp_path / "npm", f"#!/bin/sh\n(ls -A; env; echo $*) > {seen}\nexit 1\n")
    (tmp_path / ".npmrc").write_text("git=./evil.sh\n")
    given = {"NODE_OPTIONS": "--require=./x.js", "PYTHONPATH": "/x", "LD_PRELOAD": "", "KEEP": "1"}
    given |= {"PATH": "/usr/bin:/bin", "NPM_CONFIG_GIT": "./evil.sh"}

    with pytest.raises(ConfigurationError):
        installed(
            [str(tmp_path / "npx"), "./server"],
            tmp_path / "home",
            given,
            print,
            cwd=tmp_path / "sub",
        )

    lines = seen.read_text().splitlines()
    assert "KEEP=1" in lines
    assert "npm_config_git=/bin/false" in lines
    assert ".npmrc" not in lines
    assert not [line for line in lines if line.startswith(("NODE_", "PYTHON", "LD_", "NPM_"))]
    assert lines[-1].endswith(f"-- {tmp_path}/sub/server")


@pytest.mark.skipif(which("npx") is None or which("git") is None, reason="it needs npm and git")
def test_a_package_from_git_runs_no_code_while_it_is_installed(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    inner = tmp_path / "inner"
    program(inner / "evil.sh", f'#!/bin/sh\ntouch {ran}\nexec git "$@"\n')
    (inner / ".npmrc").write_text("git=./evil.sh\n")
    scripts = '"scripts": {"prepare": "true"}, "devDependencies": {"b": "git+file:///nowhere"}'
    (inner / "package.json").write_text(f'{{"name": "inner", "version": "1.0.0", {scripts}}}')
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        account = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", str(inner), *account, *words], check=True)
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "package.json").write_text(
        '{"name": "outer", "version": "1.0.0", "bin": "main.js", '
        f'"dependencies": {{"inner": "git+file://{inner}"}}}}'
    )
    given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "npm_config_offline": "true"}

    with pytest.raises(ConfigurationError, match="cannot install the server"):
        installed(["npx", "-y", f"git+file://{inner}"], tmp_path / "a", given, print, cwd=tmp_path)
    with suppress(ConfigurationError):  # a folder is linked, without what it depends on
        installed(["npx", "-y", str(outer)], tmp_path / "b", given, print, cwd=tmp_path)
    assert not ran.exists()
