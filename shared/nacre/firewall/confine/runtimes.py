"""The needs of each runtime to start a server: a reviewed list, and never a trial run."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.confine.rights import Access, Root

# Libraries, certificates, time zones, and the ways to find hosts. What is not there is left out.
# Only /dev/null and the like can be opened of all devices.
_SYSTEM: tuple[tuple[Access, str, tuple[str, ...]], ...] = (
    (
        "read",
        "libraries",
        (
            *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
            *("/etc/ld.so.cache", "/etc/alternatives", "/nix/store"),
        ),
    ),
    (
        "read",
        "certificates",
        (
            *("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates"),
            "/usr/local/share/ca-certificates",
        ),
    ),
    (
        "read",
        "times, languages and names",
        (
            *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/localtime", "/etc/timezone"),
            *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf"),
            *("/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/passwd", "/etc/group"),
            *("/etc/mime.types", "/usr/share/mime"),
        ),
    ),
    (
        "read",
        "the machine's size, and random numbers",
        (
            *("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/filesystems"),
            *("/dev/random", "/dev/urandom", "/dev/zero"),
        ),
    ),
    ("device", "nothing", ("/dev/null",)),
)
# Of the process itself, without `net`, `mounts` and `task`, which tell of the whole machine.
_OF_PROCESS = (
    *("auxv", "cgroup", "cmdline", "fd", "limits", "maps", "smaps", "stat", "statm", "status"),
)
_GIT: tuple[tuple[Access, str], ...] = (
    ("run", "/usr/lib/git-core"),
    ("run", "/usr/libexec/git-core"),
    ("read", "/usr/share/git-core"),
    ("read", "/etc/gitconfig"),
    ("read", "~/.gitconfig"),
    ("read", "~/.config/git"),
)
_NEEDS: Mapping[str, tuple[tuple[Access, str], ...]] = {"git": _GIT}

_DAEMON = (
    "its daemon starts the server outside of this process, as root, so no right would apply; "
    "limit the container itself, or run the server's own command"
)
_LAUNCHER = "it fetches code and starts it; install the server, and give its own command"
_OTHER_USER = "it needs rights of another account, which a confined process never gets"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "kubectl"), _DAEMON),
    **dict.fromkeys(("systemd-run", "flatpak", "snap", "lxc", "machinectl"), _DAEMON),
    **dict.fromkeys(("bunx", "pnpx", "pnpm", "yarn", "pipx", "npm", "uv", "bun"), _LAUNCHER),
    **dict.fromkeys(("sudo", "su", "doas", "pkexec", "runuser"), _OTHER_USER),
}
_PROGRAMS = {"python": "python", "python3": "python", "node": "node", "nodejs": "node"}
_ENVIRONMENT = "python: its environment"
_PYTHON_VALUED = ("-W", "-X", "--check-hash-based-pycs")
_NODE_VALUED = ("-r", "--require", "--import", "--loader", "-C", "--conditions", "--env-file")
_SHARED_PREFIXES = (Path("/"), Path("/usr"), Path("/usr/local"))
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Runtime:
    """A command that can be confined, with whole paths, and what its runtime needs.

    `code` is the part of the needs that belongs to the server, not to the system.
    """

    name: str
    command: tuple[str, ...]
    roots: tuple[Root, ...]
    code: tuple[Root, ...] = ()


def runtime_of(command: Sequence[str], path: str | None, home: Path, cwd: Path) -> Runtime:
    """Return the runtime of a command; raise ConfigurationError if it cannot be confined."""
    program = Path(command[0]).name
    if program in REFUSED:
        raise ConfigurationError(f"{program} cannot be confined: {REFUSED[program]}")
    file_on_path = which(command[0], path=path)
    if file_on_path is None:
        raise ConfigurationError(
            f"{command[0]}: no such program; give its whole path, or put it on PATH"
        )
    file = cwd / file_on_path
    needs = [*_system(), *_program(file, path, home)]
    interpreter, script = _interpreter(file, path)
    kind = _kind(interpreter)
    arguments = list(command[1:])
    code: list[Root] = []
    if kind == "node":
        script = script or _script(arguments, _NODE_VALUED, ())
        code = [*_code(cwd, script, home, "package.json")]
    if kind == "python":
        script = script or _script(arguments, _PYTHON_VALUED, ("-m", "-c"))
        needs_of_python = list(_python(interpreter))
        code = [root for root in needs_of_python if root.reason == _ENVIRONMENT]
        needs += [root for root in needs_of_python if root not in code]
        code += _code(cwd, script, home, "pyproject.toml")
    return Runtime(kind, (str(file), *arguments), (*needs, *code), tuple(code))


def program_roots(name: str, path: str | None, home: Path) -> list[Root]:
    """Return the needs of a program that the server starts, such as git."""
    file_on_path = which(name, path=path)
    if file_on_path is None:
        raise ConfigurationError(f"--run: {name}: no such program")
    roots = list(_program(Path(file_on_path), path, home))
    for access, place in _NEEDS.get(Path(name).name, ()):
        where = home / place[2:] if place.startswith("~/") else Path(place)
        roots += _existing(where, access, f"program {Path(name).name}")
    return roots


def _system() -> Iterator[Root]:
    for access, reason, places in _SYSTEM:
        for place in places:
            yield from _existing(Path(place), access, f"every runtime: {reason}")
    if Path("/proc/self").exists():
        for name in _OF_PROCESS:
            yield Root(f"/proc/self/{name}", "read", "every runtime: facts about this process")


def _existing(place: Path, access: Access, reason: str) -> Iterator[Root]:
    try:
        yield Root(str(place.resolve(strict=True)), access, reason)
    except (OSError, RuntimeError):
        return


def _program(file: Path, path: str | None, home: Path, depth: int = 3) -> Iterator[Root]:
    """Yield the file of a program, and the programs and loaders that its first bytes name."""
    reason = f"program {file.name}"
    yield from _existing(file, "run", reason)
    head = _head(file)
    if head.startswith(b"#!") and depth:
        for word in _shebang(head, path):
            if _is_program(Path(word)):
                yield from _program(Path(word), path, home, depth - 1)
    loader = _loader(head)
    if loader and _is_program(Path(loader)):
        yield from _existing(Path(loader), "run", f"{reason}: its loader")


def _is_program(file: Path) -> bool:
    """Tell whether a file may be started: a server's own file must not name others to be read."""
    try:
        return file.is_file() and bool(file.stat().st_mode & 0o111)
    except OSError:
        return False


def _interpreter(file: Path, path: str | None) -> tuple[Path, Path | None]:
    """Return the program that runs a file, and the file as its script; or the file alone."""
    head = _head(file)
    words = _shebang(head, path) if head.startswith(b"#!") else []
    return (Path(words[-1]), file) if words else (file, None)


def _kind(program: Path) -> str:
    for name in (program.name, program.resolve().name):
        plain = name.rstrip("0123456789.")
        if plain in _PROGRAMS:
            return _PROGRAMS[plain]
    return "program"


def _head(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_HEAD_BYTES)
    except OSError:
        return b""


def _shebang(head: bytes, path: str | None) -> list[str]:
    words = head[2:].split(b"\n", 1)[0].decode(errors="replace").split()
    if not words:
        return []
    if Path(words[0]).name != "env":
        return [words[0]]
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    file_on_path = which(named[0], path=path) if named else None
    return [words[0], file_on_path] if file_on_path else [words[0]]


def _loader(head: bytes) -> str:
    """Return the loader that a 64-bit ELF file names, or an empty text."""
    if head[:5] != b"\x7fELF\x02" or len(head) < 64:
        return ""
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    for number in range(count):
        at = table + number * size
        if at + 40 > len(head):
            return ""
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, at)
        if kind == 3:
            return head[offset : offset + length].rstrip(b"\0").decode(errors="replace")
    return ""


def _script(arguments: Sequence[str], valued: Sequence[str], ending: Sequence[str]) -> Path | None:
    """Return the file that an interpreter runs, or None if its code comes from elsewhere."""
    remaining = iter(arguments)
    for argument in remaining:
        if argument in ending:
            return None
        if argument in valued:
            next(remaining, None)
        elif not argument.startswith("-"):
            return Path(argument)
    return None


def _code(cwd: Path, script: Path | None, home: Path, marker: str) -> Iterator[Root]:
    """Yield the folder of a script's own code: its package, with the packages beside it."""
    if script is None:
        return
    file = (cwd / script).resolve()
    reason = f"code of {file.name}"
    yield from _existing(file, "read", reason)
    folders = [file.parent, *file.parent.parents]
    installed = [folder for folder in folders if folder.name == "node_modules"]
    packages = [folder for folder in folders if (folder / marker).is_file()]
    too_wide = {home, *home.parents, Path("/tmp"), Path("/var/tmp")}  # noqa: S108 - never granted
    for folder in installed[-1:] or packages[:1]:
        if folder not in too_wide:
            yield from _existing(folder, "read", reason)


def _python(interpreter: Path) -> Iterator[Root]:
    """Yield the folders of a Python: its environment, and the installation below that."""
    prefix = interpreter.parent.parent
    settings = prefix / "pyvenv.cfg"
    real = interpreter.resolve()
    installation = real.parent.parent
    if settings.is_file():
        yield from _existing(prefix, "read", _ENVIRONMENT)
        for line in settings.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition("=")
            home = Path(value.strip())
            if name.strip() == "home" and any(map(_is_program, home.glob("python*"))):
                installation = home.resolve().parent
    yield from _existing(real, "run", "python: its program")
    if installation not in _SHARED_PREFIXES:
        yield from _existing(installation / "lib", "read", "python: its library")
