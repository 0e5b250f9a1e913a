"""One test of a rule, made ready for one place where servers run."""

from collections.abc import Callable

from nacre.policy.forms import names_a_place, possible_forms, sure_forms
from nacre.policy.matching import matcher
from nacre.policy.rule import Action, ArgumentTest, Matcher, Surroundings
from nacre.policy.values import Value, Values


class Condition:
    """An allow holds if every reading of every value fits; others if any of any does."""

    __slots__ = ("_globs", "_is_strict", "as_place", "equal", "forms", "keys", "optional")

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
        self._globs = [matcher(form) for form in self.forms]
        self.equal = tuple(each for each in test.wanted if not isinstance(each, str))

    @property
    def has_only_globs(self) -> bool:
        """Whether nothing but a reading that one of the forms matches can make it hold."""
        return not (self.equal or self.optional)

    @property
    def reads_values(self) -> bool:
        """Whether the forms are held against the readings of values, and not parts of them."""
        return True

    def holds(self, values: Values) -> bool:
        """Tell whether the values at the condition's place fulfil it."""
        if self._is_strict:
            for value in values.accepted:
                if not self.fits_surely(value):
                    return False
            return bool(values.accepted) or (self.optional and values.are_missing)
        if any(self.fits_possibly(value) for value in values.every):
            return True
        return self.optional and values.are_missing

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
        return False


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
        return not read.complete or any(self.matches(text) for text in read.possible)

    def matches(self, text: str) -> bool:
        """Tell whether a glob covers the text."""
        text = text.casefold()
        return any(glob(text) for glob in self._globs)


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
        self.as_place = False
        self.forms = tuple(_part_form(glob, test.matcher, folds=self._folds) for glob in globs)
        self._globs = [matcher(form) for form in self.forms]

    def holds(self, values: Values) -> bool:
        """Tell whether the values at the condition's place fulfil it."""
        if not self._is_strict or self._matcher == "every_address":
            is_empty = all(value.is_text and not value.value.strip() for value in values.every)
            return super().holds(values) or (self.optional and is_empty and bool(values.every))
        # A list would be one command or statement after the other, or one in parts.
        return len(values.accepted) <= 1 and not values.are_listed and super().holds(values)

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

    def matches(self, text: str) -> bool:
        """Tell whether a glob covers the part."""
        text = text.casefold() if self._folds else text
        return any(glob(text) for glob in self._globs)


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
        from nacre.policy.addresses import addresses  # noqa: PLC0415

        return addresses
    if kind == "one_command":
        from nacre.policy.shell_command import one_command  # noqa: PLC0415

        return one_command
    from nacre.policy.sql_statement import one_statement  # noqa: PLC0415

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
