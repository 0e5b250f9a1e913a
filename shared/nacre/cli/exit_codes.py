"""Exit codes with fixed meanings, and errors as one or two plain lines."""

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
    FAILURE: "something failed, or doctor found a problem",
    USAGE: "a wrong option, value or setting",
    NOT_FOUND: "the named thing does not exist",
    UNAVAILABLE: "the store, the port or AWS is not available now",
    CONFLICT: "it already exists, or somebody else changed it",
    REFUSED: "these credentials do not allow it",
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
    """Write an error to standard error, with a hint if the message has one.

    A message has the form "problem; hint".
    """
    problem, separator, advice = message.rpartition("; ")
    if not separator:
        problem, advice = message, ""
    sys.stderr.write(f"error: {problem}\n")
    if advice:
        sys.stderr.write(f"hint: {advice}\n")
