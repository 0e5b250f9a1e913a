"""A table of figures says when they were found, on what machine, and by which command."""

import re
from pathlib import Path

import pytest

from tests.docs.test_links import PAGES, ROOT, prose

_HEADER = re.compile(r"(?:^|[\s(,|])(?:ms|µs|calls/s|R@\d+|NMI|requests|operations)(?=[\s,|)])")
_CELL = re.compile(r"\| *[\d.,]+ (?:ms|µs|MB) *(?=\|)")
_TABLE = re.compile(r"^\|(.*)\|\n\|[-:| ]+\|\n((?:\|.*\n)+)", re.MULTILINE)
SAID = {
    "a date": re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2} (?:[A-Z][a-z]+) \d{4}\b"),
    "a machine": re.compile(r"\bcores?\b|\bprocessors\b|\barm64\b"),
    "a command": re.compile(
        r"(?:`|\$ )(?:NACRE_\w+=\S+ )?make [a-z]|\bpython -m |tests/benchmarks/"
    ),
}


def measured(text: str) -> bool:
    """Tell whether a text has a table of figures that were found on a machine."""
    return any(
        _HEADER.search(f"|{header}|") or len(_CELL.findall(rows)) > 1
        for header, rows in _TABLE.findall(text)
    )


def unsaid(text: str) -> list[str]:
    """Return the sections that have figures, with what they do not say of them.

    What stands before the first section counts for all.
    """
    first, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return [
        f"{section.splitlines()[0]}: {what}"
        for section in (first, *sections)
        if measured(section)
        for what, said in SAID.items()
        if not said.search(first + section)
    ]


# A decision tells what was found when it was made.
SHOWN = [page for page in PAGES if page.parent.name != "adr"]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_say_when_where_and_how_they_were_found(page: Path) -> None:
    assert unsaid(page.read_text(encoding="utf-8")) == []


def test_there_are_such_pages_and_a_table_that_says_nothing_is_found_out() -> None:
    pages = {page.stem for page in SHOWN if measured(prose(page))}
    table = "| What | ms |\n|---|---|\n| a call | 1 |\n"

    assert pages >= {"benchmarks", "costs"}
    assert unsaid(f"# A page\n\n## A\n\n{table}") == [f"## A: {what}" for what in SAID]
    assert unsaid(f"# Of 18 November 2026\n\n## A\n\n2 cores, `make bench`:\n\n{table}") == []
