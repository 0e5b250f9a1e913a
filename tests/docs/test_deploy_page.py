import re
from pathlib import Path

from tests.docs.test_links import PAGES
from tests.infra.declared import ROOT, functions, template

PAGE = (ROOT / "docs" / "guides" / "deploy.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]


def test_the_guide_has_a_row_for_every_parameter() -> None:
    rows = {name for row in ROWS for name in re.findall(r"`([A-Z]\w+)`", row.split("|")[1])}

    assert rows == set(template()["Parameters"])


def test_the_guide_names_the_memory_and_the_time_of_every_function() -> None:
    sizes = {
        Path(function["CodeUri"]).name: f"{function['MemorySize']} MB, {function['Timeout']} s"
        for function in functions().values()
    }

    assert {name for name, size in sizes.items() if f"\n| `{name}` | {size} |" in PAGE} == {*sizes}


def test_no_page_and_no_hint_installs_the_package_of_another_project() -> None:
    """On PyPI `nacre` is somebody else's; ours comes from a clone."""
    by_name = re.compile(r"pip install [^\n`]*?(?<![\w/.])nacre(?:\[[a-z,]+\])?(?!\w| @)")
    files = [*PAGES, *(ROOT / "shared").rglob("*.py"), *(ROOT / "examples").rglob("*.yml")]
    others = [str(file.relative_to(ROOT)) for file in files if by_name.search(file.read_text())]

    assert others == []
    assert by_name.search("pip install --upgrade 'nacre[serve]'")
    assert not by_name.search('pip install "nacre @ git+https://git.example.com/nacre.git"')
