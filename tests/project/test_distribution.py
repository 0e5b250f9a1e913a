"""The names and versions that go to PyPI, and what pages may say of them."""

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA = ("tables", "encoder", "english")
# A new version for changed data: a wheel is never replaced on PyPI, and upgrades compare versions.
RELEASES = {
    "tables": ("1.0.0", "f797960ab1b5b70420591409fbb1ba4062b5129b22d47006dd5bf8af293fdedd"),
    "encoder": ("1.0.0", "70fa3b853055f81a96b231fa3f7da0e2bed60bc4b6009c5d9841c967848b6351"),
    "english": ("1.0.0", "b8d21f1805a96da9349a374a66ae1a5f7b57593c096fa4514b64f0c510fe2b22"),
}
# Until the owner has registered the names, an install by name would run somebody else's code.
BY_NAME = re.compile(
    r"(?:uvx(?! --from)|uv tool (?:install|run)|pipx (?:install|run)|pip install)"
    r"(?: -[-\w]+)* [\"']?nacre"
    r"|uvx --from [\"']?nacre-mcp(?![\w./_])"
)


def project(folder: Path) -> dict[str, Any]:
    """Return the metadata of a distribution."""
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


def test_the_data_wheels_are_pinned_in_the_versions_that_are_here() -> None:
    optional = project(ROOT)["optional-dependencies"]
    required = [*project(ROOT)["dependencies"], *optional["best"]]
    pinned = {name for name in required if name.startswith("nacre-mcp-")}

    here = [project(ROOT / "shared" / f"nacre_{kind}") for kind in DATA]
    assert pinned == {f"{data['name']}=={data['version']}" for data in here}


@pytest.mark.parametrize("kind", DATA)
def test_changed_data_has_a_new_version(kind: str) -> None:
    folder = ROOT / "shared" / f"nacre_{kind}"
    digest = hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest()

    assert (project(folder)["version"], digest) == RELEASES[kind]


def test_no_page_installs_by_a_name_that_is_not_registered() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    by_name = {
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in pages
        for match in BY_NAME.finditer(page.read_text())
    }

    assert by_name == set()


@pytest.mark.parametrize(
    ("text", "is_by_name"),
    [
        ("uvx nacre-mcp serve", True),
        ("uvx --from nacre-mcp nacre serve", True),
        ("uv tool install nacre-mcp", True),
        ("pipx install 'nacre-mcp[openai]'", True),
        ("uvx --from dist/nacre_mcp-0.1.0-py3-none-any.whl nacre serve", False),
        ("uv tool install dist/nacre_mcp-0.1.0-py3-none-any.whl", False),
        ('pip install uv && uv tool install "git+URL"', False),
        ("uv tool uninstall nacre-mcp", False),
    ],
)
def test_an_install_by_name_is_recognised(text: str, is_by_name: bool) -> None:
    assert bool(BY_NAME.search(text)) is is_by_name
