"""Configurations as chance writes them: data in any layout that a format allows."""

import json
from collections.abc import Sequence
from typing import Any

import yaml
from hypothesis import strategies as st

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp"))
    | st.sampled_from(list("\"'\\/,:{}[]#=$&*!|>%@`~ \t")),
    max_size=12,
)
NAMES = TEXTS.filter(lambda name: name.isprintable() and name not in ("", "--", "<<", "=")).filter(
    lambda name: name.lower() != "nacre"
)
SCALARS = TEXTS | st.booleans() | st.integers(-(10**20), 10**20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
_TAKEN = frozenset(
    {"command", "args", "url", "env", "name", "type", "mcpServers", "mcp_servers", "last"}
)
EXTRA = st.dictionaries(
    NAMES.filter(lambda key: key not in _TAKEN),
    VALUES,
    max_size=2,
)


@st.composite
def server_entries(draw: st.DrawFn) -> dict[str, Any]:
    """An entry that starts a command, with its keys in any order."""
    entry: dict[str, Any] = {"command": draw(TEXTS.filter(bool)), **draw(EXTRA)}
    if draw(st.booleans()):
        entry["args"] = draw(st.lists(TEXTS, max_size=4))
    if draw(st.booleans()):
        entry["env"] = draw(st.dictionaries(NAMES, TEXTS, max_size=2))
    return dict(draw(st.permutations(list(entry.items()))))


SERVERS = st.dictionaries(NAMES, server_entries(), min_size=1, max_size=3)


def gap(draw: st.DrawFn) -> str:
    """White space and comments, where JSON5 takes them."""
    parts = st.sampled_from(
        ["", "", " ", "\n", "\r\n", "\t", "/* , ] } */", '// " { [\n', "\u00a0"]
    )
    return "".join(draw(st.lists(parts, max_size=2)))


def json5(draw: st.DrawFn, value: Any) -> str:
    """Print a value with any quotes, commas, comments and white space."""
    match value:
        case dict():
            members = [
                f"{gap(draw)}{key_of(draw, key)}{gap(draw)}:"
                f"{gap(draw)}{json5(draw, each)}{gap(draw)}"
                for key, each in value.items()
            ]
            return "{" + ",".join(members) + ending(draw, members) + "}"
        case list():
            items = [f"{gap(draw)}{json5(draw, each)}{gap(draw)}" for each in value]
            return "[" + ",".join(items) + ending(draw, items) + "]"
        case str():
            return quoted(draw, value)
        case bool():
            return json.dumps(value)
        case _:
            return f"{'+' if value >= 0 and draw(st.booleans()) else ''}{value}"


def ending(draw: st.DrawFn, parts: Sequence[str]) -> str:
    comma = "," if parts else ""
    return draw(st.sampled_from([comma, ""])) + gap(draw)


def key_of(draw: st.DrawFn, key: str) -> str:
    is_name = key.isascii() and key.replace("$", "_").isidentifier()
    return key if is_name and draw(st.booleans()) else quoted(draw, key)


def quoted(draw: st.DrawFn, text: str) -> str:
    style = draw(st.sampled_from(["plain", "escaped", "single"]))
    if style != "single":
        return json.dumps(text, ensure_ascii=style == "escaped")
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t") + "'"


@st.composite
def json5_files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A file of a client that writes JSON5, and its servers."""
    servers = draw(SERVERS)
    before, after = draw(EXTRA), draw(EXTRA)
    document = {**before, "mcpServers": servers, **after}
    return gap(draw) + json5(draw, document) + gap(draw), document


@st.composite
def yaml_files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A file of Continue's, and what is in it."""
    servers = [{"name": name, **entry} for name, entry in draw(SERVERS).items()]
    document = {**draw(EXTRA), "mcpServers": servers, **draw(EXTRA)}
    text = yaml.safe_dump(
        document,
        default_flow_style=draw(st.sampled_from([True, False, None])),
        indent=draw(st.sampled_from([2, 4])),
        width=draw(st.sampled_from([20, 10_000])),
        allow_unicode=draw(st.booleans()),
        sort_keys=False,
        line_break=draw(st.sampled_from(["\n", "\r\n"])),
    )
    return draw(st.sampled_from(["", "# note\n", "---\n"])) + text, document


def toml_value(draw: st.DrawFn, value: Any) -> str:
    """Print a value in one of TOML's ways."""
    match value:
        case dict():
            members = (
                f"{toml_key(draw, key)} = {toml_value(draw, each)}" for key, each in value.items()
            )
            return "{ " + ", ".join(members) + " }"
        case list():
            space = draw(st.sampled_from(["", " ", "\n  ", ' # [ "\n']))
            items = "".join(f"{space}{toml_value(draw, each)}," for each in value)
            return f"[{items}{space}]"
        case str():
            if "'" not in value and "\t" not in value and draw(st.booleans()):
                return f"'{value}'"
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return json.dumps(value)
        case _:
            return str(value % 2**62)


def toml_key(draw: st.DrawFn, key: str) -> str:
    is_bare = key.isascii() and key.replace("-", "_").isidentifier()
    return key if is_bare and draw(st.booleans()) else json.dumps(key, ensure_ascii=False)


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    """A file of Codex's; its servers in tables, with and without tables below, or in one line."""
    lines = [
        f"{toml_key(draw, key)} = {toml_value(draw, each)}" for key, each in draw(EXTRA).items()
    ]
    inline = []
    for name, entry in draw(SERVERS).items():
        if draw(st.integers(0, 3)) == 0:
            inline.append(f"{toml_key(draw, name)} = {toml_value(draw, entry)}")
            continue
        below = {
            key: each
            for key, each in entry.items()
            if isinstance(each, dict) and draw(st.booleans())
        }
        lines += ["", f"[ mcp_servers . {toml_key(draw, name)} ] # {name}"]
        for key, each in entry.items():
            if key not in below:
                lines.append(f"{toml_key(draw, key)}={toml_value(draw, each)} # x")
        for key, each in below.items():
            lines.append(f"[mcp_servers.{toml_key(draw, name)}.{toml_key(draw, key)}]")
            lines += [f"\t{toml_key(draw, k)} = {toml_value(draw, v)}" for k, v in each.items()]
    if inline:
        lines += ["[mcp_servers]", *inline]
    lines += ["[[last]]", "a.b = 1"]
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))
