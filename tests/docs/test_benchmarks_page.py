"""The memory that a page says functions have is below what the tests hold them to."""

import re

from tests.docs.test_links import ROOT
from tests.infra.declared import functions

PAGE = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")


def test_every_function_has_its_memory_and_its_start() -> None:
    names = {each["CodeUri"].rstrip("/").rpartition("/")[2] for each in functions().values()}
    [told] = re.findall(r"^Memory at the first request: .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    sizes = {
        name: int(size)
        for size, name in re.findall(r"(\d+)(?: MB)? in `(\w+)`", " ".join(told.split()))
    }
    test = (ROOT / "tests" / "functions" / "test_runtime.py").read_text()
    [held] = re.findall(r"peak_kb < (\d+) \* 1024", test)

    assert sizes.keys() == names
    assert max(sizes.values()) < int(held)
    assert f"asserts the goal, {held} MB for each" in told
    assert {name for name in names if f"\n| `{name}`" in PAGE} == names
