"""The compiled form of a policy: JSON that loads without a TOML parser and without checks."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nacre.core.errors import PolicyError
from nacre.core.lazy_dataclasses import asdict, replace
from nacre.firewall.rules.limit import Limit, Measure, Period, Share
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ArgumentTest, Rule, Scalar
from nacre.firewall.rules.sections import InjectionSection, NamedPattern, SecretsSection, Settings

if TYPE_CHECKING:
    from nacre.firewall.policies.profile_reader import Parts
    from nacre.firewall.rules.profile import Profile

FORMAT = "nacre-policy-1"
DISALLOWED = "disallowed_tools"  # the origin of the rules of this list begins with it


def policy_of(
    *,
    source: str,
    rules: tuple[Rule, ...],
    injection: InjectionSection,
    secrets: SecretsSection,
    settings: Settings,
    limits: tuple[Limit, ...] = (),
    profiles: "Sequence[Parts]" = (),
) -> Policy:
    """Return the policy with these parts and its digest."""
    body = _body(rules, injection, secrets, settings, limits, profiles)
    policy = Policy(_digest(body), source, rules, injection, secrets, settings, limits)
    if not profiles:
        return policy
    return replace(policy, profiles=tuple(_profile(policy, *parts) for parts in profiles))


def to_json(policy: Policy) -> str:
    """Return the policy in its compiled form."""
    body = _body(
        *(policy.rules, policy.injection, policy.secrets, policy.settings, policy.limits),
        [
            (profile.name, profile.servers, profile.tools, profile.rules)
            for profile in policy.profiles
        ],
    )
    servers = {} if policy.servers is None else {"servers": policy.servers}
    head = {"format": FORMAT, "digest": policy.digest, "source": policy.source, **servers}
    return _dump({**head, **body})


def from_json(text: str) -> Policy:
    """Return the policy of a compiled form; raise PolicyError if it is damaged or not one."""
    try:
        document = json.loads(text)
        if document.pop("format") != FORMAT:
            raise PolicyError("is of another format", source="compiled policy", hint=_HINT)
        digest, source = document.pop("digest"), document.pop("source")
        servers = document.pop("servers", None)  # of a profile
        if _digest(document) != digest:
            raise PolicyError("was changed", source=source, hint=_HINT)
        policy = Policy(
            digest=digest,
            source=source,
            rules=tuple([_rule(fields) for fields in document["rules"]]),
            injection=InjectionSection(**_section(document["injection"])),
            secrets=SecretsSection(**_section(document["secrets"])),
            settings=Settings(**document["settings"]),
            limits=tuple([_limit(*fields) for fields in document.get("limits", ())]),
            servers=None if servers is None else tuple(servers),
        )
        if "profiles" not in document:
            return policy
        profiles = [_parts(*fields) for fields in document["profiles"]]
        return replace(policy, profiles=tuple(_profile(policy, *parts) for parts in profiles))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PolicyError(
            "is not a compiled policy", source="compiled policy", hint=_HINT
        ) from error


_HINT = "compile it again from its TOML"


def _body(
    rules: tuple[Rule, ...],
    injection: InjectionSection,
    secrets: SecretsSection,
    settings: Settings,
    limits: tuple[Limit, ...],
    profiles: "Sequence[Parts]",
) -> dict[str, Any]:
    # Rare parts are left out if unset, so that policies without them keep their digest.
    return {
        "rules": [_compact(rule) for rule in rules],
        "injection": asdict(injection),
        "secrets": asdict(secrets),
        "settings": asdict(settings),
        **({"limits": [_compact_limit(limit) for limit in limits]} if limits else {}),
        **({"profiles": [_compact_profile(*parts) for parts in profiles]} if profiles else {}),
    }


def _compact(rule: Rule) -> list[Any]:
    only: list[Any] = [] if rule.only is None else [list(rule.only)]
    received: list[Any] = []
    if rule.reads_origins:
        only = only or [None]
        window = [] if rule.window is None else [rule.window]
        received = [rule.tainted, list(rule.received), *window]
    return [
        *(rule.number, rule.action, rule.name, rule.kind, rule.server),
        *([_compact_test(test) for test in rule.tests], rule.description, rule.origin),
        *only,
        *received,
    ]


def _compact_test(test: ArgumentTest) -> list[Any]:
    options: dict[str, Any] = {"matcher": test.matcher} if test.matcher is not None else {}
    options |= {name: True for name in ("optional", "ignores_case") if getattr(test, name)}
    return [list(test.keys), list(test.values), *([options] if options else [])]


def _rule(fields: list[Any]) -> Rule:
    number, action, name, kind, server, tests, description, origin, *rest = fields
    loaded = tuple([_test(*test) for test in tests])
    only = tuple(rest[0]) if rest and rest[0] is not None else None
    tainted, received = (rest[1], tuple(rest[2])) if len(rest) > 1 else (None, ())
    return Rule(
        *(number, action, name, kind, server, loaded, description, origin, only),
        tainted=tainted,
        received=received,
        window=rest[3] if len(rest) > 3 else None,
    )


def _compact_limit(limit: Limit) -> list[Any]:
    measure = [] if limit.measure == "calls" else [limit.measure]
    rule, by = _compact(limit.matching), list(limit.by)
    return [limit.number, rule, limit.amount, limit.per, by, *measure]


def _limit(
    number: int,
    matching: list[Any],
    amount: int,
    per: Period | None,
    by: list[Share],
    measure: Measure = "calls",
) -> Limit:
    return Limit(number, _rule(matching), amount, per, tuple(by), measure)


def _compact_profile(
    name: str, servers: Sequence[str], tools: Sequence[str] | None, rules: Sequence[Rule]
) -> list[Any]:
    globs = None if tools is None else list(tools)
    return [name, list(servers), globs, [_compact(rule) for rule in rules]]


def _parts(
    name: str, servers: list[str], tools: list[str] | None, rules: list[list[Any]]
) -> "Parts":
    globs = None if tools is None else tuple(tools)
    return name, tuple(servers), globs, tuple(_rule(fields) for fields in rules)


def _profile(
    policy: Policy,
    name: str,
    servers: tuple[str, ...],
    tools: tuple[str, ...] | None,
    rules: tuple[Rule, ...],
) -> "Profile":
    """Return a profile of a policy; its rules follow the disallowed tools, which always win."""
    from nacre.firewall.rules.profile import Profile  # noqa: PLC0415 - few policies have one

    first = sum(rule.origin.startswith(DISALLOWED) for rule in policy.rules)
    inside = policy_of(
        source=policy.source,
        rules=(*policy.rules[:first], *rules, *policy.rules[first:]),
        injection=policy.injection,
        secrets=policy.secrets,
        settings=policy.settings,
        limits=policy.limits,
    )
    return Profile(name, servers, tools, rules, replace(inside, servers=servers))


def _test(
    keys: list[str], values: list[Scalar], options: dict[str, Any] | None = None
) -> ArgumentTest:
    return ArgumentTest(tuple(keys), tuple(values), **(options or {}))


def _section(table: dict[str, Any]) -> dict[str, Any]:
    table["patterns"] = tuple(NamedPattern(**fields) for fields in table["patterns"])
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_dump(body).encode()).hexdigest()


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
