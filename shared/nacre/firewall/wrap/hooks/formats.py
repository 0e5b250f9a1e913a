"""The clients that have hooks: the places of their files, and the texts that go there.

As documented for Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, Cursor 2.0, opencode 1.18 and
OpenClaw 2026.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.own_server_name import OWN

_SECONDS = 10
_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)  # of an own file
_BOM = "\ufeff"  # at the start of files of some editors on Windows
_MARK = "nacre-hook"  # in each command: a shell's comment, by which entries are found again


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file with hooks of a client: a configuration that others use too, or Nacre's own.

    `events` are the client's names for the events of `nacre hook`. `template` is the name of an
    own file's text beside this module.
    """

    path: str
    events: Mapping[str, str]
    style: Literal["groups", "milliseconds", "list", "own"] = "groups"
    template: str = ""


_CLAUDE_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
_CODEX_EVENTS = {name: event for name, event in _CLAUDE_EVENTS.items() if name != "SessionEnd"}
_GEMINI_EVENTS = {
    "SessionStart": "session-start",
    "BeforeAgent": "user-prompt",
    "AfterAgent": "stop",
    "PreCompress": "pre-compact",
    "SessionEnd": "session-end",
}
_CURSOR_EVENTS = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "user-prompt",
    "afterAgentResponse": "stop",
    "preCompact": "pre-compact",
    "sessionEnd": "session-end",
}

HOOK_FILES: Mapping[str, tuple[HookFile, ...]] = {
    "claude-code": (
        HookFile("$CLAUDE_CONFIG_DIR/settings.json|~/.claude/settings.json", _CLAUDE_EVENTS),
    ),
    "codex": (HookFile("$CODEX_HOME/hooks.json|~/.codex/hooks.json", _CODEX_EVENTS),),
    "gemini-cli": (HookFile("~/.gemini/settings.json", _GEMINI_EVENTS, "milliseconds"),),
    "cursor": (HookFile("~/.cursor/hooks.json", _CURSOR_EVENTS, "list"),),
    "opencode": (HookFile("{xdg}/opencode/plugins/nacre.js", {}, "own", "opencode_plugin.js"),),
    "openclaw": (
        HookFile("~/.openclaw/hooks/nacre/HOOK.md", {}, "own", "openclaw_hook.md"),
        HookFile("~/.openclaw/hooks/nacre/handler.js", {}, "own", "openclaw_handler.js"),
    ),
}
"""The files of each client that has hooks."""

PLUGIN_CLIENT = "claude-code"
"""The client that has a plugin with the hooks; its first file enables it."""


def with_hooks(text: str, file: HookFile, client: str, command: Sequence[str]) -> str:
    """Return the text of a client's file with Nacre's hooks.

    Raises ConfigurationError for a file with comments or of another form, which would suffer.
    """
    if file.style == "own":
        return own_text(file, command)
    tree = _tree(text)
    if file.style == "list":
        tree.setdefault("version", 1)
    hooks = tree.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise ConfigurationError("its 'hooks' have a form that Nacre does not know")
    for name, event in file.events.items():
        groups = hooks.setdefault(name, [])
        if not isinstance(groups, list):
            raise ConfigurationError("its 'hooks' have a form that Nacre does not know")
        groups.append(_entry(file, client, event, command))
    return _written(tree, text)


def without_hooks(text: str) -> str | None:
    """Return the text without Nacre's hooks, or None if nothing else remains."""
    tree = _tree(text)
    hooks = tree.get("hooks")
    if isinstance(hooks, dict):
        for name in list(hooks):
            if isinstance(hooks[name], list):
                hooks[name] = [entry for entry in hooks[name] if _MARK not in json.dumps(entry)]
                if not hooks[name]:
                    del hooks[name]
        if not hooks:
            del tree["hooks"]
    return _written(tree, text) if tree.keys() - {"version"} else None


def has_hooks(text: str) -> bool:
    """Return whether a file has Nacre's hooks."""
    return _MARK in text


def has_plugin(text: str) -> bool:
    """Return whether the settings of Claude Code enable the plugin of Nacre."""
    try:
        plugins = _tree(text).get("enabledPlugins")
    except ConfigurationError:
        return False
    return isinstance(plugins, dict) and any(
        name.partition("@")[0] == OWN and is_enabled is True for name, is_enabled in plugins.items()
    )


def has_these_hooks(text: str, file: HookFile, client: str, command: Sequence[str]) -> bool:
    """Return whether a file has Nacre's hooks as this version writes them."""
    if file.style == "own":
        return text == own_text(file, command)
    expected = {(name, _line(client, event, command)) for name, event in file.events.items()}
    return set(_own_lines(_tree(text))) == expected


def hook_programs(text: str, file: HookFile) -> list[str]:
    """Return the programs that Nacre's hooks in a file start."""
    if file.style == "own":
        match = _COMMAND.search(text)
        lines = [json.loads(match[1])] if match is not None else []
    else:
        lines = [shlex.split(line, comments=True) for _, line in _own_lines(_tree(text))]
    programs = []
    for words in lines:
        if words[:1] == ["env"]:
            words = [word for word in words[1:] if not word.startswith("NACRE_HOME=")]
        programs += words[:1]
    return sorted(set(programs))


def own_text(file: HookFile, command: Sequence[str]) -> str:
    """Return the text of a file that is only Nacre's."""
    return _template(file).replace('["nacre"]', json.dumps(list(command)))


def is_own_text(text: str, file: HookFile) -> bool:
    """Return whether a text is that of an own file, whatever program it starts."""
    return _COMMAND.sub('const COMMAND = ["nacre"]', text, count=1) == _template(file)


def _template(file: HookFile) -> str:
    return Path(__file__).with_name(file.template).read_text(encoding="utf-8")


def _entry(file: HookFile, client: str, event: str, command: Sequence[str]) -> dict[str, Any]:
    line = _line(client, event, command)
    if file.style == "list":
        return {"command": line}
    seconds = _SECONDS * 1000 if file.style == "milliseconds" else _SECONDS
    return {"hooks": [{"type": "command", "command": line, "timeout": seconds}]}


def _line(client: str, event: str, command: Sequence[str]) -> str:
    return shlex.join([*command, "hook", event, "--client", client]) + f" # {_MARK}"


def _own_lines(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of the event and the command of each of Nacre's hooks."""
    hooks = tree.get("hooks")
    for name, entries in hooks.items() if isinstance(hooks, dict) else ():
        waiting = [entries]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                command = value.get("command")
                if isinstance(command, str) and _MARK in command:
                    yield name, command
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value


def _tree(text: str) -> dict[str, Any]:
    text = text.removeprefix(_BOM)
    if not text.strip():
        return {}
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigurationError(
            "it is not plain JSON (comments are not), so Nacre leaves it as it is"
        ) from None
    if not isinstance(tree, dict):
        raise ConfigurationError("it is not a JSON object")
    return tree


def _written(tree: Mapping[str, Any], before: str) -> str:
    indent = next(_indents(before.removeprefix(_BOM)), 2)
    text = json.dumps(tree, indent=indent, ensure_ascii=False) + "\n"
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    return _BOM + text if before.startswith(_BOM) else text


def _indents(text: str) -> Iterator[int | str]:
    """Yield the indentation of the lines of a text."""
    for line in text.splitlines():
        if margin := line[: len(line) - len(line.lstrip())]:
            yield "\t" if margin.startswith("\t") else len(margin)
