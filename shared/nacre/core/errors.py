"""The errors that Nacre raises, as one tree.

NacreError
├── InvalidInputError              the caller sent something wrong
│   ├── ConfigurationError         a setting or a file is wrong
│   │   └── PolicyError            a policy that cannot be loaded
│   ├── MalformedJsonError         the bytes are not strict JSON
│   ├── MalformedMessageError      JSON, but not one JSON-RPC message
│   ├── InvalidParamsError         a message whose parameters are wrong
│   ├── InvalidArgumentError       a tool call whose arguments are wrong
│   ├── InvalidSchemaError         a tool's JSON Schema that cannot be used
│   ├── HeaderMismatchError        HTTP headers that contradict the body
│   ├── UnsupportedVersionError    a protocol version that is not served
│   ├── ClientCapabilityError      the client cannot do what the call needs
│   │   └── ClientExtensionError
│   ├── TooLargeError              more bytes than are accepted
│   ├── OAuthError                 an OAuth request that fails, with the code its client is told
│   └── BrokenSealError            a sealed value that this key and context do not open
├── ToolError                      a tool says why it cannot do what was asked
├── UnauthorizedError              no token, or one that is not valid
├── ForbiddenError                 a valid caller, but not for this
│   ├── InsufficientScopeError
│   └── PrivateAddressError        a host that does not lead to the public internet
├── BlockedError                   the policy says no
├── RelayedError                   somebody else's server answered with an error
├── NotFoundError                  a named thing does not exist
│   ├── UnknownBeingError
│   ├── UnknownMethodError
│   ├── UnknownProfileError
│   └── UnknownResourceError
├── RateLimitedError               too many attempts; it says when to come back
├── ConflictError                  the state is not what the write required
│   ├── ConditionFailedError       a conditional write of the item store
│   ├── LeaseHeldError             someone else is at work
│   └── LeaseLostError             the lease ran out and went to someone else
└── UnavailableError               a service or the store cannot answer now
    ├── UnansweredError            a client did not answer
    ├── UpstreamError              somebody else's server cannot be used now
    │   ├── NewSessionError        the lists of its new session have not been checked yet
    │   ├── UnlistedToolError      it had not listed its tools yet
    │   ├── OffersChangedError     the lists of its new session differ from the earlier ones
    │   └── LoginNeededError       it wants its owner to log in
    ├── LoginError                 a login to somebody else's server fails
    │   └── LoginEndedError        a login that its server no longer accepts
    ├── ModelError                 a language model gave no answer
    └── StoreError                 the store needs manual repair
        └── NewerSchemaError       written by a newer version
"""

from collections.abc import Sequence
from typing import Any, Literal

ModelFault = Literal[
    "refused", "timeout", "rate_limited", "unavailable", "rejected_key", "truncated", "too_long"
]


class NacreError(Exception):
    """The root: everything Nacre raises on purpose.

    `public` is the text for remote callers when the message is only for the owner.
    """

    public: str | None = None


class InvalidInputError(NacreError):
    """The caller sent something wrong; the message names it and says what to do."""


class ConfigurationError(InvalidInputError):
    """A setting, a file or the environment is wrong."""


class PolicyError(ConfigurationError):
    """A policy cannot be loaded; the message names the file, the place and what to write."""

    def __init__(
        self,
        reason: str,
        *,
        source: str,
        rule: int | None = None,
        limit: int | None = None,
        hint: str | None = None,
    ) -> None:
        place = source if rule is None else f"{source}: rule {rule}"
        if limit is not None:
            place = f"{source}: limit {limit}"
        super().__init__(f"{place}: {reason}{f' ({hint})' if hint else ''}")
        self.reason = reason
        self.source = source
        self.rule = rule
        self.hint = hint


class MalformedJsonError(InvalidInputError):
    """The bytes are not strict JSON; `request_id` is set where it could be read."""

    request_id: str | int | None = None


class MalformedMessageError(InvalidInputError):
    """The JSON is not one JSON-RPC message; `request_id` is set where it could be read."""

    def __init__(self, message: str, *, request_id: str | int | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class InvalidParamsError(InvalidInputError):
    """A JSON-RPC message whose parameters are wrong."""


class InvalidArgumentError(InvalidInputError):
    """A tool call's arguments are wrong; the message names one and what was expected."""


class InvalidSchemaError(InvalidInputError):
    """A tool's JSON Schema is not valid, too large, or points outside itself."""

    def __init__(self, reason: str, *, tool: str) -> None:
        super().__init__(f"tool '{tool}': {reason}")
        self.tool = tool


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

    @property
    def required(self) -> dict[str, object]:
        """The capability as a client declares it."""
        return {self.capability: {}}


class ClientExtensionError(ClientCapabilityError):
    """The client did not declare the extension that the call needs."""

    def __init__(self, extension: str) -> None:
        InvalidInputError.__init__(
            self, f"This call needs a client that declares the extension '{extension}'"
        )
        self.capability = extension

    @property
    def required(self) -> dict[str, object]:
        """The capability as a client declares it."""
        return {"extensions": {self.capability: {}}}


class TooLargeError(InvalidInputError):
    """The input has more bytes than allowed; `request_id` is set where it could be read."""

    def __init__(self, subject: str, *, limit: int, request_id: str | int | None = None) -> None:
        super().__init__(f"{subject} is larger than {limit} bytes; send less at once")
        self.limit = limit
        self.request_id = request_id


class OAuthError(InvalidInputError):
    """An OAuth request fails; `code` is one of the protocol's own words."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class BrokenSealError(InvalidInputError):
    """A sealed value was changed, or belongs to another key or another context."""


class ToolError(NacreError):
    """A tool cannot do what was asked; the message is for the model that asked."""


class UnauthorizedError(NacreError):
    """No token was sent, or one that is unknown, expired, revoked or malformed."""

    def __init__(self, message: str, *, presented: bool) -> None:
        super().__init__(message)
        self.presented = presented


class ForbiddenError(NacreError):
    """The caller is known, but this is not theirs."""


class InsufficientScopeError(ForbiddenError):
    """The token's scope does not cover the call."""

    def __init__(self, subject: str, *, required: tuple[str, ...]) -> None:
        super().__init__(f"{subject} needs a token with full scope; this token is read-only")
        self.required = required


class PrivateAddressError(ForbiddenError):
    """A host that does not lead to the public internet; its address is not repeated."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"'{host[:253]}' leads to a private address, which this server does not connect to"
        )
        self.host = host


class BlockedError(NacreError):
    """The policy denies the request.

    `rule` is the number of the rule, `audit` the id of its audit record.
    """

    def __init__(self, message: str, *, rule: int | None, audit: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.audit = audit


class RelayedError(NacreError):
    """The error with which somebody else's server answered a request, unchanged."""

    code: int = -32603
    data: Any = None

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class NotFoundError(NacreError):
    """A named thing does not exist."""


class UnknownResourceError(NotFoundError):
    """No resource has this URI."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"Resource not found: {uri[:200]}")
        self.uri = uri


class UnknownBeingError(NotFoundError):
    """The URL holds no id of a Being; the message does not repeat it."""

    def __init__(self) -> None:
        super().__init__("there is no such Being")


class UnknownProfileError(NotFoundError):
    """The policy has no profile of this name; the message does not repeat it."""

    def __init__(self) -> None:
        super().__init__(
            "there is no such profile; the owner's policy defines them as [profile.NAME]"
        )


class UnknownMethodError(NotFoundError):
    """A JSON-RPC method that is not served."""

    def __init__(self, method: str) -> None:
        super().__init__(f"Method not found: {method[:100]}")


class RateLimitedError(NacreError):
    """Too many attempts in a short time; `seconds` is how long to wait."""

    def __init__(self, attempts: str, *, seconds: int) -> None:
        super().__init__(f"too many {attempts}; try again in {seconds} seconds")
        self.seconds = seconds


class ConflictError(NacreError):
    """The state is not what the write required."""


class ConditionFailedError(ConflictError):
    """A conditional write found another state; `index` is its position in the transaction."""

    def __init__(self, index: int = 0) -> None:
        super().__init__(f"the condition of write {index + 1} does not hold; nothing was written")
        self.index = index


class LeaseHeldError(ConflictError):
    """Someone else holds the lease; `seconds` is how long it runs unless renewed."""

    def __init__(self, subject: str, *, seconds: float) -> None:
        super().__init__(f"{subject} is held by someone else for up to {seconds:.0f} s")
        self.seconds = seconds


class LeaseLostError(ConflictError):
    """The lease ran out and went to someone else; what it protected must stop."""


class UnavailableError(NacreError):
    """A service or the store cannot answer now; trying again later may help."""

    def __init__(self, message: str, *, public: str | None = None) -> None:
        super().__init__(message)
        self.public = public or self.public


class UnansweredError(UnavailableError):
    """A client did not answer a question."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the client did not answer within {seconds} seconds; make the call again")


class UpstreamError(UnavailableError):
    """Somebody else's server cannot be used now; `reason` names no address and no secret.

    `is_fault` is False if the server is not to blame; such errors do not count as failures.
    """

    def __init__(self, server: str, reason: str, *, is_fault: bool = True) -> None:
        super().__init__(f"the server '{server}' {reason}")
        self.server = server
        self.reason = reason
        self.is_fault = is_fault


class NewSessionError(UpstreamError):
    """The lists of a new session with a server have not been checked yet.

    The request was not sent.
    """

    def __init__(self, server: str) -> None:
        super().__init__(server, "began a new session; make the call again", is_fault=False)


class UnlistedToolError(UpstreamError):
    """A server had not listed its tools yet, so no rule could decide about this one."""

    def __init__(self, server: str) -> None:
        reason = "had not listed its tools yet; make the call again"
        super().__init__(server, reason, is_fault=False)


class OffersChangedError(UpstreamError):
    """The lists of a server's new session differ from before; the request was not sent."""

    def __init__(self, server: str) -> None:
        reason = "began a new session, and what it offers has changed; make the call again"
        super().__init__(server, reason, is_fault=False)


class LoginNeededError(UpstreamError):
    """A server wants its owner to log in, or to allow more; nothing was carried out."""

    def __init__(self, server: str, *, scopes: Sequence[str] = (), has_login: bool = False) -> None:
        command = f"nacre server login {server}"
        reason = (
            f"wants you to log in; run '{command}' (with --stack NAME for one on AWS), log in on"
            " the console's page Logins, or send a token in the header Authorization"
        )
        if has_login and scopes:
            rights = " ".join(scopes)[:200]
            reason = f"wants more rights ({rights}); log in again with '{command}'"
        super().__init__(server, reason, is_fault=False)
        self.scopes = tuple(scopes)


class LoginError(UnavailableError):
    """A login to somebody else's server fails; the reason holds no token."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the login failed: {reason}")
        self.reason = reason


class LoginEndedError(LoginError):
    """The server no longer accepts a login; `code` is its error code."""

    def __init__(self, code: str) -> None:
        super().__init__(f"its authorization server no longer accepts it ({code}); log in again")
        self.code = code


class ModelError(UnavailableError):
    """A language model gave no answer; the message holds neither the answer nor the question.

    The tokens are what the failed attempt still cost, if the provider said so.
    """

    def __init__(
        self, kind: ModelFault, reason: str, *, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        super().__init__(f"the language model gave no answer: {reason}")
        self.kind = kind
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class StoreError(UnavailableError):
    """The store is damaged, out of reach or not ours; the message says what to do."""

    public = "the store cannot be used; the server's log says why and what to do"


class NewerSchemaError(StoreError):
    """Something in the store was written by a newer version."""

    def __init__(self, subject: str, *, version: int, newest: int) -> None:
        super().__init__(
            f"{subject} was written by a newer Nacre: it has schema {version}, and this version"
            f" knows schemas up to {newest}. Nothing was changed. Upgrade nacre to use it."
        )
        self.version = version
        self.newest = newest
