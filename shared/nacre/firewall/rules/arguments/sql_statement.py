"""One plain SQL statement and its verb, if every dialect reads it the same way."""

import re
from itertools import pairwise

_MAX_LENGTH = 1_000_000
READING = ("select", "values", "show", "describe", "explain")
VERBS = (
    *READING,
    *("insert", "update", "delete", "merge", "replace", "truncate"),
    *("create", "alter", "drop", "grant", "revoke"),
)
# Comments, other quotes, escapes, variables and brackets mean something else in each dialect.
_NEVER = re.compile(r"--|/\*|\*/|[;\\#\[\]{}\0]|\$(?!\d)|@@|\$\d+\w|[^\x00-\x7f\w]")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`\w+`")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[^\x00-\x7f]+")
# The name before a parenthesis, read backwards, so that each character is read once.
_CALLED = re.compile(r"\s*(\w*(?:\s*\.(?:\s*\w+)?)*)")
# T-SQL needs no semicolon before another statement, and none of these words can be a name there.
_NEXT_STATEMENT = frozenset(
    (
        *("backup", "bulk", "checkpoint", "dbcc", "deny", "kill", "raiserror", "readtext"),
        *("reconfigure", "restore", "revert", "shutdown", "updatetext", "use", "waitfor"),
        "writetext",
    )
)
_INDEX = re.compile(r"create (?:unique )?index (?:concurrently )?(?:if not exists )?(?:\w+ )?on")
_REFERENCE_ACTION = re.compile(r"\bon (?:delete|update) (?=(?:cascade|restrict|set|no)\b)")
# What an ALTER drops is a part of a table unless one of these words follows.
_WHOLE = frozenset(
    (
        *("database", "function", "index", "login", "procedure", "proc", "role", "schema"),
        *("sequence", "table", "trigger", "type", "user", "view"),
    )
)
_WRITING = _NEXT_STATEMENT | frozenset(
    (
        *("insert", "update", "delete", "merge", "truncate", "create", "alter", "drop", "grant"),
        *("revoke", "call", "exec", "execute", "do", "copy", "into", "set", "lock", "load"),
        *("attach", "detach", "vacuum", "pragma", "handler", "prepare", "share", "notify"),
        "deallocate",
        *("outfile", "dumpfile", "procedure", "returning", "begin", "commit", "rollback"),
    )
)
# Words that a parenthesis may follow, and functions that only compute.
_BEFORE_PARENTHESES = frozenset(
    """
    all and any as between by case distinct else except exists filter from group having in
    intersect is join like limit not offset on or over partition select some then union using
    values when where with within materialized recursive lateral order into set ilike cube rollup
    sets interval array row
    abs avg bool_and bool_or cast ceil ceiling char_length character_length coalesce concat
    concat_ws count cume_dist date date_part date_trunc day dense_rank exp extract first_value
    floor greatest grouping hour ifnull instr isnull json_agg json_extract jsonb_agg lag
    last_value lead least left length ln log lower lpad ltrim max md5 min minute mod month now
    nth_value ntile nullif octet_length percent_rank percentile_cont percentile_disc pi position
    power rank regexp_replace repeat replace reverse right round row_number rpad rtrim second
    sign split_part sqrt stddev strftime strpos substr substring sum to_char to_date to_number
    total trim trunc upper variance week year array_agg string_agg group_concat date_format
    age convert curdate curtime dateadd date_add datediff date_sub datetime dayofweek format
    generate_series getdate iif initcap isnumeric json_array json_array_length json_build_object
    json_each json_object json_value jsonb_array_elements jsonb_array_length jsonb_build_object
    julianday last_day make_date quarter random regexp_like row_to_json timestampdiff to_json
    to_jsonb to_timestamp try_cast typeof unixepoch unnest
    varchar char character decimal numeric float timestamp time key primary unique references
    check foreign index default
    """.split()  # noqa: SIM905 - a list of words reads better as text
)


def one_statement(text: str) -> str | None:
    """Return the verb of the one statement in a text, or None for anything else.

    Anything else is a second statement, also one without a semicolon before it, a comment,
    a dialect's own quotes, a reading statement with a word that writes (`WITH … DELETE`,
    `SELECT … INTO`, `FOR UPDATE`, `EXPLAIN ANALYZE`), and a call of a function that is not
    known to only compute.
    """
    text = text.strip(" \t\r\n")
    text = text.removesuffix(";").rstrip(" \t\r\n")
    if len(text) > _MAX_LENGTH or _NEVER.search(text) is not None:
        return None
    if any(not letter.isprintable() and letter not in "\t\r\n" for letter in text):
        return None
    if any(_has_prefix(text, quoted.start()) for quoted in _QUOTED.finditer(text)):
        return None
    bare = _QUOTED.sub(_mark, text)
    if any(quote in bare for quote in "'\"`"):
        return None  # a quote that does not end
    words = [name.lower() for name in _WORD.findall(bare)]
    if not words or not bare[0].isalpha() or not _calls_are_plain(bare):
        return None
    return _verb(words)


def _has_prefix(text: str, place: int) -> bool:
    """Tell whether a dialect's own kind of text begins here: `E'…'`, `q'!…!'`, `U&"…"`."""
    return place > 0 and (text[place - 1].isalnum() or text[place - 1] in "_&")


def _mark(quoted: re.Match[str]) -> str:
    """Return a digit in place of a quoted text or name, so that no quoted word is read."""
    return "0" if quoted[0].startswith("'") else "1"


def _calls_are_plain(bare: str) -> bool:
    words: list[str] = []
    for text in bare.split("(")[:-1]:
        match = _CALLED.match(text[::-1])
        called = "" if match is None else match[1][::-1]
        words += _WORD.findall(text[: len(text.rstrip()) - len(called)].lower())
        name = "".join(called.lower().split())
        if name and name not in _BEFORE_PARENTHESES and not _is_table(words):
            return False
        words += _WORD.findall(called.lower())
    return True


def _is_table(before: list[str]) -> bool:
    """Tell whether a table with its columns follows these words: `INSERT INTO t (a, b)`."""
    if before[-1:] in (["table"], ["references"]) or before[-2:] == ["insert", "into"]:
        return True
    return before[-1:] == ["on"] and _INDEX.fullmatch(" ".join(before)) is not None


def _verb(words: list[str]) -> str | None:
    first, tail = words[0], words[1:]
    if first == "desc":
        first = "describe"
    if first == "explain":
        is_query = bool(tail) and tail[0] in ("select", "with", "values")
        return "explain" if is_query and _reads(tail) else None
    if first == "with":
        return "select" if _reads(tail) and "select" in tail else None
    if first in READING:
        return first if _reads(tail) else None
    if first not in VERBS:
        return None
    return first if _is_alone(first, tail) else None


def _is_alone(verb: str, tail: list[str]) -> bool:
    """Tell whether no second statement may follow a verb that writes."""
    others = {*VERBS, *_NEXT_STATEMENT, "call", "exec", "execute"} - {*READING, verb, "replace"}
    if verb in ("grant", "revoke"):  # the rights that it is about are verbs
        end = "to" if verb == "grant" else "from"
        tail = tail[tail.index(end) :] if end in tail else tail
        if tail[-3:] == ["with", "grant", "option"]:
            tail = tail[:-3]
        others |= {"select", verb}
    if verb == "alter":
        others -= {"drop"}
        if any(word == "drop" and after in _WHOLE for word, after in pairwise(tail)):
            return False
        if len(tail) > 1 and tail[0] == "table":
            others -= {"alter"}
    if verb in ("create", "alter") and "references" in tail:
        tail = _REFERENCE_ACTION.sub("", " ".join(tail)).split()
    return others.isdisjoint(tail)


def _reads(words: list[str]) -> bool:
    return _WRITING.isdisjoint(words) and not {"analyze", "analyse"}.intersection(words)
