"""One test of a rule, made ready for one place where servers run."""

from collections.abc import Callable
from typing import Final

from nacre.firewall.rules.arguments.call_values import Value, Values
from nacre.firewall.rules.arguments.readings import is_absolute
from nacre.firewall.rules.globs.matching import matcher
from nacre.firewall.rules.globs.pattern_forms import (
    is_about_paths,
    names_a_place,
    possible_forms,
    sure_forms,
)
from nacre.firewall.rules.globs.relative_globs import Below, below
from nacre.firewall.rules.rule import Action, ArgumentTest, Matcher, Surroundings

NO: Final = 0
MAY: Final = 1  # it depends on a base that is not known
YES: Final = 2


class Condition:
    """An allow holds if every reading of every value fits; others if any of any does.

    A deny also covers a relative path that falls under it below some parent, as far as the
    path's own segments show it.
    """

    __slots__ = (
        *("_below", "_globs", "_is_strict", "as_place", "equal", "forms", "is_about_paths"),
        *("keys", "optional"),
    )

    def __init__(self, test: ArgumentTest, action: Action, where: Surroundings) -> None:
        self.keys = test.keys
        self.optional = test.optional
        self._is_strict = action == "allow"
        patterns = [each for each in test.wanted if isinstance(each, str)]
        forms = sure_forms if self._is_strict else possible_forms
        self.forms = tuple(
            dict.fromkeys(form for pattern in patterns for form in forms(pattern, where))
        )
        self.as_place = any(names_a_place(pattern) for pattern in patterns)
        self.is_about_paths = any(is_about_paths(pattern) for pattern in patterns)
        self._globs = [matcher(form) for form in self.forms]
        self._below: list[Below] | None = None
        self.equal = tuple(each for each in test.wanted if not isinstance(each, str))

    @property
    def has_only_globs(self) -> bool:
        """Whether nothing but a reading that one of the forms matches can make it hold."""
        return not (self.equal or self.optional)

    @property
    def reads_values(self) -> bool:
        """Whether the forms are held against the readings of values, and not parts of them."""
        return True

    def holds(self, values: Values, named: frozenset[str] = frozenset()) -> int:
        """Return whether the values at the condition's place fulfil it: YES, NO or MAY.

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
        """Tell whether the value fits whatever it means."""
        if self.equal and any(value.equals(each, exactly=True) for each in self.equal):
            return True
        if not self._globs:
            return False
        read = value.read(as_place=self.as_place)
        if not read.legible:
            return False
        for text in read.sure:
            for glob in self._globs:
                if glob(text):
                    break
            else:
                return False
        return True

    def fits_possibly(self, value: Value) -> bool:
        """Tell whether the value fits in one of its meanings."""
        if self.equal and any(value.equals(each, exactly=False) for each in self.equal):
            return True
        if not self._globs:
            return False
        read = value.read(as_place=self.as_place)
        if not read.complete:
            return True
        for text in read.possible:
            for glob in self._globs:
                if glob(text):
                    return True
        return bool(read.relative) and self.is_about_paths and self.falls_below(read.relative)

    def falls_below(self, relative: tuple[str, ...]) -> bool:
        """Tell whether a relative path's own segments fall under a glob, below some parent."""
        return any(each.names(self.spelled(text)) for text in relative for each in self._belows())

    def may_fit(self, value: Value, named: frozenset[str]) -> bool:
        """Tell whether the value fits from some bases, where nobody knows them."""
        if not self.is_about_paths or not value.has_unknown_base(named):
            return False
        read = value.read(as_place=True)
        if not self._is_strict:
            return any(self._may_cover(text) for text in read.relative)
        return (
            read.legible
            and all(self._may_cover(text) or self.matches(text) for text in read.relative)
            and all(self.matches(text) for text in read.sure if is_absolute(text))
        )

    def matches(self, text: str) -> bool:
        """Tell whether a glob covers the text."""
        text = self.spelled(text)
        return any(glob(text) for glob in self._globs)

    def spelled(self, text: str) -> str:
        """Return the text as it is held against the forms."""
        return text

    def _may_cover(self, text: str) -> bool:
        return any(each.covers(self.spelled(text)) for each in self._belows())

    def _belows(self) -> list[Below]:
        if self._below is None:
            self._below = [each for form in self.forms if (each := below(form)) is not None]
        return self._below


class FoldedCondition(Condition):
    """A condition whose globs do not tell `A` from `a`."""

    __slots__ = ()

    def __init__(self, test: ArgumentTest, action: Action, where: Surroundings) -> None:
        super().__init__(test, action, where)
        self.forms = tuple(dict.fromkeys(form.casefold() for form in self.forms))
        self._globs = [matcher(form) for form in self.forms]

    @property
    def has_only_globs(self) -> bool:
        """Whether nothing but a reading that one of the forms matches can make it hold."""
        return False

    @property
    def reads_values(self) -> bool:
        """Whether the forms are held against the readings of values, and not parts of them."""
        return False

    def fits_surely(self, value: Value) -> bool:
        """Tell whether the value fits whatever it means."""
        if any(value.equals(each, exactly=True) for each in self.equal):
            return True
        read = value.read(as_place=self.as_place)
        return read.legible and all(self.matches(text) for text in read.sure)

    def fits_possibly(self, value: Value) -> bool:
        """Tell whether the value fits in one of its meanings."""
        if any(value.equals(each, exactly=False) for each in self.equal):
            return True
        read = value.read(as_place=self.as_place)
        if not read.complete or any(self.matches(text) for text in read.possible):
            return True
        return self.is_about_paths and self.falls_below(read.relative)

    def spelled(self, text: str) -> str:
        """Return the text as it is held against the forms."""
        return text.casefold()


class PartsCondition(FoldedCondition):
    """A condition about what a matcher finds in a text: addresses, a command, a verb.

    What cannot be read in one way only never fits an allow, and always a deny or a question.
    """

    __slots__ = ("_folds", "_matcher", "_parts")

    def __init__(self, test: ArgumentTest, action: Action, where: Surroundings) -> None:
        super().__init__(test, action, where)
        if test.matcher is None:
            raise ValueError("a test without a matcher")
        self._matcher: Matcher = test.matcher
        self._parts = parts_in(test.matcher)
        self._folds = test.ignores_case
        globs = [glob for glob in test.wanted if isinstance(glob, str)]
        self.as_place = self.is_about_paths = False
        self.forms = tuple(_part_form(glob, test.matcher, folds=self._folds) for glob in globs)
        self._globs = [matcher(form) for form in self.forms]

    def holds(self, values: Values, named: frozenset[str] = frozenset()) -> int:
        """Return whether the values at the condition's place fulfil it: YES or NO."""
        if not self._is_strict or self._matcher == "every_address":
            is_empty = all(value.is_text and not value.value.strip() for value in values.every)
            if self.optional and is_empty and values.every:
                return YES
            return super().holds(values, named)
        # A list would be one command or statement after the other, or one in parts.
        if len(values.accepted) > 1 or values.are_listed:
            return NO
        return super().holds(values, named)

    def parts(self, value: Value) -> tuple[str, ...] | None:
        """Return what the matcher finds, or None where it cannot tell."""
        return self._parts(value.value) if value.is_text else None

    def fits_surely(self, value: Value) -> bool:
        """Tell whether all that is found in the value fits, and something is found."""
        parts = self.parts(value)
        return bool(parts) and all(map(self.matches, parts or ()))

    def fits_possibly(self, value: Value) -> bool:
        """Tell whether something in the value fits, or nobody can tell what is in it."""
        parts = self.parts(value)
        return parts is None or any(map(self.matches, parts))

    def spelled(self, text: str) -> str:
        """Return a part as it is held against the forms."""
        return text.casefold() if self._folds else text


def prepared(test: ArgumentTest, action: Action, where: Surroundings) -> Condition:
    """Return the condition of a test."""
    if test.matcher is not None:
        return PartsCondition(test, action, where)
    if test.ignores_case:
        return FoldedCondition(test, action, where)
    return Condition(test, action, where)


def parts_in(kind: Matcher) -> Callable[[str], tuple[str, ...] | None]:
    """Return the function that finds in a text what a matcher is about."""
    # Few policies use one, and each start of a proxy would pay for all of them.
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
