"""The packages that a plain installation has, in the versions and with the files of uv.lock."""

import subprocess
import tomllib
from dataclasses import dataclass

from packaging.markers import Marker, default_environment

from infra.layers.build import ROOT, find_uv


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """A package with its source archive, where it has one."""

    name: str
    version: str
    url: str
    sha256: str


def requirements() -> list[str]:
    """Return the pins of everything but our own packages, with their markers."""
    exported = subprocess.run(
        [
            *(find_uv(), "export", "--quiet", "--locked", "--no-header", "--no-annotate"),
            *("--no-hashes", "--no-dev", "--no-emit-workspace", "--project", str(ROOT)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return exported.stdout.splitlines()


def packages(platform: str) -> list[LockedPackage]:
    """Return the packages of one platform, such as "darwin", on CPython."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    by_name = {
        (package["name"], package.get("version", "")): package for package in lock["package"]
    }
    chosen = []
    for line in requirements():
        pin, _, marker = line.partition(";")
        name, _, version = pin.strip().partition("==")
        if _applies(marker, platform):
            archive = by_name[name, version]["sdist"]
            sha256 = archive["hash"].removeprefix("sha256:")
            chosen.append(LockedPackage(name, version, archive["url"], sha256))
    return chosen


def _applies(marker: str, platform: str) -> bool:
    """Tell whether a marker of the lock holds on a platform, for CPython 3.13."""
    if not marker.strip():
        return True
    environment = {
        **default_environment(),
        "sys_platform": platform,
        "platform_system": {"darwin": "Darwin", "linux": "Linux"}[platform],
        "os_name": "posix",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "python_version": "3.13",
        "python_full_version": "3.13.0",
    }
    return Marker(marker).evaluate({name: str(value) for name, value in environment.items()})
