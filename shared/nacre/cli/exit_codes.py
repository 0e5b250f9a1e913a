"""How a command ends: exit codes that mean something, and errors as two plain lines."""

import sys

from nacre.core.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NacreError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)

OK = 0
FAILURE = 1
USAGE = 2
NOT_FOUND = 3
UNAVAILABLE = 4
CONFLICT = 5
REFUSED = 6
INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended

EXIT_CODES = {
    OK: "done",
    FAILURE: "something failed, or doctor found something broken",
    USAGE: "a wrong option, value or setting",
    NOT_FOUND: "what was named does not exist",
    UNAVAILABLE: "the store, the port or AWS cannot be used now",
    CONFLICT: "it exists already, or somebody else changed it",
    REFUSED: "these credentials may not do that",
    INTERRUPTED: "interrupted",
}


def exit_code(error: NacreError) -> int:
    """Return the exit code for an error."""
    match error:
        case InvalidInputError():
            return USAGE
        case NotFoundError():
            return NOT_FOUND
        case UnavailableError():
            return UNAVAILABLE
        case ConflictError():
            return CONFLICT
        case UnauthorizedError() | ForbiddenError():
            return REFUSED
        case _:
            return FAILURE


def tell(message: str) -> None:
    """Write to standard error what went wrong, and as a hint what to do about it.

    Messages read "what was wrong; what to do".
    """
    problem, separator, advice = message.rpartition("; ")
    if not separator:
        problem, advice = message, ""
    sys.stderr.write(f"error: {problem}\n")
    if advice:
        sys.stderr.write(f"hint: {advice}\n")
