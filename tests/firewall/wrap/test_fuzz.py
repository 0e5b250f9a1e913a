"""Files that somebody damaged: refused in plain words, or wrapped and unwrapped like any other."""

import json
import tomllib
from random import Random

import pytest
import yaml

from nacre.core.errors import InvalidInputError
from nacre.firewall.wrap.command_line import Launcher
from nacre.firewall.wrap.file_edit import restored_text, servers, unwrap_text, wrap_text
from nacre.firewall.wrap.redacted_entry import shown_entry
from tests.firewall.wrap.client_configs import CONFIGS, Config
from tests.firewall.wrap.test_client_formats import BY_NAME

LAUNCHER = Launcher(("/opt/nacre",))
PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "'",
    "\n",
    "\r\n",
    "#",
    "//",
    "/*",
    "*/",
    "- ",
    "&a ",
    "*a",
]
PIECES += [
    "\\",
    "\t",
    "  ",
    "null",
    "=",
    ".",
    "\ufeff",
    "\x00",
    "\u2028",
    "|",
    ">",
    "!t ",
    "<<: *main",
    "?",
]


def damaged(text: str, rng: Random) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(4):
            case 0:
                text = text[:at] + rng.choice(PIECES) + text[at:]
            case 1:
                text = text[:at] + text[at + rng.randint(1, 6) :]
            case 2:
                start = rng.randrange(len(text) + 1)
                text = text[:at] + text[start : start + rng.randint(1, 60)] + text[at:]
            case _:
                text = text[:at] + rng.choice(PIECES) + text[at + 1 :]
    return text


def can_be_read(text: str, config: Config) -> bool:
    text = text.removeprefix("\ufeff")
    try:
        if config.file.endswith(".toml"):
            tomllib.loads(text)
        elif config.file.endswith(".yaml"):
            yaml.safe_load(text)
        else:
            json.loads(text)
    except (ValueError, yaml.YAMLError):
        return False
    return True


def check(config: Config, rng: Random) -> int:
    """Wrap what can be wrapped in a damaged file; return how many servers that were."""
    client, text = BY_NAME[config.client], damaged(config.text, rng)
    try:
        found = servers(text, client)
    except InvalidInputError:
        return 0
    wrapped = 0
    for server in found:
        try:
            change = wrap_text(text, client, server.path, LAUNCHER)
        except InvalidInputError:
            continue
        wrapped += 1
        assert restored_text(change.text, client, server.path, change.old, change.new) == text
        assert can_be_read(change.text, config) or not can_be_read(text, config)
        unwrap_text(change.text, client, server.path, None)
        shown_entry(change.text, client, server.path)
    return wrapped


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.client)
def test_a_damaged_file_is_refused_or_comes_back(config: Config) -> None:
    for number in range(4):
        check(config, Random(f"{config.client} {number}"))


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.client)
def test_very_many_damaged_files(config: Config) -> None:
    wrapped = sum(check(config, Random(f"{config.client} {number}")) for number in range(400))

    assert wrapped > 30
