"""The tree that a release is built from: the tracked files, with a README for PyPI."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from infra.layers.build import ROOT
from nacre import __version__

PLACEHOLDER = "OWNER/nacre"
_LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\((?!https?:|#)([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Release:
    """A version of the project, and the repository on GitHub that publishes it."""

    repository: str
    version: str = __version__

    @property
    def url(self) -> str:
        """The address of the repository."""
        return f"https://github.com/{self.repository}"

    @property
    def server_name(self) -> str:
        """The name in the MCP registry, which GitHub's owner proves."""
        owner = self.repository.partition("/")[0]
        return f"io.github.{owner}/nacre"

    @property
    def image(self) -> str:
        """The name of the container image; registries want small letters."""
        return f"ghcr.io/{self.repository.lower()}:{self.version}"

    def file_url(self, name: str) -> str:
        """Return the address of a file of this release."""
        return f"{self.url}/releases/download/v{self.version}/{name}"


def copy_tree(folder: Path, release: Release) -> None:
    """Copy every tracked file into a folder, as it is in the working tree."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    readme = folder / "README.md"
    readme.write_text(published_readme(readme.read_text(), release))


def published_readme(text: str, release: Release) -> str:
    """Return a README whose links work outside of the repository.

    The comment at the end proves to the MCP registry whose package this is.
    """

    def absolute(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        kind = "raw" if image else "blob"
        label = _LINK.sub(absolute, label)
        return f"{image}[{label}]({release.url}/{kind}/v{release.version}/{target})"

    return f"{_LINK.sub(absolute, text).rstrip()}\n\n<!-- mcp-name: {release.server_name} -->\n"
