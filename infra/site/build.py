"""Build the static site of the documentation into site/.

Run it as `python -m infra.site.build`. The site has the same folders as the repository, so that
each link works in both. A link that leads nowhere stops the build.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from infra.site.pages import ROOT, first_sentence, sections, title

SITE = ROOT / "site"
GENERATOR = ROOT / ".tools" / "site" / "bin" / "zensical"
SUMMARY = "One MCP URL for each AI agent, with a memory, orders and a policy firewall."
_LINK = re.compile(r"\]\(([^)\s#]+)")
_CONFIG = """
[project]
site_name = "Nacre"
site_description = {summary}
docs_dir = "source"
site_dir = "site"
nav = {nav}

[project.theme]
font = false
features = ["content.code.copy", "navigation.indexes", "navigation.top", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme)"

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.markdown_extensions.attr_list]
[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
slugify = {{object = "pymdownx.slugs.slugify", kwds = {{case = "lower"}}}}
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
custom_fences = [{{name = "mermaid", class = "mermaid"}}]
"""


def source_pages(root: Path = ROOT) -> list[Path]:
    """Return the Markdown pages of the site."""
    tops = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*tops, *sorted((root / "docs").rglob("*.md")), *sorted(root.glob("examples/*/*.md"))]


def linked_files(pages: list[Path]) -> Iterator[Path]:
    """Yield the files that pages link to and that are no pages themselves."""
    for page in pages:
        for link in _LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / unquote(link)).resolve()
            if ":" not in link and target.is_file() and target not in pages:
                yield target


def build(work: Path, root: Path = ROOT) -> Path:
    """Build the site in the folder `work` and return its folder; raise if a link is broken."""
    source = work / "source"
    shutil.rmtree(work, ignore_errors=True)
    pages = source_pages(root)
    for file in {*pages, *linked_files(pages)}:
        copy = source / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    for page in pages:
        copy = source / page.relative_to(root)
        # The generator knows one word behind a fence; the tests of the pages know a second one.
        copy.write_text(copy.read_text(encoding="utf-8").replace("```console server", "```console"))
    config = _CONFIG.format(summary=json.dumps(SUMMARY), nav=navigation(root))
    (work / "zensical.toml").write_text(config, encoding="utf-8")
    subprocess.run([GENERATOR, "build", "--clean", "--strict"], cwd=work, check=True)
    site = work / "site"
    for page in pages:
        shutil.copyfile(page, site / page.relative_to(root))
    (site / "llms.txt").write_text(llms(root), encoding="utf-8")
    (site / "llms-full.txt").write_text(llms_full(root), encoding="utf-8")
    return site


def navigation(root: Path = ROOT) -> str:
    """Return the site's navigation as TOML."""
    entries = ['"README.md"']
    for name, pages in sections(root / "docs"):
        paths = [json.dumps(str(page.relative_to(root))) for page in pages]
        entries.append(f"{{{json.dumps(name)} = [{', '.join(paths)}]}}")
    return f"[{', '.join(entries)}]"


def llms(root: Path = ROOT) -> str:
    """Return llms.txt: each page with its first sentence, in the order of the documentation."""
    parts = [f"# Nacre\n\n> {SUMMARY}"]
    for name, pages in sections(root / "docs"):
        lines = []
        for page in pages:
            text = page.read_text(encoding="utf-8")
            lines.append(f"- [{title(text)}]({page.relative_to(root)}): {first_sentence(text)}")
        parts.append(f"## {name}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def llms_full(root: Path = ROOT) -> str:
    """Return the text of the README and of every page, in the order of the documentation."""
    pages = [root / "README.md", *(page for _, pages in sections(root / "docs") for page in pages)]
    return "\n\n".join(
        f"<!-- {page.relative_to(root)} -->\n\n{page.read_text(encoding='utf-8').strip()}"
        for page in pages
    )


if __name__ == "__main__":
    try:
        built = build(ROOT / ".tools" / "site-build")
    except subprocess.CalledProcessError:
        sys.exit("site: a page has a broken link, see above")
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(built, SITE)
    count = len(list(SITE.rglob("*.html")))
    print(f"{count} pages in site/; to read them: python -m http.server -d site")
