"""What the name of an argument says about its value: a path, a text, or nothing."""

import re
from functools import lru_cache
from typing import Literal

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


@lru_cache(maxsize=4096)
def meaning_of(name: str) -> Meaning:
    """Return what a name says; its last word counts most: `file_content` is a text."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words and words[-1] in _TEXTS:
        return "text"
    return "path" if not _PATHS.isdisjoint(words) else ""
