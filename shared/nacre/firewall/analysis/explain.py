"""An explanation of a decision: each rule about the call, and its reasons."""

from collections.abc import Iterator

from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.analysis.received_cases import examples, sources
from nacre.firewall.limits.call_limits import LimitMatcher
from nacre.firewall.rules.arguments.call_values import Value, Values
from nacre.firewall.rules.arguments.process_paths import rest_of
from nacre.firewall.rules.condition import MAY, NO, YES, Condition, PartsCondition
from nacre.firewall.rules.evaluate import Engine, has_only
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.policy import Policy, is_about, is_well_formed
from nacre.firewall.rules.received_origins import (
    counting,
    fits,
    is_tainted,
    names,
    spoken_window,
)
from nacre.firewall.rules.rule import (
    NOWHERE,
    ArgumentTest,
    Decision,
    Kind,
    Rule,
    Subject,
    Surroundings,
)

_SHOWN = 120
_QUALIFIED = "mcp__"


@dataclass(frozen=True, slots=True)
class Step:
    """One rule about calls of this name: whether it matched, and the reasons.

    `depends` means that it matches from some bases of the server, and the bases are not known.
    """

    rule: int
    origin: str
    action: str
    matched: bool
    reasons: tuple[str, ...]
    depends: bool = False


@dataclass(frozen=True, slots=True)
class SkippedRule:
    """A rule about calls of this name that was skipped because it is about another server."""

    rule: int
    origin: str
    action: str
    server: str

    def line(self) -> str:
        """Return one line for people."""
        return f"{self.origin} ({self.action}) is skipped: it is about the server '{self.server}'"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its reasons; rules about other tools are left out.

    `skipped` are earlier rules that would match the call on another server. `assumed` says
    from which folders relative paths of the call were resolved, if it has any. `limits` are those
    that count the call if it is made. `otherwise` are the decisions about a caller that has
    received something else, where they differ.
    """

    decision: Decision
    steps: tuple[Step, ...]
    skipped: tuple[SkippedRule, ...] = ()
    assumed: str | None = None
    limits: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the explanation as lines for people."""
        lines = [f"{self.decision.action}: {self.decision.text}"]
        if self.assumed is not None:
            lines.append(f"  {self.assumed}")
        for step in self.steps:
            verb = "matches" if step.matched else "may match" if step.depends else "does not match"
            lines.append(f"  {step.origin} ({step.action}) {verb}")
            lines.extend(f"    {reason}" for reason in step.reasons)
        lines.extend(f"  {rule.line()}" for rule in self.skipped)
        lines.extend(f"  {limit}" for limit in self.limits)
        lines.extend(f"  {other}" for other in self.otherwise)
        return lines


def explain(policy: Policy, subject: Subject, where: Surroundings = NOWHERE) -> Explanation:
    """Return the decision about a call, with a step for every rule up to the deciding one."""
    engine = policy.engine(where)
    decision = engine.decide(subject)
    if not is_well_formed(subject):
        return Explanation(decision, ())
    before = decision.rule
    skipped = [
        rule
        for rule in skipped_rules(policy, subject.kind, subject.name, subject.server)
        if before is None or rule.rule < before
    ]
    where = engine.where_of(subject.server)
    steps = tuple(_steps(engine, subject, decision, where))
    assumed = _assumed(engine, subject, where)
    limits = () if decision.action == "deny" else tuple(_limits(policy, subject, where))
    otherwise = tuple(_otherwise(engine, subject, decision))
    return Explanation(decision, steps, tuple(skipped), assumed, limits, otherwise)


def _otherwise(engine: Engine, subject: Subject, decision: Decision) -> Iterator[str]:
    """Yield the different decisions about callers that have received something else."""
    if not engine.reads_origins(subject.kind, subject.name, subject.server):
        return
    seen = {(decision.action, decision.rule)}
    for received in examples(engine.rules):
        other = engine.decide(subject._replace(received=received))
        if (other.action, other.rule) not in seen:
            seen.add((other.action, other.rule))
            rule = "no rule" if other.rule is None else _origin_of(engine, other.rule)
            before = sources(received) if received else "nothing of another server"
            yield f"If its caller has received {before}: {other.action} ({rule})"


def _origin_of(engine: Engine, number: int) -> str:
    return next(rule.origin for rule in engine.rules if rule.number == number)


def _limits(policy: Policy, subject: Subject, where: Surroundings) -> Iterator[str]:
    for limit in LimitMatcher().limits(policy, subject, where):
        if limit.measure == "result_bytes":
            size = f"{limit.amount:,} bytes"
            yield f"{limit.matching.origin} is about its result: at most {size}, then it is cut"
            continue
        above = "denied" if limit.matching.action == "deny" else "asked about"
        yield f"{limit.matching.origin} counts it: {limit.rate}; further ones are {above}"


def _assumed(engine: Engine, subject: Subject, where: Surroundings) -> str | None:
    """Return a note about the server's bases if a path of the call depends on them."""
    candidates = engine.candidates(subject.kind, subject.name, subject.server)
    keys = {
        condition.keys
        for position in candidates.positions
        for condition in engine.conditions[position]
        if condition.is_about_paths
    }
    values = [value for key in keys for value in Values(subject.arguments, key, where).every]
    unknown = [
        value for value in values if value.has_unknown_base(candidates.named | subject.paths)
    ]
    if unknown and any(map(_leads_through_a_process, unknown)):
        return "The path leads through a process: nobody knows from here where it continues"
    if unknown:
        return "Relative paths: the server's base is not declared (declare it with --base DIR)"
    if where.bases and any(value.is_text and value.read(as_path=True).relative for value in values):
        return f"Relative paths begin at: {', '.join(where.bases)}"
    return None


def _leads_through_a_process(value: Value) -> bool:
    return any(rest_of(text) is not None for text in value.read(as_path=True).possible)


def skipped_rules(policy: Policy, kind: Kind, name: str, server: str) -> list[SkippedRule]:
    """Return the rules about calls of this name that are about another server only."""
    skipped = []
    for rule in policy.rules:
        server_glob = rule.server
        if rule.name.startswith(_QUALIFIED) and kind == "tool" and not name.startswith(_QUALIFIED):
            server_glob, _, tool = rule.name.removeprefix(_QUALIFIED).partition("__")
            is_named = matches(tool or "**", name)
        else:
            is_named = is_about(replace(rule, server=None), kind, name, server)
        if server_glob is not None and is_named and not is_about(rule, kind, name, server):
            skipped.append(SkippedRule(rule.number, rule.origin, rule.action, server_glob))
    return skipped


def _steps(
    engine: Engine, subject: Subject, decision: Decision, where: Surroundings
) -> Iterator[Step]:
    candidates = engine.candidates(subject.kind, subject.name, subject.server)
    for position in candidates.positions:
        rule = engine.rules[position]
        reasons = []
        result: int = YES
        for test, condition in zip(rule.tests, engine.conditions[position], strict=True):
            values = Values(subject.arguments, test.keys, where)
            holds = condition.holds(values, candidates.named | subject.paths)
            if holds == MAY:
                reason = "a relative path matches from some bases, and the base is not known"
                reasons.append(f"{test.path}: {reason}")
            else:
                reasons.append(_reason(rule, test, condition, values, holds=holds == YES))
            result = min(result, holds)
        if rule.reads_origins:
            if not fits(rule, subject.received):
                result = NO
            reasons += received_reasons(rule, subject.received)
        if rule.only is not None:
            if not has_only(subject.arguments, frozenset(rule.only), subject.kind):
                result = NO
            reasons.append(_only_reason(rule.only, subject))
        if rule.is_unconditional:
            reasons.append("it is about every call of this name")
        matched, depends = result == YES, result == MAY
        yield Step(rule.number, rule.origin, rule.action, matched, tuple(reasons), depends)
        if rule.number == decision.rule:
            return


def received_reasons(rule: Rule, received: frozenset[str] | None) -> list[str]:
    """Return why a rule fits what the caller has received before, or does not."""
    if received is None:
        words = [
            word
            for word, value in (
                ("tainted", rule.tainted is not None),
                ("origin", bool(rule.received)),
                ("window", rule.window is not None),
            )
            if value
        ]
        return [f"{word}: what the caller has received before is not known" for word in words]
    reasons = []
    counts = counting(rule, received)
    if rule.window is not None:
        span = spoken_window(rule.window)
        reasons.append(f"window: it counts for {span} what a client of the Being has received")
    if rule.tainted is not None:
        external = ", ".join(sorted(filter(_is_external, counts))) or "no external server"
        reasons.append(f"tainted: the caller has received results of {external}")
    if rule.received:
        fitting = sorted(
            origin for origin in counts if any(names(glob, origin) for glob in rule.received)
        )
        kinds = " or ".join(rule.received)
        reasons.append(
            f"origin: the caller has received {', '.join(fitting)}"
            if fitting
            else f"origin: the caller has received nothing of {kinds}"
        )
    return reasons


def _is_external(origin: str) -> bool:
    return is_tainted([origin])


def _reason(
    rule: Rule, test: ArgumentTest, condition: Condition, values: Values, *, holds: bool
) -> str:
    if not values.every or (holds and condition.optional and not _fits_any(condition, values)):
        missing = "the call has no such argument"
        return f"{test.path}: {missing}{', and it is optional' if holds else ''}"
    if isinstance(condition, PartsCondition):
        return f"{test.path}: {_parts(test, condition, values)}"
    if rule.action != "allow":
        for value in values.every:
            if condition.fits_possibly(value):
                return f"{test.path}: {_possible(condition, value)}"
        return f"{test.path}: no reading of {_shown(values.every[0])} matches"
    if not values.accepted:
        return f"{test.path}: an allow takes one value, or a list of them, and nothing else"
    for value in values.accepted:
        if not condition.fits_surely(value):
            return f"{test.path}: {_unsure(condition, value)}"
    return f"{test.path}: every reading of {_shown(values.accepted[0])} matches"


def _fits_any(condition: Condition, values: Values) -> bool:
    return any(condition.fits_possibly(value) for value in values.every)


def _only_reason(only: tuple[str, ...], subject: Subject) -> str:
    extra = [name for name in subject.arguments if not has_only({name: 0}, only, subject.kind)]
    if not extra:
        return "only_args: the call has no other argument"
    return f"only_args: the call has '{_cut(str(extra[0]))}' too"


def _parts(test: ArgumentTest, condition: PartsCondition, values: Values) -> str:
    """Describe the parts that the matcher read from the deciding value, or from the first."""
    for value in values.every:
        parts = condition.parts(value)
        if parts is None:
            return f"{_shown(value)} is not plainly what {test.matcher} reads"
        for part in parts:
            if not condition.matches(part):
                return f"{_shown(value)} has '{_cut(part)}', which does not match"
    return f"{test.matcher} reads {_shown(values.every[0])}, and all of it matches"


def _possible(condition: Condition, value: Value) -> str:
    read = value.read(as_path=condition.as_path)
    if not read.complete:
        return f"{_shown(value)} can be read in more ways than are looked at"
    for text in read.possible:
        for form in condition.forms:
            if matches(form, condition.fold(text)):
                if text == value.value:
                    return f"{_shown(value)} matches '{form}'"
                return f"{_shown(value)} can be read as '{_cut(text)}', which matches '{form}'"
    if condition.is_about_paths and condition.falls_below(read.relative):
        return f"{_shown(value)} is relative, and falls under the rule below some folder"
    return f"{_shown(value)} is what the rule names"


def _unsure(condition: Condition, value: Value) -> str:
    read = value.read(as_path=condition.as_path)
    if not read.complete:
        return f"{_shown(value)} can be read in more ways than are looked at"
    if not read.legible:
        return f"{_shown(value)} contains a character that no name can have, or is too long"
    for text in read.sure:
        if not any(matches(form, condition.fold(text)) for form in condition.forms):
            if text == value.value:
                return f"{_shown(value)} does not match"
            return f"{_shown(value)} can be read as '{_cut(text)}', which does not match"
    return f"{_shown(value)} does not match"


def _shown(value: Value) -> str:
    return f"'{_cut(str(value.value))}'"


def _cut(text: str) -> str:
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
