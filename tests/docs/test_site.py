"""The static site: its order, llms.txt, and a build that stops at a broken link."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.site.build import GENERATOR, build, linked_files, llms, source_pages
from infra.site.pages import DOCS, ROOT, first_sentence, sections


def test_each_page_has_one_place_in_the_order() -> None:
    placed = [page for _, pages in sections() for page in pages]

    assert len(placed) == len(set(placed))
    assert {*placed, DOCS / "README.md"} == set(DOCS.rglob("*.md"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# A page\n\nOne is here. Two.\n", "One is here."),
        ("# A page\n\n<!-- note -->\n\nSee [it](b.md)\nin 3.11. Next.\n", "See it in 3.11."),
        ("# A page\n\n**Bold** words only\n\nMore.\n", "Bold words only"),
    ],
)
def test_the_first_sentence_of_a_page_has_no_links(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_every_page_in_llms_txt_has_a_sentence() -> None:
    entries = [line for line in llms().splitlines() if line.startswith("- ")]

    assert len(entries) == len(list(DOCS.rglob("*.md"))) - 1
    assert [line for line in entries if not line.endswith((".", ":", "?")) or "|" in line] == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of everything that the site is built from."""
    pages = source_pages()
    for file in {*pages, *linked_files(pages)}:
        target = tmp_path / "copy" / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return tmp_path / "copy"


needs_generator = pytest.mark.skipif(not GENERATOR.exists(), reason="make site installs it")


@needs_generator
@pytest.mark.slow
def test_the_site_can_be_searched_and_read_as_markdown(tmp_path: Path, copy: Path) -> None:
    site = build(tmp_path / "work", copy)

    assert "Deploy" in (site / "docs" / "guides" / "deploy" / "index.html").read_text()
    assert (site / "docs" / "guides" / "deploy.md").is_file()
    assert [page for page in site.rglob("index.html") if "```" in page.read_text()] == []
    assert len(json.loads((site / "search.json").read_text())["items"]) > 300
    assert (site / "llms-full.txt").read_text().count("\n# ") > 40


@needs_generator
@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "connect.md#no-such-heading"])
def test_a_broken_link_stops_the_build(tmp_path: Path, copy: Path, link: str) -> None:
    with (copy / "docs" / "guides" / "deploy.md").open("a") as page:
        page.write(f"\n[A link]({link})\n")

    with pytest.raises(subprocess.CalledProcessError):
        build(tmp_path / "work", copy)
