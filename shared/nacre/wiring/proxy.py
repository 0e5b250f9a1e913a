"""The parts of a proxy in front of somebody else's server: policy, pins, approvals and audit."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nacre.access.owners import DEFAULT_OWNER
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.own_server_name import OWN, is_own
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.wiring.compose import Home, compose
from nacre.wiring.features.firewall import LateApprover, LateLimits
from nacre.wiring.features.policies import Tell, laptop_policies, to_stderr
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.http_client.bearer import Bearer


@dataclass(frozen=True, slots=True)
class ProxyParts:
    """The parts of a proxy; all conversations and threads of one server share them."""

    new_guard: Callable[..., Guard]
    look: Callable[[bytes, LargeMessage], LargeFindings | None]
    policy: Callable[[], Policy]
    # The default owner's login to a remote server, by its name and its URL.
    login: "Callable[[str, str], Bearer]"
    close: Callable[[], None]


def open_proxy(
    settings: Settings,
    server: str,
    *,
    where: Surroundings = NOWHERE,
    clock: Clock = system_clock,
    tell: Tell = to_stderr,
) -> ProxyParts:
    """Return the parts of a proxy for a server that rules, pins and audit know by a name.

    `new_guard(lines=True, principal="local")` gives the guard of one conversation. Raises
    PolicyError for a policy file that is wrong, InvalidInputError for our own name.
    """
    if is_own(server):
        raise InvalidInputError(
            f"rules take '{OWN}' for a Being's own tools; call this server otherwise with --name"
        )
    ports = LaptopPorts(settings.data_folder, clock=clock)
    home = compose(ports, settings)
    source = laptop_policies(ports, settings, tell)
    limits = LateLimits(ports)
    approver = LateApprover(ports, lambda: source.current().settings)
    judge = Judge(
        source,
        ports.trail,
        tell,
        server,
        where,
        approver=approver,
        commands=ports.commands,
        limits=limits,
    )
    pins = Pins(ports.data, GLOBAL)
    states = RequestStates(lambda: home.signing_keys(), clock)
    screening = ports.screening  # starts no process before there is something large

    def new_guard(*, lines: bool = True, principal: str = "local") -> Guard:
        return Guard(
            judge, pins=pins, states=states, principal=principal, lines=lines, screening=screening
        )

    def look(raw: bytes, large: LargeMessage) -> LargeFindings | None:
        return screening.look(raw, large.method, large.sections, lines=large.lines)

    def close() -> None:
        limits.end_all()
        home.close()

    return ProxyParts(new_guard, look, source.current, partial(_login, home), close)


def _login(home: Home, server: str, url: str) -> "Bearer":
    """Return the tokens for a URL: of the login with this name, else of any with this URL."""
    from nacre.gateway.login.bearer import LoginBearer
    from nacre.gateway.login.logins import LoginServer

    logins = home.logins
    names = [server, *(status.server for status in logins.store.of_owner(DEFAULT_OWNER))]
    usable = (name for name in names if logins.store.load(DEFAULT_OWNER, name, url) is not None)
    login_server = LoginServer(next(usable, server), url)
    return LoginBearer(logins, DEFAULT_OWNER, login_server, reads_at_once=True)
