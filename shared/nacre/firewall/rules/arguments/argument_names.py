"""Guess from an argument's name and schema whether its value is a path or a text."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

Meaning = Literal["path", "text", ""]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PATHS = frozenset(
    (
        *("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths"),
        *("dir", "dirs", "directory", "directories", "folder", "folders", "cwd", "workdir"),
        *("basedir", "rootdir", "outdir", "dirname", "dirpath", "pathname", "uri", "uris"),
        *("root", "roots", "source", "sources", "src", "destination", "dest", "dst", "target"),
        *("targets", "url", "urls", "link", "links", "symlink", "location"),
    )
)
_TEXTS = frozenset(
    (
        *("text", "texts", "string", "content", "contents", "body", "message", "messages"),
        *("title", "subject", "description", "summary", "comment", "comments", "note", "notes"),
        *("reason", "query", "search", "question", "answer", "prompt", "instruction"),
        *("instructions", "code", "script", "command", "cmd", "sql", "html", "markdown"),
    )
)
_PATH_FORMATS = frozenset(
    ("path", "file-path", "filepath", "directory-path", "file", "directory", "uri", "uri-reference")
)
_NAMES_PATH = re.compile(
    r"\b(?:path|paths|file ?names?|(?:file|files|folder|folders|directory|directories) to)\b",
    re.IGNORECASE,
)
_MAX_LEVELS = 8
_MAX_TEXT = 2000


@lru_cache(maxsize=4096)
def meaning_of(name: str) -> Meaning:
    """Return the meaning of a name. Its last word counts most: `file_content` is a text."""
    words = [part.lower() for part in _WORD.findall(name)]
    if words and words[-1] in _TEXTS:
        return "text"
    return "path" if not _PATHS.isdisjoint(words) else ""


def path_arguments(schema: Any) -> frozenset[str]:
    """Return the names of the arguments that are paths according to a tool's input schema.

    A `format` marks a path, or a description such as "Path of the file to read". A name that
    means a text takes precedence over both.
    """
    names: set[str] = set()
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        part, depth = waiting.pop()
        if not isinstance(part, Mapping) or depth > _MAX_LEVELS:
            continue
        properties = part.get("properties")
        for name, property_schema in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(property_schema, Mapping):
                if meaning_of(str(name)) != "text" and _says_path(property_schema):
                    names.add(str(name))
                waiting += [(property_schema, depth + 1), (property_schema.get("items"), depth + 1)]
    return frozenset(names)


def _says_path(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items")
    if isinstance(items, Mapping) and _says_path(items):
        return True
    described = f"{schema.get('title', '')} {schema.get('description', '')}"[:_MAX_TEXT]
    return schema.get("format") in _PATH_FORMATS or _NAMES_PATH.search(described) is not None
