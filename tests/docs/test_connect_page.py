"""The clients that a guide says were tried are those that the tests run, in these versions."""

import json
import re
import tomllib

from infra.tools import PINS
from tests.docs.test_links import ROOT

PAGE = (ROOT / "docs" / "guides" / "connect.md").read_text(encoding="utf-8")
PACKAGE = json.loads((ROOT / "infra" / "node" / "package.json").read_text())
NODE = {**PACKAGE["dependencies"], **PACKAGE["optionalDependencies"]}


def test_what_was_tried_is_what_the_tests_run() -> None:
    [said] = re.findall(r"^\*\*Tried\*\* .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    [newest] = [each["version"] for each in locked if each["name"] == "mcp"]
    [older] = [each for each in PINS["client-v1"] if each.startswith("mcp==")]

    assert re.findall(r"\d+\.\d+\.\d+", said) == [
        newest,
        older.removeprefix("mcp=="),
        NODE["mcp-remote"],
        NODE["@modelcontextprotocol/inspector"],
        NODE["@anthropic-ai/claude-code"],
        NODE["@openai/codex"],
        NODE["@google/gemini-cli"],
        NODE["opencode-linux-x64-baseline"],
    ]
