from pathlib import Path

import pytest

from nacre.cli.commands import run_commands
from nacre.cli.proxy.options import ProxyOptions, parse
from nacre.cli.proxy.proxy_command import HELP, run
from nacre.core.errors import InvalidInputError
from nacre.firewall.rules.rule import NOWHERE
from nacre.wiring.this_machine import on_this_machine, with_bases


def test_what_stands_behind_two_dashes_is_the_command() -> None:
    assert parse(["--name", "files", "--policy=p.toml", "--", "npx", "--name", "--", "x"]) == (
        ProxyOptions(command=("npx", "--name", "--", "x"), name="files", policy="p.toml")
    )


def test_a_value_may_begin_with_a_dash() -> None:
    assert parse(["--name", "-files", "--", "x"]).name == "-files"


def test_a_confined_server_has_options_of_its_own() -> None:
    options = ["--connect", "443", "--connect=53", "--read", "/a", "--write", "/b", "--run", "git"]

    assert parse(["--confine", *options, "--env", "TOKEN", "--accept", "ioctl", "--", "x"]) == (
        ProxyOptions(
            command=("x",),
            confine=True,
            connect=("443", "53"),
            read=("/a",),
            write=("/b",),
            run=("git",),
            env=("TOKEN",),
            accept=("ioctl",),
        )
    )


def test_a_remote_server_has_options_of_its_own() -> None:
    headers = ["--header", "A=1", "--header=B=2", "--header-env", "C=VARIABLE"]
    where = ["--url", "https://example.com/mcp", "--listen", "127.0.0.1:0"]
    options = parse([*where, "--pass-authorization", *headers, "--transport", "sse"])

    assert options == ProxyOptions(
        url="https://example.com/mcp",
        listen="127.0.0.1:0",
        pass_authorization=True,
        header=("A=1", "B=2"),
        header_env=("C=VARIABLE",),
        transport="sse",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--connect", "443", "--", "x"], "add --confine"),
        (["--confine", "--url", "https://example.com"], "not for a --url"),
        ([], "no server is given"),
        (["--"], "there is no command after the two dashes"),
        (["npx", "-y", "x"], "'npx' is not an option; put the server's command after two dashes"),
        (["--nam", "x", "--", "y"], "no such option: --nam"),
        (["--name"], "--name needs a value"),
        (["--name", "--", "x"], "--name needs a value"),
        (["--name=", "--", "x"], "--name is empty"),
        (["--name", "a\nb", "--", "x"], "--name: at most 128 printable characters"),
        (["--url", "https://a", "--", "x"], "a command and --url name two servers"),
        (["--url", "https://a", "--url-env", "U"], "--url and --url-env name two servers"),
        (["--listen", "127.0.0.1:1", "--", "x"], "--listen is for servers with a --url"),
        (["--header-env", "A=B", "--", "x"], "--header-env is for servers with a --url"),
        (["--transport", "ws", "--url", "https://a"], "--transport: 'ws' is not http or sse"),
    ],
)
def test_what_does_not_fit_is_named(arguments: list[str], said: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        parse(arguments)

    assert said in str(raised.value)


def test_a_wrong_option_is_told_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--nam", "x"]) == 2
    assert capsys.readouterr() == (
        "",
        "error: no such option: --nam\nhint: see 'nacre proxy --help'\n",
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--name", "x", "-h", "--", "y"]])
def test_help_is_the_same_through_both_doors(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 0
    assert capsys.readouterr().out == HELP
    assert run_commands(["proxy", *arguments]) == 0
    assert capsys.readouterr().out == HELP


def test_options_before_the_command_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_commands(["--stack", "s", "proxy", "--", "x"]) == 2
    assert "proxy runs on this machine" in capsys.readouterr().err
    assert run_commands(["--being", "b", "proxy", "--", "x"]) == 2
    assert "leave out --being" in capsys.readouterr().err


def test_a_base_may_be_given_several_times_and_before_a_url_too() -> None:
    assert parse(["--base", "/a", "--base=/b", "--", "server"]).base == ("/a", "/b")
    assert parse(["--base", "none", "--url", "https://a.example/mcp"]).base == ("none",)
    with pytest.raises(InvalidInputError, match="--base needs a value"):
        parse(["--base"])


def test_bases_become_absolute_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")
    where = with_bases(NOWHERE, ["docs", ".", "~/notes", "/srv/a/../b"])
    assert where.bases == (f"{tmp_path}/docs", str(tmp_path), "/home/ann/notes", "/srv/b")
    assert with_bases(NOWHERE, ["none"]) == NOWHERE._replace(opens_files=False)
    assert with_bases(NOWHERE, []) == NOWHERE
    with pytest.raises(InvalidInputError, match="cannot be combined"):
        with_bases(NOWHERE, ["none", "/a"])
    assert on_this_machine().bases == ()
