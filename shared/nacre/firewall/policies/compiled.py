"""The compiled form of a policy: JSON that loads without a TOML parser and without checks."""

import hashlib
import json
from typing import Any

from nacre.core.errors import PolicyError
from nacre.core.lazy_dataclasses import asdict
from nacre.firewall.rules.limit import Limit, Measure, Period, Share
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ArgumentTest, Rule, Scalar
from nacre.firewall.rules.sections import InjectionSection, NamedPattern, SecretsSection, Settings

FORMAT = "nacre-policy-1"


def policy_of(
    *,
    source: str,
    rules: tuple[Rule, ...],
    injection: InjectionSection,
    secrets: SecretsSection,
    settings: Settings,
    limits: tuple[Limit, ...] = (),
) -> Policy:
    """Return the policy with these parts and its digest."""
    body = _body(rules, injection, secrets, settings, limits)
    return Policy(_digest(body), source, rules, injection, secrets, settings, limits)


def to_json(policy: Policy) -> str:
    """Return the policy in its compiled form."""
    body = _body(policy.rules, policy.injection, policy.secrets, policy.settings, policy.limits)
    return _dump({"format": FORMAT, "digest": policy.digest, "source": policy.source, **body})


def from_json(text: str) -> Policy:
    """Return the policy of a compiled form; raise PolicyError if it is damaged or not one."""
    try:
        document = json.loads(text)
        if document.pop("format") != FORMAT:
            raise PolicyError("is of another format", source="compiled policy", hint=_HINT)
        digest, source = document.pop("digest"), document.pop("source")
        if _digest(document) != digest:
            raise PolicyError("was changed", source=source, hint=_HINT)
        return Policy(
            digest=digest,
            source=source,
            rules=tuple([_rule(fields) for fields in document["rules"]]),
            injection=InjectionSection(**_section(document["injection"])),
            secrets=SecretsSection(**_section(document["secrets"])),
            settings=Settings(**document["settings"]),
            limits=tuple([_limit(*fields) for fields in document.get("limits", ())]),
        )
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
) -> dict[str, Any]:
    # Rare parts are left out if unset, so that policies without them keep their digest.
    return {
        "rules": [_compact(rule) for rule in rules],
        "injection": asdict(injection),
        "secrets": asdict(secrets),
        "settings": asdict(settings),
        **({"limits": [_compact_limit(limit) for limit in limits]} if limits else {}),
    }


def _compact(rule: Rule) -> list[Any]:
    only = [] if rule.only is None else [list(rule.only)]
    return [
        *(rule.number, rule.action, rule.name, rule.kind, rule.server),
        *([_compact_test(test) for test in rule.tests], rule.description, rule.origin, *only),
    ]


def _compact_test(test: ArgumentTest) -> list[Any]:
    options: dict[str, Any] = {"matcher": test.matcher} if test.matcher is not None else {}
    options |= {name: True for name in ("optional", "ignores_case") if getattr(test, name)}
    return [list(test.keys), list(test.values), *([options] if options else [])]


def _rule(fields: list[Any]) -> Rule:
    number, action, name, kind, server, tests, description, origin, *names = fields
    loaded = tuple([_test(*test) for test in tests])
    only = tuple(names[0]) if names else None
    return Rule(number, action, name, kind, server, loaded, description, origin, only)


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
