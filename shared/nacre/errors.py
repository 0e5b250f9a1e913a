"""The errors that Nacre raises, as one tree.

NacreError
├── InvalidInputError              the caller sent something wrong
│   ├── ConfigurationError         a setting or a file is wrong
│   ├── MalformedJsonError         the bytes are not strict JSON
│   ├── MalformedMessageError      JSON, but not one JSON-RPC message
│   ├── InvalidParamsError         a message whose parameters are wrong
│   ├── HeaderMismatchError        HTTP headers that contradict the body
│   ├── UnsupportedVersionError    a protocol version that is not served
│   ├── ClientCapabilityError      the client cannot do what the call needs
│   └── TooLargeError              more bytes than are taken
├── UnauthorizedError              no token, or one that is not valid
├── ForbiddenError                 a valid caller, but not for this
│   └── InsufficientScopeError
├── NotFoundError                  a named thing does not exist
│   └── UnknownMethodError
├── ConflictError                  the state is not what the write required
│   └── ConditionFailedError       a conditional write of the item store
└── UnavailableError               a service or the store cannot answer now
"""

from collections.abc import Sequence


class NacreError(Exception):
    """The root: everything Nacre raises on purpose."""


class InvalidInputError(NacreError):
    """The caller sent something wrong; the message names it and says what to do."""


class ConfigurationError(InvalidInputError):
    """A setting, a file or the environment is wrong."""


class MalformedJsonError(InvalidInputError):
    """The bytes are not strict JSON."""


class MalformedMessageError(InvalidInputError):
    """The JSON is not one JSON-RPC message; `request_id` is set where it could be read."""

    def __init__(self, message: str, *, request_id: str | int | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class InvalidParamsError(InvalidInputError):
    """A JSON-RPC message whose parameters are wrong."""


class HeaderMismatchError(InvalidInputError):
    """An HTTP header is missing, malformed or contradicts the body."""


class UnsupportedVersionError(InvalidInputError):
    """A protocol version that is not served."""

    def __init__(self, requested: str, *, supported: Sequence[str]) -> None:
        super().__init__("Unsupported protocol version")
        self.requested = requested
        self.supported = tuple(supported)


class ClientCapabilityError(InvalidInputError):
    """The client did not declare, or cannot now use, what the call needs."""

    def __init__(self, capability: str) -> None:
        super().__init__(f"This call needs a client with the '{capability}' capability")
        self.capability = capability


class TooLargeError(InvalidInputError):
    """More bytes than are taken."""

    def __init__(self, what: str, *, limit: int) -> None:
        super().__init__(f"{what} is larger than {limit} bytes; send less at once")
        self.limit = limit


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


class UnknownMethodError(NotFoundError):
    """A JSON-RPC method that is not served."""

    def __init__(self, method: str) -> None:
        super().__init__(f"Method not found: {method[:100]}")


class ConflictError(NacreError):
    """The state is not what the write required."""


class ConditionFailedError(ConflictError):
    """A conditional write found another state; nothing was written."""


class UnavailableError(NacreError):
    """A service or the store cannot answer now; trying again later may help."""
