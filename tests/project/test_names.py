"""Names and docstrings of the package say what they are about."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "shared" / "nacre"
VAGUE = {
    *("answered", "asked", "each", "found", "got", "held", "kept", "known", "made"),
    *("meant", "shown", "stuff", "taken", "thing", "told", "wanted"),
    *("it", "them", "these", "those", "what"),
}
# It names no thing: a reader has to guess which.
RIDDLE = re.compile(
    r"^(?:Return|Raise|Say|Yield|Take|Give|Tell|Keep|Send|Write|Read|Hold|Find|Make)s? "
    r"(?:what|whether what|that of|all that|who|whatever)\b"
    r"|^(?:What|How|Whether|Where|Who|When|That|Which|Nothing|Whatever)\b"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def parsed() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE).as_posix(), ast.parse(file.read_text())


def locals_of(function: Function) -> set[str]:
    """Return the names of a function's parameters and variables."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = {parameter.arg for parameter in parameters}
    return names | {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def vague_names(module: ast.Module) -> set[str]:
    functions = (node for node in ast.walk(module) if isinstance(node, Function))
    return {name for function in functions for name in locals_of(function) & VAGUE}


def riddles(module: ast.Module) -> list[str]:
    described = (node for node in ast.walk(module) if isinstance(node, Described))
    docstrings = (ast.get_docstring(node) for node in described)
    return [text.splitlines()[0] for text in docstrings if text and RIDDLE.search(text)]


def test_variables_are_named_after_what_they_hold() -> None:
    assert {file: names for file, module in parsed() if (names := vague_names(module))} == {}


def test_docstrings_say_what_a_thing_is_or_does() -> None:
    assert {file: texts for file, module in parsed() if (texts := riddles(module))} == {}


@pytest.mark.parametrize(
    ("source", "names", "texts"),
    [
        ("def f(hits):\n    return [hit for hit in hits]", set(), []),
        ("def f(found):\n    return [each for each in found]", {"found", "each"}, []),
        ("f = lambda told: told", {"told"}, []),
        ('def f():\n    """Return what is there."""', set(), ["Return what is there."]),
        ('"""How a thing is done."""', set(), ["How a thing is done."]),
        ('"""Return the hits of a search."""', set(), []),
    ],
)
def test_the_check_finds_them(source: str, names: set[str], texts: list[str]) -> None:
    module = ast.parse(source)
    assert vague_names(module) == names
    assert riddles(module) == texts
