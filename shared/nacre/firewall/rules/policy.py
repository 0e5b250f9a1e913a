"""A policy: ordered rules, of which the first that matches decides; else deny."""

from dataclasses import dataclass, field

from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.rule import NOWHERE, Decision, Rule, Subject, Surroundings
from nacre.firewall.rules.sections import InjectionSection, SecretsSection, Settings

MAX_ENGINES = 64  # one for each place where servers run


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy. `digest` is over its meaning, so comments and blanks do not change it."""

    digest: str
    source: str
    rules: tuple[Rule, ...]
    injection: InjectionSection = field(default_factory=InjectionSection)
    secrets: SecretsSection = field(default_factory=SecretsSection)
    settings: Settings = field(default_factory=Settings)
    _engines: dict[Surroundings, Engine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def decide(self, subject: Subject, where: Surroundings = NOWHERE) -> Decision:
        """Return what happens to a call of a server that runs there."""
        return (self._engines.get(where) or self.engine(where)).decide(subject)

    def engine(self, where: Surroundings = NOWHERE) -> Engine:
        """Return the rules, prepared for servers that run there; remembered."""
        engine = self._engines.get(where)
        if engine is None:
            engine = Engine(self.rules, where)
            if len(self._engines) >= MAX_ENGINES:
                self._engines.clear()
            self._engines[where] = engine
        return engine
