import json
import linecache
import re
import shutil
import sys
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

# When it is first imported, it keeps the sys.stderr of that moment for all programs that it starts.
# One that a test's capture put there is closed by the time a block starts a program.
import mcp.client.stdio  # noqa: F401
import pytest

from infra.local_cloud import free_port
from tests.docs.blocks import READ, RUN, Block, blocks_of, commands_of, matches
from tests.docs.shell import Shell

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The ports that the pages write; each run of a page takes free ones instead.
PORT = "8642"
MODEL_PORT = "18765"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def printed_by(server: str) -> dict[str, str]:
    """What the pages write for what each server makes anew, from what this one printed."""
    found = {
        "YOUR_URL": re.search(r"^URL: +(\S+)$", server, re.MULTILINE),
        "YOUR_TOKEN": re.search(r"^Token: +(\S+)$", server, re.MULTILINE),
    }
    return {name: match[1] for name, match in found.items() if match}


def at_port(code: str, port: str) -> str:
    # -o: the environment that runs this test is not set up anew beneath it.
    make = f"make --no-print-directory -o .venv/.ready-serve -C {ROOT}"
    served = code.replace(PORT, port)
    served = served.replace("make serve", f'{make} serve ARGS="--port {port}"')
    return re.sub(r"(?<=nacre serve)\b(?![^\n]*--port)", f" --port {port}", served)


def run_python(block: Block, code: str, page: str, module: ModuleType) -> None:
    file = f"{page}:{block.line}"
    lines = ["\n"] * (block.line - 1) + code.splitlines(keepends=True)
    linecache.cache[file] = (len(code), None, lines, file)
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile("".join(lines), file, "exec"), vars(module))
    assert matches(block.output or "", printed.getvalue()) or block.output is None, (
        f"{file} printed:\n{printed.getvalue()}"
    )


def run_console(block: Block, code: str, page: str, shell: Shell, made: dict[str, str]) -> None:
    for name, value in made.items():
        code = code.replace(name, value)
    commands = commands_of(Block(block.kind, code, block.line))
    for command in commands:
        if block.kind == "console server" and command is commands[-1]:
            made |= printed_by(shell.serve(command.text, command.expected))
            continue
        if command.text.startswith("curl ") and shutil.which("curl") is None:
            continue  # a bare Debian has none
        status, printed = shell.run(command.text)
        assert (status, matches(command.expected, printed)) == (command.status, True), (
            f"{page}:{block.line}: `{command.text}` ended with {status} and printed:\n{printed}"
        )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_does_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, port, model_port = name_of(page), str(free_port()), str(free_port())
    environment = {"NACRE_HOME": str(tmp_path / "nacre"), "HOME": str(tmp_path)}
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    # Registered, because dataclasses and type hints look their module up by name.
    module = ModuleType(re.sub(r"\W", "_", name))
    monkeypatch.setitem(sys.modules, module.__name__, module)

    # What a reader finds in the folder of his clone.
    for folder, target in {".venv": Path(sys.prefix), "examples": ROOT / "examples"}.items():
        (tmp_path / folder).symlink_to(target)
    made: dict[str, str] = {}

    with Shell(tmp_path, environment) as shell:
        for block in blocks_of(page):
            if block.not_run:
                continue
            code = at_port(block.code, port).replace(MODEL_PORT, model_port)
            match block.kind:
                case "python":
                    run_python(block, code, name, module)
                case "console" | "console server":
                    run_console(block, code, name, shell, made)
                case "json":
                    json.loads(code)
                case "toml":
                    tomllib.loads(code)
                case _:
                    assert block.kind in READ, f"{name}:{block.line}: {block.kind}"


def every_block() -> list[tuple[str, Block]]:
    return [(f"{name_of(page)}:{block.line}", block) for page in PAGES for block in blocks_of(page)]


def test_every_block_says_what_it_is() -> None:
    unknown = {where: b.kind for where, b in every_block() if b.kind not in RUN | READ}

    assert unknown == {}, f"known are {sorted(RUN | READ)}"


def test_a_block_that_is_not_run_says_why() -> None:
    """The list is the point: `pytest -rA` prints it, and a reason is a sentence."""
    not_run = {where: block.not_run for where, block in every_block() if block.not_run is not None}
    for where, reason in not_run.items():
        print(f"not run: {where}: {reason}")

    assert [where for where, reason in not_run.items() if len(reason.split()) < 3] == []
    assert [where for where, b in every_block() if b.not_run and b.kind not in RUN] == []
