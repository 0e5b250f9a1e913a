"""Fixtures: calls in files, with the expected decisions."""

from collections.abc import Iterable
from pathlib import Path

from nacre.core.errors import InvalidInputError, NacreError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.analysis.sample_call import DescribedCall, decide, read_call
from nacre.firewall.enforce.message import parse
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOTHING, NOWHERE, Action, Decision, Surroundings


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """A fixture and its decision; `expected` is None if the file expects nothing."""

    fixture: Path
    call: DescribedCall
    decision: Decision
    expected: Action | None

    @property
    def is_wrong(self) -> bool:
        """True if the decision differs from the expected one."""
        return self.expected is not None and self.decision.action != self.expected


def fixtures_in(folder: Path) -> list[Path]:
    """Return the fixtures in and below a folder, sorted by name.

    Raise NotFoundError if there is none: a build that tests nothing must not seem to pass.
    """
    if not folder.is_dir():
        raise NotFoundError(f"{folder}: is not a folder; give --fixture for a file")
    fixtures = sorted(path for path in folder.rglob("*.json") if path.is_file())
    if not fixtures:
        raise NotFoundError(f"{folder}: has no fixture; the name of a fixture ends in .json")
    return fixtures


def read_fixture(path: Path, facts: Surroundings = NOWHERE) -> DescribedCall:
    """Return the call of a fixture file.

    Raise InvalidInputError if it is wrong. `facts` are the defaults for its `where`.
    """
    try:
        return read_call(parse(path.read_bytes()), trusts_place=True, facts=facts, received=NOTHING)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such fixture") from None
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror})") from error
    except NacreError as error:
        reason = str(error).replace("the message", "the fixture")
        raise InvalidInputError(f"{path}: {reason}") from error


def run_fixtures(
    policy: Policy,
    fixtures: Iterable[Path],
    expected: Action | None,
    facts: Surroundings = NOWHERE,
) -> list[FixtureResult]:
    """Decide every fixture; `expected` overrides the expectations in the files.

    All files are read before the first call is decided.
    """
    calls = [(path, read_fixture(path, facts)) for path in fixtures]
    return [
        FixtureResult(path, call, decide(call, policy), expected or call.expected)
        for path, call in calls
    ]
