"""One test of a rule, compiled for the servers at one place."""

from collections.abc import Callable, Iterable
from typing import Final

from nacre.firewall.rules.arguments.call_values import Value, Values
from nacre.firewall.rules.arguments.readings import is_absolute
from nacre.firewall.rules.globs.matching import matcher
from nacre.firewall.rules.globs.pattern_forms import (
    RelativeGlob,
    is_about_paths,
    is_path_or_url,
    possible_forms,
    relative_glob,
    sure_forms,
)
from nacre.firewall.rules.rule import Action, ArgumentTest, Matcher, Surroundings

NO: Final = 0
MAY: Final = 1  # it depends on a base folder that is not known
YES: Final = 2


class Condition:
    """The globs and scalars that the values at one place must match.

    An allow holds if every reading of every value matches, a deny or prompt if any reading
    of any value does. A deny also covers a relative path if some parent folder would put
    it under a glob, and the path's own segments match a named part of that glob.
    """

    __slots__ = (
        *("_folds", "_globs", "_is_strict", "_relative_globs", "as_path", "equal", "forms"),
        *("is_about_paths", "keys", "optional", "reads_values"),
    )

    def __init__(self, test: ArgumentTest, action: Action, where: Surroundings) -> None:
        self.keys = test.keys
        self.optional = test.optional
        # True if the forms are compared with the readings of values, not with parts of them.
        self.reads_values = not (test.ignores_case or test.matcher)
        self._folds = test.ignores_case
        self._is_strict = action == "allow"
        patterns = test.globs
        forms = sure_forms if self._is_strict else possible_forms
        self.forms = tuple(
            dict.fromkeys(self.fold(form) for pattern in patterns for form in forms(pattern, where))
        )
        self.as_path = any(is_path_or_url(pattern) for pattern in patterns)
        self.is_about_paths = any(is_about_paths(pattern) for pattern in patterns)
        self._globs = [matcher(form) for form in self.forms]
        self._relative_globs: list[RelativeGlob] | None = None
        self.equal = tuple(scalar for scalar in test.values if not isinstance(scalar, str))

    @property
    def has_only_globs(self) -> bool:
        """True if only a reading that matches one of the forms makes the condition hold."""
        return self.reads_values and not (self.equal or self.optional)

    def holds(self, values: Values, named: frozenset[str] = frozenset()) -> int:
        """Return YES, NO or MAY: whether the values at the condition's place match.

        `named` are the arguments that rules about paths name.
        """
        if self.optional and values.are_missing:
            return YES
        if self._is_strict:
            result: int = YES if values.accepted else NO
            for value in values.accepted:
                if not self.fits_surely(value):
                    if not self.may_fit(value, named):
                        return NO
                    result = MAY
            return result
        for value in values.every:
            if self.fits_possibly(value):
                return YES
        if self.is_about_paths and any(self.may_fit(value, named) for value in values.every):
            return MAY
        return NO

    def fits_surely(self, value: Value) -> bool:
        """Tell whether every reading of the value matches."""
        if self.equal and any(value.equals(scalar, exactly=True) for scalar in self.equal):
            return True
        if not self._globs:
            return False
        read = value.read(as_path=self.as_path)
        if not read.legible:
            return False
        for text in self._folded(read.sure):
            for glob in self._globs:
                if glob(text):
                    break
            else:
                return False
        return True

    def fits_possibly(self, value: Value) -> bool:
        """Tell whether a possible reading of the value matches."""
        if self.equal and any(value.equals(scalar, exactly=False) for scalar in self.equal):
            return True
        if not (self._globs or self._folds):
            return False
        read = value.read(as_path=self.as_path)
        if not read.complete:
            return True
        for text in self._folded(read.possible):
            for glob in self._globs:
                if glob(text):
                    return True
        return bool(read.relative) and self.is_about_paths and self.falls_below(read.relative)

    def falls_below(self, relative: tuple[str, ...]) -> bool:
        """Tell whether a parent folder puts a relative path under a glob that names part of it."""
        folded = [self.fold(text) for text in relative]
        return any(glob.names(text) for text in folded for glob in self._relatives())

    def may_fit(self, value: Value, named: frozenset[str]) -> bool:
        """Tell whether the value matches from some base, if its base is not known."""
        if not self.is_about_paths or not value.has_unknown_base(named):
            return False
        read = value.read(as_path=True)
        if not self._is_strict:
            return any(self._may_cover(text) for text in read.relative)
        return (
            read.legible
            and all(self._may_cover(text) or self.matches(text) for text in read.relative)
            and all(self.matches(text) for text in read.sure if is_absolute(text))
        )

    def matches(self, text: str) -> bool:
        """Tell whether a glob covers the text."""
        text = self.fold(text)
        return any(glob(text) for glob in self._globs)

    def fold(self, text: str) -> str:
        """Return the text as it is compared with the forms."""
        return text.casefold() if self._folds else text

    def _folded(self, texts: tuple[str, ...]) -> Iterable[str]:
        return map(str.casefold, texts) if self._folds else texts

    def _may_cover(self, text: str) -> bool:
        return any(glob.covers(self.fold(text)) for glob in self._relatives())

    def _relatives(self) -> list[RelativeGlob]:
        if self._relative_globs is None:
            self._relative_globs = [
                glob for form in self.forms if (glob := relative_glob(form)) is not None
            ]
        return self._relative_globs


class PartsCondition(Condition):
    """A condition about the parts that a matcher reads: addresses, a command or a verb.

    A text that the matcher cannot read never matches an allow, and always a deny or prompt.
    """

    __slots__ = ("_matcher", "_parts")

    def __init__(self, test: ArgumentTest, action: Action, where: Surroundings) -> None:
        super().__init__(test, action, where)
        if test.matcher is None:
            raise ValueError("a test without a matcher")
        self._matcher: Matcher = test.matcher
        self._parts = part_reader(test.matcher)
        self.as_path = self.is_about_paths = False
        self.forms = tuple(_part_form(glob, test.matcher, folds=self._folds) for glob in test.globs)
        self._globs = [matcher(form) for form in self.forms]

    def holds(self, values: Values, named: frozenset[str] = frozenset()) -> int:
        """Return YES or NO: whether the values at the condition's place match."""
        if not self._is_strict or self._matcher == "every_address":
            is_empty = all(value.is_text and not value.value.strip() for value in values.every)
            if self.optional and is_empty and values.every:
                return YES
            return super().holds(values, named)
        # A list could be several commands or statements, or one in parts.
        if len(values.accepted) > 1 or values.are_listed:
            return NO
        return super().holds(values, named)

    def parts(self, value: Value) -> tuple[str, ...] | None:
        """Return the parts that the matcher finds, or None if it cannot read the value."""
        return self._parts(value.value) if value.is_text else None

    def fits_surely(self, value: Value) -> bool:
        """Tell whether the value has at least one part, and all its parts match."""
        parts = self.parts(value)
        return bool(parts) and all(map(self.matches, parts or ()))

    def fits_possibly(self, value: Value) -> bool:
        """Tell whether a part of the value matches, or the matcher cannot read the value."""
        parts = self.parts(value)
        return parts is None or any(map(self.matches, parts))


def build_condition(test: ArgumentTest, action: Action, where: Surroundings) -> Condition:
    """Return the condition of a test."""
    return (PartsCondition if test.matcher else Condition)(test, action, where)


def part_reader(kind: Matcher) -> Callable[[str], tuple[str, ...] | None]:
    """Return the function that reads the parts of a text for a matcher."""
    # Imported here: few policies use a matcher, and every start of a proxy would load all three.
    if kind == "every_address":
        from nacre.firewall.rules.arguments.email_addresses import addresses  # noqa: PLC0415

        return addresses
    if kind == "one_command":
        from nacre.firewall.rules.arguments.shell_command import one_command  # noqa: PLC0415

        return one_command
    from nacre.firewall.rules.arguments.sql_statement import one_statement  # noqa: PLC0415

    def verb(text: str) -> tuple[str, ...] | None:
        statement = one_statement(text)
        return None if statement is None else (statement,)

    return verb


def _part_form(glob: str, kind: Matcher, *, folds: bool) -> str:
    if folds or kind == "one_statement":
        return glob.casefold()
    if kind == "every_address":
        local, at, domain = glob.rpartition("@")
        return f"{local}{at}{domain.lower()}"
    return glob
