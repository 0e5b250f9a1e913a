"""The guide's pages about servers that people use agree with what suites install and run."""

import json
import re

import pytest

from infra.site.pages import ROOT
from nacre.firewall.analysis.lint import lint
from nacre.firewall.policies.loader import load_policy
from nacre.gateway.servers.config import read_servers
from tests.scaffolding.server_pages import FOLDER, HOSTED, PAGES, pinned_packages, server_page

SUITE = ROOT / "tests" / "end_to_end" / "clients" / "test_guide_servers.py"
ROW = re.compile(r"\| \[[^\]]+\]\((?P<page>[a-z]+)\.md\) \| (?P<package>[^|]+) \|")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_looks_wrong_in_the_policy_of_a_page(name: str) -> None:
    policy = load_policy(server_page(name).policy, source=f"{name}.md")

    assert [finding.text for finding in lint(policy)] == []


@pytest.mark.parametrize("name", PAGES)
def test_the_entry_of_a_page_is_one_for_the_gateway(name: str) -> None:
    page = server_page(name)
    servers = read_servers(
        json.dumps({"mcpServers": {page.server: page.entry}}), source="servers.json"
    )

    assert [config.name for config in servers.servers] == [page.server]
    assert servers.problems == ()


@pytest.mark.parametrize("name", sorted({*PAGES} - {HOSTED}))
def test_a_page_is_about_the_version_that_is_installed_here(name: str) -> None:
    assert server_page(name).package in pinned_packages()


def test_the_index_lists_each_page_with_its_package() -> None:
    rows = {row["page"]: row["package"] for row in ROW.finditer((FOLDER / "index.md").read_text())}
    packages = {
        name: "`{}` {}".format(*server_page(name).package) for name in PAGES if name != HOSTED
    }

    assert len(PAGES) == 10
    assert rows == {**packages, HOSTED: "GitHub's, hosted"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_version_and_is_tried(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text()
    if name != HOSTED:
        assert "`{}` {} ".format(*server_page(name).package) in text

    assert f'server_page("{name}")' in SUITE.read_text()
