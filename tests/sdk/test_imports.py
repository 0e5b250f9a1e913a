"""What a program loads, and what it does not pay for."""

import subprocess
import sys
from pathlib import Path

import pytest

import nacre

PACKAGE = str(Path(nacre.__file__).parents[1])
LISTING = """
from nacre import ToolServer, tool
@tool
async def add(a: float, b: float) -> float: return a + b
server = ToolServer("s", "1")
server.register_tool(add)
server.tools()
"""


def loaded_by(program: str) -> set[str]:
    script = (
        f"import sys; sys.path.insert(0, {PACKAGE!r}); before = set(sys.modules)\n{program}\n"
        "print('\\n'.join(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_the_package_alone_loads_nothing_else() -> None:
    assert loaded_by("import nacre; nacre.__version__") == {"nacre"}


def test_tools_are_listed_with_the_standard_library_only() -> None:
    loaded = {name.partition(".")[0] for name in loaded_by(LISTING)}

    assert loaded - sys.stdlib_module_names == {"nacre"}
    assert loaded & {"asyncio", "uuid", "socket", "ssl", "pydantic"} == set()


def test_the_validator_is_loaded_by_the_first_call() -> None:
    assert "jsonschema_rs" not in loaded_by(LISTING)
    assert "jsonschema_rs" in loaded_by(
        f"import sys; sys.path += {sys.path!r}\n{LISTING}\nserver.check_arguments('add', {{}})"
    )


@pytest.mark.parametrize("name", nacre.__all__)
def test_every_public_name_is_found(name: str) -> None:
    assert getattr(nacre, name) is not None
    assert name in dir(nacre)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'nacre' has no attribute 'nope'"):
        nacre.nope  # type: ignore[attr-defined]  # noqa: B018
