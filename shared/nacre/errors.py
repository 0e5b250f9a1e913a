"""The errors that Nacre raises, as one tree.

NacreError
├── InvalidInputError          the caller sent something wrong
│   └── ConfigurationError     a setting or a file is wrong
├── UnauthorizedError          no token, or one that is not valid
├── ForbiddenError             a valid caller, but not for this
│   └── InsufficientScopeError
├── NotFoundError              a named thing does not exist
├── ConflictError              the state is not what the write required
│   └── ConditionFailedError   a conditional write of the item store
└── UnavailableError           a service or the store cannot answer now
"""


class NacreError(Exception):
    """The root: everything Nacre raises on purpose."""


class InvalidInputError(NacreError):
    """The caller sent something wrong; the message names it and says what to do."""


class ConfigurationError(InvalidInputError):
    """A setting, a file or the environment is wrong."""


class UnauthorizedError(NacreError):
    """No token was sent, or one that is unknown, expired, revoked or malformed."""

    def __init__(self, message: str, *, presented: bool) -> None:
        super().__init__(message)
        self.presented = presented


class ForbiddenError(NacreError):
    """The caller is known, but this is not theirs."""


class InsufficientScopeError(ForbiddenError):
    """The token's scope does not cover the call."""

    def __init__(self, what: str, *, required: tuple[str, ...]) -> None:
        super().__init__(f"{what} needs a token with full scope; this token is read-only")
        self.required = required


class NotFoundError(NacreError):
    """A named thing does not exist."""


class ConflictError(NacreError):
    """The state is not what the write required."""


class ConditionFailedError(ConflictError):
    """A conditional write found another state; nothing was written."""


class UnavailableError(NacreError):
    """A service or the store cannot answer now; trying again later may help."""
