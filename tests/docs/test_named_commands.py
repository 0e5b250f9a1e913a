"""What pages name of the command line exists, also where it cannot be run here."""

import re
import shlex
from collections.abc import Iterator

import pytest

from tests.docs.blocks import blocks_of, commands_of
from tests.docs.test_blocks import PAGES, name_of
from tests.docs.test_links import ROOT, prose

_INLINE = re.compile(r"`(?:\.venv/bin/)?nacre ([^`]+)`")


def named() -> Iterator[tuple[str, str]]:
    """Give each command line of a text, and of each block that is not run, with its page."""
    for page in PAGES:
        for said in _INLINE.findall(" ".join(prose(page).split())):
            yield name_of(page), said
        for block in blocks_of(page):
            if block.not_run and block.kind.startswith("console"):
                for command in commands_of(block):
                    program, _, rest = command.text.partition(" ")
                    if program.rpartition("/")[2] == "nacre":
                        yield name_of(page), rest


def listed() -> dict[str, str]:
    """Return the help of each command, as the reference has it."""
    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    parts = re.split(r"^## nacre ?(.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


HELP = listed()
_GROUPS = {path.rpartition(" ")[0] for path in HELP if path}


def wrong(line: str) -> str:
    """Return what a command line names that there is not, or nothing."""
    words = shlex.split(line.partition(" -- ")[0].replace("…", ""))
    path = ""
    while path in _GROUPS and words and re.fullmatch("[a-z][a-z-]*", words[0]):
        if f"{path} {words[0]}".strip() not in HELP and "[SERVER" in HELP[path]:
            break  # `wrap` takes names of servers as well
        path = f"{path} {words.pop(0)}".strip()
        if path not in HELP:
            return f"no command {path}"
    for word in words:
        option = word.partition("=")[0]
        if re.fullmatch("--[a-z-]+", option) and not re.search(rf"{option}\b", HELP[path]):
            return f"no option {option}"
    return ""


@pytest.mark.parametrize("page", sorted({page for page, _ in named()}))
def test_every_command_and_option_that_a_page_names_exists(page: str) -> None:
    said = [line for name, line in named() if name == page]

    assert [f"{line}: {problem}" for line in said if (problem := wrong(line))] == []


def test_what_does_not_exist_is_found_out() -> None:
    assert wrong("token create --scope full") == ""
    assert wrong("tokn create") == "no command tokn"
    assert wrong("token creat") == "no command token creat"
    assert wrong("token create --scop full") == "no option --scop"
    assert wrong("wrap files --dry-run") == wrong("wrap status") == ""
    assert wrong("proxy --name x -- COMMAND --its-own") == ""


def test_every_command_runs_as_it_is_written_in_a_clone() -> None:
    """`make setup` puts the command into .venv/bin, which is on nobody's PATH."""
    bare = [
        (name_of(page), command.text)
        for page in PAGES
        for block in blocks_of(page)
        if block.kind.startswith("console")
        for command in commands_of(block)
        if re.match(r"(?:.*[|;&(] *)?nacre ", command.text)
    ]

    assert bare == []
