"""One test of a rule, made ready for one place where servers run."""

from nacre.policy.forms import names_a_place, possible_forms, sure_forms
from nacre.policy.matching import matcher
from nacre.policy.rule import Action, ArgumentTest, Surroundings
from nacre.policy.values import Value, Values


class Condition:
    """An allow holds if every reading of every value fits; others if any of any does."""

    __slots__ = ("_globs", "_is_strict", "as_place", "equal", "forms", "keys")

    def __init__(self, test: ArgumentTest, action: Action, where: Surroundings) -> None:
        self.keys = test.keys
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
        """Whether nothing but the forms can make it hold."""
        return not self.equal

    def holds(self, values: Values) -> bool:
        """Tell whether the values at the condition's place fulfil it."""
        if self._is_strict:
            for value in values.accepted:
                if not self.fits_surely(value):
                    return False
            return bool(values.accepted)
        return any(self.fits_possibly(value) for value in values.every)

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
