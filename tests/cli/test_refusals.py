"""Data commands: what is refused, and what is never written."""

import io
import os
from pathlib import Path

import click
import pytest

from nacre.access.tokens.token_format import digest
from nacre.cli.commands import COMMANDS, commands
from nacre.cli.exit_codes import EXIT_CODES
from nacre.wiring.laptop import open_home
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, start


@pytest.mark.parametrize("arguments", [(), ("tok_1", "--all")])
def test_one_token_or_all_but_not_both_are_revoked(
    nacre: Nacre, arguments: tuple[str, ...]
) -> None:
    assert nacre("token", "revoke", *arguments).code == 2


@pytest.mark.parametrize("value", [b"", b"\n", b"\xff", b"x" * 4097])
def test_a_value_that_is_no_secret_is_refused(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(value)))

    assert nacre("secret", "set", "A").code == 2


@pytest.mark.parametrize("name", ["a/b", "../x", "", ".hidden", "1", "x" * 65, "a b"])
def test_a_secret_has_a_plain_name(nacre: Nacre, name: str) -> None:
    refused = nacre("secret", "unset", name)

    assert refused.code == 2
    assert "a secret's name" in refused.err


def test_nothing_is_coloured(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    nacre("being", "create", "Ann")

    for command in (["being", "list"], ["status"], ["token", "list"], ["being", "create", "Ann"]):
        outcome = nacre(*command)
        assert "\x1b" not in outcome.out + outcome.err


def test_a_token_is_stored_by_its_hash_alone(nacre: Nacre, folder: Path) -> None:
    nacre("being", "create", "Ann")
    token = nacre("token", "create", "--scope", "full").out.strip()

    stored = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())

    assert digest(token).encode() in stored
    assert token.encode() not in stored
    home = open_home(folder)
    assert home.tokens.lookup(digest(token)) is not None
    home.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["foo"], "No such command 'foo'"),
        (["--foo"], "No such option '--foo'"),
        (["token", "create"], "Missing option '--scope'. Choose from: full, read-only"),
        (["token", "create", "--scope", "all"], "'all' is not one of 'full', 'read-only'"),
        (["token", "create", "--scope", "full", "--ttl", "90"], "'90' is not a time such as 90d"),
        (["token", "create", "--scope", "full", "--ttl", "999999999w"], "is too long"),
        (["token", "create", "--scope", "full", "--ttl", "0s"], "a token lives between"),
        (["token", "create", "--scope", "full", "--ttl", "11y"], "'11y' is not a time"),
        (["being", "create", ""], "a Being's name has 1 to 64 characters"),
        (["being", "create", "a\nb"], "one line of printable characters"),
        (["owner", "add", "Ann"], "an owner's name has 1 to 32 of"),
        (["--stack", "a", "--data-dir", "b", "being", "list"], "--stack and --data-dir"),
        (["serve", "--stack", "a"], "serve runs on this machine"),
        (["--stack", "a", "mcp-server"], "mcp-server serves this machine"),
        (["serve", "--port", "65536"], "65536 is not in the range"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_is_wrong(
    nacre: Nacre, arguments: list[str], told: str
) -> None:
    nacre("being", "create", "Ann")

    refused = nacre(*arguments)

    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: ")
    assert told in refused.err
    assert "Traceback" not in refused.err


def test_a_wrong_setting_is_named(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_LOG_LEVEL", "LOUD")

    refused = nacre("being", "list")

    assert (refused.code, refused.err) == (
        2,
        "error: NACRE_LOG_LEVEL: 'LOUD' is not a level (DEBUG, INFO, WARNING or ERROR)\n",
    )


def test_a_data_folder_that_cannot_be_used_is_named(
    nacre: Nacre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")

    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        refused = nacre("being", "list", "--data-dir", str(place))

        assert refused.code == 2
        assert refused.err.startswith(f"error: {place}: cannot be the data folder (")
        assert "hint: choose another one with --data-dir or NACRE_HOME\n" in refused.err


def test_a_damaged_store_is_left_as_it_is(nacre: Nacre, folder: Path) -> None:
    folder.mkdir()
    (folder / "nacre.db").write_bytes(b"not a database " * 1000)

    refused = nacre("being", "list")

    assert refused.code == 4
    assert "nacre.db: " in refused.err
    assert (folder / "nacre.db").read_bytes() == b"not a database " * 1000


def test_the_data_folder_is_private(nacre: Nacre, folder: Path) -> None:
    nacre("being", "create", "Ann")

    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))


def test_help_names_every_command_and_exit_code(nacre: Nacre) -> None:
    text = nacre("--help").out

    assert all(f"  {name} " in text for name in COMMANDS)
    assert all(f"{code}  {meaning}" in text for code, meaning in EXIT_CODES.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    command = commands.get_command(click.Context(commands), name)

    assert command is not None
    assert command.get_short_help_str(200) == COMMANDS[name][1]


def test_an_interrupted_command_ends_with_130(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nacre.cli.being_options.Place.open", interrupt)

    assert nacre("being", "list").code == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full")
def test_an_answer_that_cannot_be_written_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        process = start("status", stdout=full.fileno())
        code, _, err = finish(process)

    assert code == 1
    assert err.splitlines() == [
        "error: the output cannot be written (No space left on device)",
        "hint: write it to another file or device",
    ]


def test_a_reader_that_has_left_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        code, _, err = finish(start("status", stdout=nobody.fileno()))

    assert (code, err) == (1, "")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("serv",), " (did you mean 'serve'?)"),
        (("policy", "explian"), " (did you mean 'explain'?)"),
        (("tokn", "create"), " (did you mean 'token'?)"),
        (("qqqq",), ""),
    ],
    ids=repr,
)
def test_a_misspelt_command_is_told_what_was_meant(
    nacre: Nacre, line: tuple[str, ...], meant: str
) -> None:
    refused = nacre(*line)

    assert refused.code == 2
    wrong = line[-1] if line[0] == "policy" else line[0]
    assert refused.err.startswith(f"error: No such command '{wrong}'{meant}\n")
