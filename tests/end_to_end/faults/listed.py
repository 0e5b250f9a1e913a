"""Print the tests that docs/concepts/faults.md names: python -m tests.end_to_end.faults.listed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "concepts" / "faults.md"
_TEST = re.compile(r"\[`(test_\w+)`\]\(\.\./\.\./(tests/[\w/]+\.py)\)")


def rows() -> list[tuple[str, str, list[str]]]:
    """Return each fault with what is expected of it and the tests that show it."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and line.startswith("|") and cells[0] not in ("Fault", "---"):
            tests = [f"{path}::{name}" for name, path in _TEST.findall(cells[2])]
            found.append((cells[0], cells[1], tests))
    return found


def listed() -> list[str]:
    """Return every test that a row names, once and in order."""
    return list(dict.fromkeys(test for *_, tests in rows() for test in tests))


if __name__ == "__main__":
    print("\n".join(listed()))
