"""The measured table of the page of benchmarks is the one in the data file."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
FIGURES = ROOT / "tests" / "firewall" / "content" / "injection" / "injection_figures.json"
TITLES = {
    "developed": "developed on",
    "collections": "another author, first run",
    "stranger": "first stranger, judged once, before its misses were read",
    "unseen": "second stranger, judged once, before its misses were read",
    "third": "third stranger, judged once, before its misses were read",
    "fourth": "**fourth stranger, judged once, present features**",
    "without the first": "without the first stranger, present features",
    "without the second": "without the second stranger, present features",
    "without the third": "without the third stranger, present features",
}


def table() -> str:
    lines = ["| Families | attacks found | benign texts flagged |", "|---|---|---|"]
    for name, figures in json.loads(FIGURES.read_text(encoding="utf-8")).items():
        cells = [cell(*figures[column]) for column in ("found", "flagged")]
        lines.append(f"| {TITLES[name]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(hits: int, total: int) -> str:
    return f"{hits:,} of {total:,} ({100 * hits / total:.1f} %)"


def test_the_page_shows_the_measured_figures() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, _, rest = page.partition(f"<!-- figures: {FIGURES.relative_to(ROOT)} -->\n")
    assert rest.partition("<!-- /figures -->")[0] == table() + "\n"
