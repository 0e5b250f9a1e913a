from pathlib import Path

from infra.reference import ROOT, pages


def test_the_generated_pages_are_up_to_date() -> None:
    outdated = [
        str(Path(page).relative_to(ROOT))
        for page, text in pages()
        if not page.exists() or page.read_text() != text
    ]

    assert outdated == [], "run `make reference`"
