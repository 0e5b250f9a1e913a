"""The oldest Python that is promised, Debian 12's 3.11.2, has faults that newer patches mended."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "shared" / "nacre"


def repeats_a_group_possessively(source: str) -> bool:
    """Return True for `(…)*+`, `(…)++`, `(…)?+` and `(…){m,n}+` outside character classes."""
    bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "c", source, flags=re.DOTALL)
    return re.search(r"\)(?:[*+?]|\{\d*,?\d*\})\+", bare) is not None


def patterns() -> list[tuple[Path, str]]:
    """Return every text of the package that is a regular expression, with its file."""
    literals = re.compile(
        r"r?[bf]?r?(?P<quote>\"\"\"|'''|\"|')(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)",
        re.DOTALL,
    )
    return [
        (path, match["text"])
        for path in sorted(PACKAGE.rglob("*.py"))
        for match in literals.finditer(path.read_text(encoding="utf-8"))
    ]


def test_no_expression_repeats_a_group_possessively() -> None:
    # Python 3.11.0 to 3.11.4 match them wrongly when the group can be matched in several ways
    # (https://github.com/python/cpython/issues/106052); an atomic group says the same.
    assert [
        (path.relative_to(PACKAGE).as_posix(), text)
        for path, text in patterns()
        if repeats_a_group_possessively(text)
    ] == []
