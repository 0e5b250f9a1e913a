"""Laws of the three readers, over files in any layout."""

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.core.errors import ConfigurationError
from nacre.firewall.wrap.client_formats import CLIENTS
from nacre.firewall.wrap.command_line import Launcher
from nacre.firewall.wrap.config_tree import RawValue, Value, value_of
from nacre.firewall.wrap.file_edit import DIALECTS, restored_text, servers, unwrap_text, wrap_text
from nacre.firewall.wrap.json_tree import Json
from nacre.firewall.wrap.toml_tree import Toml
from nacre.firewall.wrap.yaml_tree import Yaml
from tests.firewall.wrap.printed import json5_files, toml_files, yaml_files
from tests.scaffolding.laws import examples

LAUNCHER = Launcher(("/opt/python", "-m", "nacre.cli"), ("--policy", "/p.toml"))
CURSOR, CONTINUE, CODEX = (
    next(client for client in CLIENTS if client.name == name)
    for name in ("cursor", "continue", "codex")
)


def plain(value: Value, literal: Callable[[str], Any] = json.loads) -> Any:
    match value:
        case RawValue(text):
            return literal(text.removeprefix("+"))
        case list():
            return [plain(each, literal) for each in value]
        case dict():
            return {key: plain(each, literal) for key, each in value.items()}
        case _:
            return value


def check(text: str, name: str) -> None:
    """Wrap and unwrap each server; where that is refused, the text stays as it is."""
    client = next(client for client in CLIENTS if client.name == name)
    dialect = DIALECTS[client.format]
    for server in servers(text, client):
        try:
            change = wrap_text(text, client, server.path, LAUNCHER)
        except ConfigurationError:
            if client.format == "json":
                raise
            continue  # refused rather than guessed at: the rest of the test has nothing to say
        at = next(
            (at for at, (a, b) in enumerate(zip(text, change.text, strict=False)) if a != b),
            len(text),
        )
        assert change.old in text
        assert change.new in change.text
        assert at >= text.index(change.old)
        wrapped = next(each for each in servers(change.text, client) if each.path == server.path)
        assert wrapped.proxy is not None
        assert wrapped.proxy.first("--name") == server.name
        assert restored_text(change.text, client, server.path, change.old, change.new) == text
        undone = unwrap_text(change.text, client, server.path, change.before).text
        before, after = (value_of(dialect.parse(each)) for each in (text, undone))
        assert without_empty_args(before) == without_empty_args(after)


def without_empty_args(value: Value) -> Value:
    if isinstance(value, dict):
        return {k: without_empty_args(v) for k, v in value.items() if (k, v) != ("args", [])}
    return [without_empty_args(each) for each in value] if isinstance(value, list) else value


@given(json5_files())
@settings(max_examples=40, deadline=None)
def test_any_json5_is_wrapped_and_unwrapped(file: tuple[str, dict[str, Any]]) -> None:
    text, document = file
    assert plain(value_of(Json().parse(text))) == document

    check(text, "cursor")


@given(yaml_files())
@settings(max_examples=25, deadline=None)
def test_any_yaml_is_wrapped_and_unwrapped(file: tuple[str, dict[str, Any]]) -> None:
    text, _ = file
    assert plain(value_of(Yaml().parse(text)), yaml.safe_load) == yaml.safe_load(text)

    check(text, "continue")


@given(toml_files())
@settings(max_examples=25, deadline=None)
def test_any_toml_is_wrapped_and_unwrapped(text: str) -> None:
    expected = tomllib.loads(text)
    assert plain(value_of(Toml().parse(text))) == expected

    check(text, "codex")


@given(json5_files(), st.sampled_from([None, 2, "\t"]))
@settings(max_examples=20, deadline=None)
def test_what_leads_to_no_container_is_kept_as_it_is_written(
    file: tuple[str, dict[str, Any]], indent: int | str | None
) -> None:
    document = {**file[1], "history": [file[0], {"}": "]\\"}], "projects": {"/p": file[1]}}
    text = json.dumps(document, indent=indent)
    every = value_of(Json().parse(text))
    assert isinstance(every, dict)

    partly = value_of(Json().parse(text, (("mcpServers",), ("projects", "*", "mcpServers"))))

    assert isinstance(partly, dict)
    assert partly["mcpServers"] == every["mcpServers"]
    history = partly["history"]
    assert isinstance(history, RawValue)
    assert json.loads(history.text) == document["history"]
    check(text, "claude-code")


@pytest.mark.slow
@given(json5_files())
@settings(max_examples=examples(500), deadline=None)
def test_very_many_json5_files(file: tuple[str, dict[str, Any]]) -> None:
    assert plain(value_of(Json().parse(file[0]))) == file[1]
    check(file[0], "cursor")


@pytest.mark.slow
@given(yaml_files())
@settings(max_examples=examples(500), deadline=None)
def test_very_many_yaml_files(file: tuple[str, dict[str, Any]]) -> None:
    assert plain(value_of(Yaml().parse(file[0])), yaml.safe_load) == yaml.safe_load(file[0])
    check(file[0], "continue")


@pytest.mark.slow
@given(toml_files())
@settings(max_examples=examples(500), deadline=None)
def test_very_many_toml_files(text: str) -> None:
    assert plain(value_of(Toml().parse(text))) == tomllib.loads(text)
    check(text, "codex")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toml", f"a = {'1' * 5000}"),
        ("yaml", 'a: "\\UFFFFFFFF"'),
        ("yaml", 'a: "\\U00110000"'),
        ("yaml", f"%YAML 1.{'1' * 5000}\n---\na: 1"),
    ],
)
def test_what_only_python_cannot_read_is_refused_too(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"not YAML|too many digits"):
        DIALECTS[name].parse(text)


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? "])
def test_brackets_without_end_are_refused_at_once(opening: str) -> None:
    # PyYAML alone would look at them for minutes.
    with pytest.raises(ConfigurationError, match=r"nested too deep|no YAML"):
        DIALECTS["yaml"].parse(opening * 20_000)
