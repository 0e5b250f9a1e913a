import re
from pathlib import Path

from infra.reference import SHARED_OPTIONS, commands, limits, pages
from infra.site.pages import ROOT


def test_the_generated_pages_are_up_to_date() -> None:
    outdated = [
        str(Path(page).relative_to(ROOT))
        for page, text in pages()
        if not page.exists() or page.read_text() != text
    ]

    assert outdated == [], "run `make reference`"


def test_options_that_most_commands_share_are_explained_once() -> None:
    text = commands()

    for name, meaning in SHARED_OPTIONS:
        option = name.rpartition(", ")[2].partition(" ")[0]
        assert text.count(meaning) <= 2, name  # in the table, and at the program itself
        assert len(re.findall(rf"^  Shared: .*{option}\b", text, re.MULTILINE)) > 40, name


def test_each_limit_is_one_row_with_its_whole_reason() -> None:
    _, _, table = limits().partition("|---|---|---|\n")

    rows = [line.strip("|").split(" | ") for line in table.strip().splitlines()]
    assert [row for row in rows if len(row) != 3 or not row[0].startswith(" `")] == []
    [lost] = [row for row in rows if "`JOB_LOST_SECONDS`" in row[0]]
    assert lost[2].strip().endswith("a day's overload adds one job a Being")
