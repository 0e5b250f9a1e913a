"""The guide's pages about servers that people use: each has an entry and a policy to try."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.site.pages import DOCS
from infra.tools import NPM_PINS, PINS, npm_modules, programs
from tests.docs.blocks import blocks_of
from tests.scaffolding.third_party import NODE, ROOT

FOLDER = DOCS / "guides" / "servers"
PAGES = tuple(sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "index"))
HOSTED = "github"  # what no machine can install

_PACKAGE = re.compile(r"(?P<name>@?[^@]+)@(?P<version>[\d.]+)")


@dataclass(frozen=True)
class ServerPage:
    """One page: the name that it gives the server, the server's entry, and the policy."""

    server: str
    entry: dict[str, Any]
    policy: str

    @property
    def package(self) -> tuple[str, str]:
        """The package that is started, and its version."""
        found = [match for each in self.entry["args"] if (match := _PACKAGE.fullmatch(each))]
        assert len(found) == 1, self.entry
        return found[0]["name"], found[0]["version"]

    def placed(self, places: dict[str, str]) -> "ServerPage":
        """Return the page as its reader would change it: other folders, ports and hosts."""
        entry, policy = json.dumps(self.entry), self.policy
        for written, own in places.items():
            assert written in entry or written in policy, f"the page says nothing of {written}"
            entry, policy = entry.replace(written, own), policy.replace(written, own)
        return ServerPage(self.server, json.loads(entry), policy)

    def installed(self, *more: str) -> dict[str, Any]:
        """Return the entry with the same version as it is installed here, for `npx` and `uvx`."""
        arguments: list[str] = self.entry["args"]
        (at,) = (at for at, each in enumerate(arguments) if _PACKAGE.fullmatch(each))
        name, _ = self.package
        assert self.package in pinned_packages()
        if self.entry["command"] == "npx":
            command = [str(NODE / ".bin" / "node"), str(_script(name))]
        else:
            folder = next(
                tool for tool, pins in PINS.items() if f"{name}=={self.package[1]}" in pins
            )
            try:
                command = [str(programs(folder) / name)]
            except (OSError, subprocess.CalledProcessError) as error:
                pytest.skip(f"{name} cannot be installed here: {error}")
        given = [*command, *arguments[at + 1 :], *more]
        return {**self.entry, "command": given[0], "args": given[1:]}


def server_page(name: str) -> ServerPage:
    """Read one page."""
    blocks = blocks_of(FOLDER / f"{name}.md")
    (written,) = (block.code for block in blocks if block.kind == "json")
    (policy,) = (block.code for block in blocks if block.kind == "toml")
    ((server, entry),) = json.loads(written)["mcpServers"].items()
    return ServerPage(server, entry, policy)


def pinned_packages() -> set[tuple[str, str]]:
    """Return the packages that suites install, each with its version."""
    node = json.loads((ROOT / "infra" / "node" / "package.json").read_text())["dependencies"]
    python = (pin.split("==") for pins in PINS.values() for pin in pins if "==" in pin)
    return {*node.items(), *NPM_PINS.values(), *((name, version) for name, version in python)}


def _script(package: str) -> Path:
    """Return the script that starts a package from npm; skips the test where there is none."""
    others = {name: folder for folder, (name, _) in NPM_PINS.items()}
    try:
        modules = npm_modules(others[package]) if package in others else NODE
        (script,) = json.loads((modules / package / "package.json").read_bytes())["bin"].values()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{package} is not installed; make conformance does it ({error})")
    return modules / package / str(script)
