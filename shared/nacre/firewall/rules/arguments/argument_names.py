"""What the name of an argument says about its value: a path, a text, or nothing."""

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
_MOST_LEVELS = 8
_LONGEST_TEXT = 2000


@lru_cache(maxsize=4096)
def meaning_of(name: str) -> Meaning:
    """Return what a name says; its last word counts most: `file_content` is a text."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words and words[-1] in _TEXTS:
        return "text"
    return "path" if not _PATHS.isdisjoint(words) else ""


def path_arguments(schema: Any) -> frozenset[str]:
    """Return the arguments of which a tool's input schema says that they are paths.

    It says so by a `format`, or by a description such as "Path of the file to read". A name
    that says that it is a text counts more.
    """
    found: set[str] = set()
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        part, depth = waiting.pop()
        if not isinstance(part, Mapping) or depth > _MOST_LEVELS:
            continue
        properties = part.get("properties")
        for name, each in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(each, Mapping):
                if meaning_of(str(name)) != "text" and _says_path(each):
                    found.add(str(name))
                waiting += [(each, depth + 1), (each.get("items"), depth + 1)]
    return frozenset(found)


def _says_path(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items")
    if isinstance(items, Mapping) and _says_path(items):
        return True
    described = f"{schema.get('title', '')} {schema.get('description', '')}"[:_LONGEST_TEXT]
    return schema.get("format") in _PATH_FORMATS or _NAMES_PATH.search(described) is not None
