"""Fixtures: calls in files, with what should happen to them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nacre.core.errors import InvalidInputError, NacreError, NotFoundError
from nacre.firewall.analysis.sample_call import DescribedCall, decide, read_call
from nacre.firewall.enforce.message import parse
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, Action, Decision, Surroundings


@dataclass(frozen=True, slots=True)
class Tried:
    """A fixture and what the policy made of it; `expected` is None where nothing was."""

    fixture: Path
    call: DescribedCall
    decision: Decision
    expected: Action | None

    @property
    def is_wrong(self) -> bool:
        """Whether the decision is another than the expected one."""
        return self.expected is not None and self.decision.action != self.expected


def fixtures_in(folder: Path) -> list[Path]:
    """Return the fixtures of a folder and those below it, by name.

    None at all is an error: a build that tests nothing must not look like one that passed.
    """
    if not folder.is_dir():
        raise NotFoundError(f"{folder}: is not a folder; give --fixture for a file")
    found = sorted(path for path in folder.rglob("*.json") if path.is_file())
    if not found:
        raise NotFoundError(f"{folder}: holds no fixture; a fixture's name ends in .json")
    return found


def read_fixture(path: Path, facts: Surroundings = NOWHERE) -> DescribedCall:
    """Return the call of a fixture file; InvalidInputError names the file and what is wrong.

    `facts` hold for a fixture that does not say otherwise in `where`.
    """
    try:
        return read_call(parse(path.read_bytes()), trusts_place=True, facts=facts)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such fixture") from None
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror})") from error
    except NacreError as error:
        said = str(error).replace("the message", "the fixture")
        raise InvalidInputError(f"{path}: {said}") from error


def tried(
    policy: Policy,
    fixtures: Iterable[Path],
    expected: Action | None,
    facts: Surroundings = NOWHERE,
) -> list[Tried]:
    """Decide every fixture; `expected` stands for what the files themselves expect.

    All are read before one is decided.
    """
    calls = [(path, read_fixture(path, facts)) for path in fixtures]
    return [
        Tried(path, call, decide(call, policy), expected or call.expected) for path, call in calls
    ]
