"""Servers of npm and PyPI that a client starts with `npx` or `uvx`, installed before they start.

Both programs fetch code and run it in one step. A confined server must not write to their caches,
which other programs run from, so it is installed into a folder of its own first. No code of the
package runs meanwhile: npm runs no scripts of packages and takes nothing from git, because it
prepares such packages by their own settings, and uv takes built wheels only.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import which

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass, replace

_SECONDS = 300
_READY = ".ready"
_FROM = "--from"
# Variables that make the installer run code of their own, given for the server.
_LOADING = ("NODE_OPTIONS", "PYTHON", "LD_", "DYLD_")
# As options and as variables: npm passes only variables to the npm that it starts itself. Releases
# that do not know allow-git find no git.
_NPM = {
    **{"ignore-scripts": "true", "allow-git": "none", "git": "/bin/false"},
    **{"audit": "false", "fund": "false", "update-notifier": "false"},
}
_PYTHON = ("-p", "--python")


@dataclass(frozen=True, slots=True)
class _Package:
    """A package as a command line names it, the program of it that runs, and its arguments."""

    spec: str
    program: str
    arguments: tuple[str, ...]
    python: str = ""


def installed(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    cwd: Path,
) -> tuple[str, ...]:
    """Return the command that runs a package from its own folder, where it is installed once.

    A relative path of a package begins at `cwd`. Raise ConfigurationError if it cannot be.
    """
    kind = Path(command[0]).name
    package = _npm_package(command) if kind == "npx" else _python_package(command)
    package = replace(package, spec=_from_anywhere(package.spec, cwd))
    name = sha256("\0".join([kind, package.spec, package.python]).encode()).hexdigest()[:16]
    place = folder / f"{kind}-{name}"
    install = _install_npm if kind == "npx" else _install_python
    if not (place / _READY).exists():
        with _alone(folder):
            if not (place / _READY).exists():
                tell(f"installing {package.spec} into {place}, once")
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(mode=0o700)
                install(_tool(command[0], environment, cwd), package, place, environment)
                (place / _READY).write_text(package.spec, encoding="utf-8")
    program = _npm_program(place, package) if kind == "npx" else _python_program(place, package)
    return (*program, *package.arguments)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from installing meanwhile: clients start their servers together."""
    import fcntl  # noqa: PLC0415 - not on Windows, where nothing is confined

    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _npm_package(command: Sequence[str]) -> _Package:
    words = list(command[1:])
    while words and words[0] in ("-y", "--yes", "-q", "--quiet"):
        words.pop(0)
    if not words or words[0].startswith("-"):
        option = words[0] if words else "no package"
        raise ConfigurationError(
            f"npx with {option} cannot be confined; write 'npx -y PACKAGE', or install the server "
            "and give 'node' with its file"
        )
    return _Package(words[0], "", tuple(words[1:]))


def _python_package(command: Sequence[str]) -> _Package:
    words = list(command[1:])
    spec = python = ""
    while words and words[0].startswith("-"):
        option, equals, value = words.pop(0).partition("=")
        if option not in (_FROM, *_PYTHON) or not (equals or words):
            raise ConfigurationError(
                f"uvx with {option} cannot be confined; write 'uvx PACKAGE' or 'uvx --from PACKAGE "
                "PROGRAM', or install the server and give its own command"
            )
        value = value if equals else words.pop(0)
        if option == _FROM:
            spec = value
        else:
            python = value
    if not words:
        raise ConfigurationError("uvx names no package; write 'uvx PACKAGE'")
    program, _, version = words[0].partition("@")
    if not spec:
        spec = f"{program}=={version}" if version and version != "latest" else program
    return _Package(spec, program, tuple(words[1:]), python)


def _from_anywhere(spec: str, cwd: Path) -> str:
    """Return a package with a whole path, if it is a relative one."""
    scheme = "file:" if spec.startswith("file:") else ""
    path = spec.removeprefix(scheme)
    is_file = path.endswith((".tgz", ".tar", ".tar.gz", ".whl")) and "://" not in path
    if not (is_file or scheme or path == "." or path.startswith(("./", "../"))):
        return spec
    return spec if path.startswith(("/", "~")) else scheme + str(cwd.absolute() / path)


def _tool(command: str, env: Mapping[str, str], cwd: Path) -> Path:
    """Return the file of npx or uvx; npm and uv are beside it."""
    file = which(command, path=env.get("PATH"))
    if file is None:
        raise ConfigurationError(
            f"{command}: no such program; give its whole path, or put it on PATH"
        )
    return cwd.absolute() / file


def _install_npm(npx: Path, package: _Package, place: Path, env: Mapping[str, str]) -> None:
    variables = {f"npm_config_{name.replace('-', '_')}": value for name, value in _NPM.items()}
    others = {name: env[name] for name in env if name.lower().replace("-", "_") not in variables}
    options = [f"--{name}={value}" for name, value in _NPM.items()]
    line = [str(npx.with_name("npm")), "install", *options, "--prefix", str(place)]
    _run([*line, "--", package.spec], {**others, **variables}, place)


def _install_python(uvx: Path, package: _Package, place: Path, env: Mapping[str, str]) -> None:
    uv = str(uvx.with_name("uv"))
    python = ("--python", package.python) if package.python else ()
    _run([uv, "venv", "--quiet", *python, str(place / "venv")], env, place)
    target = ("--python", str(place / "venv" / "bin" / "python"))
    wheels = ("--only-binary", ":all:")
    _run([uv, "pip", "install", "--quiet", *wheels, *target, "--", package.spec], env, place)


def _npm_program(place: Path, package: _Package) -> tuple[str, ...]:
    """Return how to run the program of the installed package: node, and its file."""
    modules = place / "node_modules"
    try:
        project = json.loads((place / "package.json").read_text(encoding="utf-8"))
        (name,) = project["dependencies"]
        manifest = json.loads((modules / name / "package.json").read_text(encoding="utf-8"))
        programs = manifest["bin"]
        if isinstance(programs, dict):
            short = name.rpartition("/")[2]
            only = next(iter(programs.values())) if len(programs) == 1 else None
            programs = programs.get(short) or only
        file = (modules / name / programs).resolve(strict=True)
        # The package says this: another place would give it the rights to read that.
        file.relative_to((modules / name).resolve(strict=True))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{package.spec} has no single program to run") from error
    return ("node", str(file))


def _python_program(place: Path, package: _Package) -> tuple[str, ...]:
    file = place / "venv" / "bin" / package.program
    if not file.is_file():
        raise ConfigurationError(f"{package.spec} has no program '{package.program[:80]}'")
    return (str(file),)


def _run(line: Sequence[str], environment: Mapping[str, str], place: Path) -> None:
    """Run an installer in the new folder: another one may have settings that name programs."""
    variables = {name: environment[name] for name in environment if not name.startswith(_LOADING)}
    try:
        done = subprocess.run(  # noqa: S603 - npm or uv, with the package that the owner names
            list(line),
            env=variables,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigurationError(f"{line[0]} cannot install the server: {error}") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip()[-400:]
        raise ConfigurationError(f"{Path(line[0]).name} cannot install the server: {last}")
