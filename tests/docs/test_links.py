import re
import subprocess
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    if (ROOT / name).is_file()
)
_FENCED = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)


@cache
def prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text())


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that a code host makes of headings."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.+?) *#*$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return frozenset(
        f"{slug}-{n}" if n else slug for slug, last in found.items() for n in range(last + 1)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    broken = []
    for inline, reference in _LINK.findall(prose(page)):
        link = inline or reference
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_page_of_the_docs_is_reachable_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    seen: set[Path] = set()
    open_pages = [index]
    while open_pages:
        page = open_pages.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        open_pages += [
            target
            for inline, _ in _LINK.findall(prose(page))
            if (target := (page.parent / inline.partition("#")[0]).resolve()).is_file()
        ]

    assert {page for page in PAGES if index.parent in page.parents} - seen == set()


def test_every_make_verb_that_a_page_names_exists() -> None:
    verbs = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        f"{page.relative_to(ROOT)}: {verb}"
        for page in PAGES
        for verb in re.findall(r"`make ([a-z0-9-]+)", page.read_text())
        if verb not in verbs
    }

    assert named == set()


def test_every_program_and_test_that_a_page_names_exists() -> None:
    """What `python -m` starts, and files of the project in a text of code."""
    missing = []
    for page in PAGES:
        text = page.read_text()
        modules = re.findall(r"python -m ((?:infra|tests)(?:\.\w+)+)", text)
        files = re.findall(r"`((?:infra|tests|examples|functions|shared)/[\w/.-]+\.\w+)`", text)
        paths = [each.replace(".", "/") for each in modules]
        missing += [
            f"{page.relative_to(ROOT)}: {name}"
            for name, found in (
                *((each, (ROOT / f"{each}.py", ROOT / each / "__main__.py")) for each in paths),
                *((each, (ROOT / each,)) for each in files),
            )
            if not any(path.is_file() for path in found)
        ]

    assert missing == []
