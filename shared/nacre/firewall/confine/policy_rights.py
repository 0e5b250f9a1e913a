"""The folders and ports that the rules of a policy name for one server."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.analysis.rule_scope import Scope
from nacre.firewall.confine.rights import Access, Port, Rights, Root
from nacre.firewall.confine.split_roots import Denied, folder_before_wildcards, split
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.globs.pattern_forms import is_about_paths, possible_forms, sure_forms
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ArgumentTest, Rule, Surroundings

# A tool reads if its name has one of the first words and none of the second.
_READING = frozenset(
    [
        "cat",
        "count",
        "describe",
        "diff",
        "find",
        "get",
        "glob",
        "grep",
        "head",
        "info",
        "list",
        "log",
        "read",
        "search",
        "show",
        "stat",
        "status",
        "tail",
        "tree",
        "view",
    ]
)
_WRITING = frozenset(
    [
        "add",
        "append",
        "apply",
        "commit",
        "copy",
        "create",
        "delete",
        "edit",
        "exec",
        "execute",
        "insert",
        "make",
        "mkdir",
        "move",
        "patch",
        "push",
        "put",
        "remove",
        "rename",
        "replace",
        "reset",
        "restore",
        "run",
        "save",
        "set",
        "sync",
        "touch",
        "truncate",
        "update",
        "upload",
        "write",
    ]
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\*+")
_URL = re.compile(r"([a-z*][a-z0-9+.*-]*)://(\[[^\]]*\]|[^/:?#]*)(?::([^/?#]*))?", re.IGNORECASE)
_SCHEMES = {
    **{"http": 80, "ws": 80, "https": 443, "wss": 443, "ssh": 22, "git": 9418},
    **{"postgres": 5432, "postgresql": 5432, "mysql": 3306, "redis": 6379, "mongodb": 27017},
}
_NO_PATHS = frozenset(["cmd", "command", "program", "query", "script", "sql"])
_PASSED_OVER = ("__pycache__", "node_modules", "site-packages")  # code of others, without secrets
_NAMELESS = re.compile(r"localhost|\[.*\]|[0-9.]+", re.IGNORECASE)
DNS = 53


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A root that an allow rule wants, and the earlier rules that take parts of it back."""

    root: Root
    rule: Rule
    position: int


def policy_rights(
    policy: Policy,
    server: str,
    where: Surroundings,
    *,
    forbidden: Sequence[str] = (),
    programs: Sequence[str] = (),
    gaps: tuple[str, ...] = (),
) -> Rights:
    """Return the rights that the allow rules about a server name.

    A rule without a path gives the declared bases. `forbidden` are folders that no server gets,
    such as Nacre's own data, and `programs` folders that none may change. Raise ConfigurationError
    if a rule cannot be enforced and `gaps` does not accept it.
    """
    rules = [rule for rule in policy.rules if _concerns(rule, server)]
    unsaid: list[str] = []
    ports: dict[int, Port] = {}
    candidates: list[_Wanted] = []
    for position, rule in enumerate(rules):
        if rule.action == "prompt" and any(map(_has_path, rule.tests)):
            unsaid.append(
                f"{rule.origin} asks: its folders are not granted, because an approval cannot "
                "widen a running process; allow them, or give --read or --write"
            )
        if rule.action != "allow" or _is_covered(rule, rules[:position]):
            continue
        for port in _ports(rule):
            ports.setdefault(port.number, port)
        candidates += [_Wanted(root, rule, position) for root in _roots(rule, where, unsaid)]
        unsaid += _unsaid(rule)
        if rule.reads_origins:
            unsaid.append(
                f"{rule.origin}: what its caller has received before; the proxy alone decides "
                "about it"
            )
    _check_links(candidates, where)
    roots: list[Root] = []
    for want in candidates:
        check_own(want.root, forbidden, programs)
        denied = [Denied(folder, "Nacre's own files") for folder in forbidden]
        if "denies" not in gaps:
            denied += _denied(rules[: want.position], want.rule, where, unsaid)
        roots += split(want.root, denied, unsaid)
    if any(number != DNS for number in ports):
        unsaid.append("the host behind a port: every host can be reached at an allowed port")
    if candidates:
        unsaid.append("argument values other than folders: the proxy alone decides about them")
    return Rights(tuple(roots), tuple(ports.values()), tuple(dict.fromkeys(unsaid)), gaps)


def check_own(root: Root, forbidden: Sequence[str], programs: Sequence[str]) -> None:
    """Refuse a root through which a server could change what starts it, and start unconfined.

    Raise ConfigurationError. Files that exist can be left out of a root, new ones cannot.
    """
    if root.access != "write":
        return
    top = Path(root.path)
    missing = [Path(folder) for folder in forbidden if not Path(folder).exists()]
    for place in [Path(folder).resolve() for folder in programs]:
        if top == place or place in top.parents or top in place.parents:
            raise ConfigurationError(
                f"{root.reason}: {top} contains or is in Nacre's own folder {place}, and a server "
                "that may change that can start itself unconfined; name other folders"
            )
    for place in missing:
        if top in place.resolve().parents:
            raise ConfigurationError(
                f"{root.reason}: a server that may change {top} could make {place}, which Nacre "
                "reads; make it yourself, or name smaller folders"
            )


def code_rights(
    policy: Policy,
    server: str,
    where: Surroundings,
    code: Sequence[Root],
    *,
    forbidden: Sequence[str] = (),
    gaps: tuple[str, ...] = (),
) -> Rights:
    """Return the roots of a server's own code, without what rules deny below them.

    Raise ConfigurationError if all of it is forbidden.
    """
    unsaid: list[str] = []
    denied: list[Denied] = []
    if "denies" not in gaps:
        rules = [rule for rule in policy.rules if _concerns(rule, server) and _may_read(rule)]
        denied = list(_denied(rules, None, where, unsaid))
    own = [Denied(folder, "Nacre's own files") for folder in forbidden]
    roots: list[Root] = []
    for root in code:
        parts = split(root, own, unsaid)
        if not parts:
            raise ConfigurationError(
                f"{root.reason}: {root.path} is among Nacre's own files, which no server gets; "
                "install the server elsewhere"
            )
        for part in parts:
            left = split(part, denied, unsaid, passed_over=_PASSED_OVER)
            if not left and part == root:  # it could not start
                unsaid[-1] += ", but it is the server's own code, which it may read all the same"
                left = [root]
            roots += left
    return Rights(tuple(roots), (), tuple(dict.fromkeys(unsaid)), gaps)


def _may_read(rule: Rule) -> bool:
    words = {word.lower() for word in _WORDS.findall(rule.name.rpartition("__")[2])}
    return rule.kind == "method" or not words & _WRITING


def _concerns(rule: Rule, server: str) -> bool:
    """Tell whether a rule is about tools or resources of a server."""
    if rule.kind == "method" and not matches(rule.name, "resources/read"):
        return False
    return all(matches(glob, server) for glob in Scope.of(rule).server)


def _is_covered(rule: Rule, earlier: Iterable[Rule]) -> bool:
    """Tell whether an earlier rule decides every call of this one otherwise."""
    scope = _anywhere(rule)
    return any(
        before.action != "allow" and before.is_unconditional and _anywhere(before).covers(scope)
        for before in earlier
    )


def _anywhere(rule: Rule) -> Scope:
    """Return the scope of a rule that is about this server, without the server."""
    scope = Scope.of(rule)
    return Scope(scope.kind, (), scope.name)


def _has_path(test: ArgumentTest) -> bool:
    return test.matcher is None and any(map(is_about_paths, test.globs))


def _roots(rule: Rule, where: Surroundings, unsaid: list[str]) -> Iterator[Root]:
    access = access_of(rule.name) if rule.kind != "method" else "read"
    tests = [test for test in rule.tests if _has_path(test) or _is_relative(test, where)]
    places = [test for test in tests if test.keys[-1] not in _NO_PATHS]
    unsaid.extend(
        f"{rule.origin}: {test.path}: its folders are not granted, because it names a program or a "
        "statement; give --run or --read"
        for test in tests
        if test not in places
    )
    if not places:
        if where.bases and rule.kind != "method":
            for base in where.bases:
                yield from _root(base, access, f"{rule.origin}: no path, so the base", unsaid)
        return
    for test in places:
        forms = [form for pattern in test.globs for form in sure_forms(pattern, where)]
        for form in dict.fromkeys(forms):
            if form.startswith("/"):
                reason = f"{rule.origin}: {test.path}"
                if is_literal(form) and Path(form).is_dir():
                    unsaid.append(
                        f"{reason}: the kernel grants {form} with all below it, not it alone"
                    )
                yield from _root(form, access, reason, unsaid)


def _is_relative(test: ArgumentTest, where: Surroundings) -> bool:
    """Tell whether the globs of a test name files below a declared base."""
    return bool(where.bases) and any("/" in glob and "://" not in glob for glob in test.globs)


def _root(glob: str, access: Access, reason: str, unsaid: list[str]) -> Iterator[Root]:
    path = Path(glob if is_literal(glob) else folder_before_wildcards(glob))
    if not is_literal(glob) and glob not in (f"{path}/**", f"{path}/**/*"):
        unsaid.append(f"{reason}: the kernel grants {path} with all below it, not '{glob}'")
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        unsaid.append(f"{reason}: {path} does not exist at the start, so it is not granted")
        return
    if real == Path("/"):
        raise ConfigurationError(
            f"{reason} begins at /, so a confined server would have every file; name folders"
        )
    yield Root(str(real), access, reason)


def _check_links(candidates: Sequence[_Wanted], where: Surroundings) -> None:
    """Refuse a root that was reached through a link which the server itself may have put there."""
    writable = [Path(want.root.path) for want in candidates if want.root.access == "write"]
    for want in candidates:
        for link in _links(want.rule, where):
            if any(root in link.parents for root in writable):
                raise ConfigurationError(
                    f"{want.rule.origin}: {link} is a link inside a folder that the server may "
                    "change, so it does not say what you allow; name the folder itself"
                )


def _links(rule: Rule, where: Surroundings) -> Iterator[Path]:
    for test in rule.tests:
        for glob in test.globs:
            for form in sure_forms(glob, where):
                if form.startswith("/"):
                    head = Path(form if is_literal(form) else folder_before_wildcards(form))
                    yield from (part for part in (head, *head.parents) if part.is_symlink())


def _denied(
    earlier: Iterable[Rule], rule: Rule | None, where: Surroundings, unsaid: list[str]
) -> Iterator[Denied]:
    """Yield the denies of earlier rules about the calls of a rule, or about all calls."""
    for before in earlier:
        if before.action == "allow":
            continue
        if rule is not None and not _anywhere(before).overlaps(_anywhere(rule)):
            continue
        unsaid += _without_folder(before)
        paths = [(glob, test) for test in before.tests for glob in _globs_of_paths(test)]
        if paths and (len(before.tests) > 1 or before.only is not None):
            unsaid.append(
                f"{before.origin} ({before.action}): it depends on more than one argument"
            )
            continue
        for glob, test in paths:
            folds = test.ignores_case or where.folds_case
            for form in possible_forms(glob, where):
                yield Denied(form, f"{before.origin} ({before.action})", folds)


def _globs_of_paths(test: ArgumentTest) -> list[str]:
    """Return the globs of a deny that name files, in any folder or in one."""
    if test.matcher is not None:
        return []
    return [glob for glob in test.globs if is_about_paths(glob) or _names_file(glob)]


def _without_folder(rule: Rule) -> Iterator[str]:
    for test in rule.tests:
        for glob in test.globs if test.matcher is None else ():
            if not re.search(r"[/\\\s]", glob) and glob.strip("*"):
                yield (
                    f"{rule.origin} ({rule.action}): '{glob}' names no folder, so the proxy alone "
                    f"decides about it; for files everywhere write '**/{glob}'"
                )


def _names_file(glob: str) -> bool:
    return "/" in glob and _URL.match(glob) is None


def _ports(rule: Rule) -> Iterator[Port]:
    for test in rule.tests:
        reason = f"{rule.origin}: {test.path}"
        for value in test.values:
            if test.keys[-1] == "port" and 0 < _number(str(value)) < 65_536:
                yield Port(int(value), reason)
                yield Port(DNS, f"{reason}: host names, looked up over TCP")
            url = _URL.match(value) if isinstance(value, str) else None
            if url is None or url[1].lower() == "file":
                continue
            for number in _ports_of_url(url[1].lower(), url[3]):
                yield Port(number, reason)
            if not _NAMELESS.fullmatch(url[2]):
                yield Port(DNS, f"{reason}: host names, looked up over TCP")


def _number(text: str) -> int:
    """Return a number of plain digits, or -1."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _ports_of_url(scheme: str, port: str | None) -> tuple[int, ...]:
    if port is not None and _number(port) >= 0:
        return (_number(port),) if 0 < _number(port) < 65_536 else ()
    if port:
        return ()  # a glob of ports is named in `_unsaid`
    return tuple(number for name, number in _SCHEMES.items() if matches(scheme, name))


def _unsaid(rule: Rule) -> Iterator[str]:
    for test in rule.tests:
        if test.matcher is not None:
            yield f"{rule.origin}: {test.path}: commands, statements and addresses are not compiled"
        for glob in test.globs:
            url = _URL.match(glob)
            if url is not None and url[3] and _number(url[3]) < 0:
                yield f"{rule.origin}: {test.path}: '{url[3]}' is not one port; give --connect"


def access_of(tool: str) -> Access:
    """Return `read` for a tool whose name says that it reads, and `write` for any other."""
    name = tool.rpartition("__")[2]
    words = {word.lower() for word in _WORDS.findall(name)}
    return "read" if words & _READING and not words & _WRITING else "write"
