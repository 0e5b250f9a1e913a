"""A world for confined programs: folders inside and outside of their rights, and a victim."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.firewall.confine import system_calls as calls
from nacre.firewall.confine.confined_server import (
    ConfinedStart,
    OwnerGrants,
    Server,
    check_machine,
    confined_rights,
)
from nacre.firewall.confine.launch import abi
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.rule import Surroundings

HOSTILE = Path(__file__).with_name("hostile_server.py")
NUMBERS = {
    "x86_64": [316, 303, 234, 101, 310, 311, 438, 308, 272, 56, 165, 166, 126, 135, 251],
    "aarch64": [276, 264, 131, 117, 270, 271, 438, 268, 97, 220, 40, 39, 91, 92, 30],
}
LOADERS = {
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
    "aarch64": "/lib/ld-linux-aarch64.so.1",
}
IS_SUPPORTED = sys.platform == "linux" and abi() >= 1 and os.uname().machine in NUMBERS


def server_of(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: dict[str, str] | None = None,
    bases: Sequence[Path] = (),
    grants: OwnerGrants = OwnerGrants(),  # noqa: B008 - it never changes
    name: str = "files",
) -> Server:
    """Return a server on this machine."""
    home = Path.home()
    where = Surroundings(is_local=True, home=str(home), bases=tuple(map(str, bases)))
    return Server(
        name=name,
        command=tuple(command),
        where=where,
        environment=dict(os.environ) if environment is None else environment,
        cwd=cwd,
        home=home,
        grants=grants,
    )


def confined(rules: str, server: Server, packages: Path) -> ConfinedStart:
    """Return the start of a server whose rights follow from rules."""
    policy = load_policy(rules, source="policy.toml")
    runtime, rights = confined_rights(
        policy, server, forbidden=(), packages=packages, tell=lambda _: None
    )
    check_machine(rights)
    return ConfinedStart(runtime, rights, server)


def output_of(
    start: ConfinedStart, cwd: Path, *, text: bytes = b"", descriptors: Sequence[int] = ()
) -> tuple[int, bytes]:
    """Run a confined program to its end, and return its exit code and its output."""
    process = subprocess.Popen(
        list(start.command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=start.stderr,
        env=start.environment,
        pass_fds=(*start.descriptors, *descriptors),
        cwd=cwd,
    )
    start.release()
    try:
        out, _ = process.communicate(text, timeout=300)
        return process.returncode, out
    finally:
        process.kill()
        start.close()


@dataclass
class World:
    """The places of a world; `state` is everything that an attacker could have changed."""

    folder: Path
    victim: int = 0
    ports: dict[str, int] = field(default_factory=dict)
    abstract: str = ""

    @property
    def root(self) -> Path:
        """The folder that the program may change."""
        return self.folder / "root"

    @property
    def readable(self) -> Path:
        """The folder that the program may read."""
        return self.folder / "readable"

    @property
    def outside(self) -> Path:
        """The folder that it has no right to."""
        return self.folder / "outside"

    def rules(self) -> str:
        """Return rules that name the folders and one port."""
        return f"""
[[rule]]
action = "allow"
tool = "write_file"
args.path = "{self.root}/**"
[[rule]]
action = "allow"
tool = "read_file"
args.path = "{self.readable}/**"
[[rule]]
action = "allow"
tool = "fetch"
args.url = "http://127.0.0.1:{self.ports["open"]}/**"
"""

    def facts(self, *, kinds: Sequence[str] = ()) -> dict[str, Any]:
        """Return what the hostile program is told."""
        named = [call for group in calls.DENIED.values() for call in group]
        machine = os.uname().machine
        pairs = [
            (call.name, call.x86_64 if machine == "x86_64" else call.arm64)
            for call in (*named, *calls.UNSUPPORTED)
        ]
        return {
            "root": str(self.root),
            "readable": str(self.readable),
            "outside": str(self.outside),
            "victim": self.victim,
            "starter": os.getpid(),
            "socket": str(self.outside / "socket"),
            "abstract": self.abstract,
            "closed_port": self.ports["closed"],
            "udp_port": self.ports["udp"],
            "programs": [
                name
                for name in ("/bin/sh", "/bin/bash", "/usr/bin/env", "/usr/bin/id", "/bin/cat")
                if Path(name).exists()
            ],
            "loader": LOADERS[machine],
            "program_in_root": str(self.root / "program"),
            "script_in_root": str(self.root / "script"),
            "secret_variables": ["SECRET_TOKEN", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"],
            "denied": {name: number for name, number in pairs if number is not None},
            "numbers": NUMBERS[machine],
            "kinds": list(kinds),
        }

    def state(self) -> dict[str, Any]:
        """Return names, contents, modes, owners, times and attributes outside of the root."""
        files = {}
        for top in (self.outside, self.readable):
            for path in (top, *sorted(top.rglob("*"))):
                facts = path.lstat()
                digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                files[str(path.relative_to(self.folder))] = (
                    *(facts.st_mode, facts.st_uid, facts.st_mtime_ns, facts.st_nlink, digest),
                    tuple(os.listxattr(path, follow_symlinks=False)),
                )
        return files


@contextmanager
def world_in(folder: Path) -> Iterator[World]:
    """Prepare a world, with a victim process and listening sockets, until the block ends."""
    world = World(folder)
    for place in (world.root / "sub", world.readable, world.outside / "folder" / "empty"):
        place.mkdir(parents=True)
    (world.outside / "secret.txt").write_text("the secret of the house\n")
    (world.outside / "folder" / "inside.txt").write_text("more\n")
    (world.readable / "note.txt").write_text("read me\n")
    for name in ("program", "script"):
        (world.root / name).write_bytes(
            Path("/bin/true").read_bytes() if name == "program" else b"#!/bin/sh\nexit 0\n"
        )
        (world.root / name).chmod(0o755)
    (world.root / "to-outside").symlink_to(world.outside)
    (world.root / "chain").symlink_to("sub/../to-outside")
    world.abstract = f"nacre-{os.getpid()}-{folder.name}"
    sockets = []
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE
    ) as victim:
        world.victim = victim.pid
        for name, kind in (
            ("open", socket.SOCK_STREAM),
            ("closed", socket.SOCK_STREAM),
            ("udp", socket.SOCK_DGRAM),
        ):
            listener = socket.socket(socket.AF_INET, kind)
            listener.bind(("127.0.0.1", 0))
            world.ports[name] = listener.getsockname()[1]
            sockets.append(listener)
        for address in (str(world.outside / "socket"), f"\0{world.abstract}"):
            named = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            named.bind(address)
            sockets.append(named)
        for listener in sockets[:2]:
            listener.listen(64)
        try:
            yield world
        finally:
            for listener in sockets:
                listener.close()
            victim.kill()


def attacked(
    world: World, *, kinds: Sequence[str] = (), is_confined: bool = True, leaked: int = -1
) -> dict[str, Any]:
    """Let the hostile program try everything, and return what it tried and what succeeded."""
    plan = world.folder / "readable" / "plan.json"
    plan.write_text(json.dumps(world.facts(kinds=kinds)))
    line = [sys.executable, "-I", "-S", str(HOSTILE), str(plan)]
    if not is_confined:
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        return dict(json.loads(done.stdout))
    environment = {
        **os.environ,
        "SECRET_TOKEN": "x",
        "SSH_AUTH_SOCK": str(world.outside / "socket"),
    }
    server = server_of(line, cwd=world.root, environment=environment)
    start = confined(world.rules(), server, world.folder / "packages")
    before = world.state()
    code, out = output_of(start, world.root, descriptors=(leaked,) if leaked >= 0 else ())
    assert code == 0
    result = dict(json.loads(out))
    after = world.state()
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    return {**result, "changed": sorted(changed)}
