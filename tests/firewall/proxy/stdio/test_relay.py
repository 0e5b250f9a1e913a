"""What becomes of each verdict at the relay, and the order in which messages go on."""

import json
from collections.abc import Sequence
from typing import Any

from nacre.firewall.approvals.approver import Waiting
from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release, Verdict
from nacre.firewall.proxy.stdio.relay import Relay
from tests.firewall.guarding import Person, Scene, encoded, request, response


class Script:
    """A guard that says what it was told to say."""

    def __init__(self, *verdicts: Verdict, released: Sequence[Release] = ()) -> None:
        self._verdicts = list(verdicts)
        self._released = list(released)

    @property
    def holds(self) -> bool:
        return bool(self._released)

    def from_client(self, raw: bytes) -> Verdict:
        return self._verdicts.pop(0)

    from_server = from_client

    def delays(self, raw: bytes) -> bool:
        return False

    def first(self, raw: bytes) -> bytes | None:
        return None

    def large(self, raw: bytes) -> LargeMessage | None:
        return None

    def from_screening(
        self, raw: bytes, large: LargeMessage, looked: LargeFindings | None
    ) -> Verdict:
        raise AssertionError

    def poll(self) -> list[Release]:
        released, self._released = self._released, []
        return released


class Ends:
    """Both ends of a relay."""

    def __init__(self, guard: Any) -> None:
        self.client: list[bytes] = []
        self.server: list[bytes] = []
        self.relay = Relay(guard, to_client=self.client.append, to_server=self.server.append)


def test_what_goes_on_and_what_goes_back() -> None:
    ends = Ends(
        Script(
            Forward(b"on"), Answer(b"back"), Drop("why"), Hold(b"ask"), Hold(), Forward(b"x", b"y")
        )
    )

    ends.relay.from_client(b"1\n2\n3\n4\n5\n6\n")

    assert (ends.server, ends.client) == ([b"on", b"x"], [b"back", b"ask", b"y"])


def test_the_same_from_the_other_side() -> None:
    ends = Ends(Script(Forward(b"on"), Answer(b"back"), Hold(b"ask"), Forward(b"x", b"y")))

    ends.relay.from_server(b"1\n2\n3\n4\n")

    assert (ends.server, ends.client) == ([b"back", b"y"], [b"on", b"ask", b"x"])


def test_what_was_held_goes_where_it_belongs() -> None:
    guard = Script(released=[Release("client", b"c"), Release("server", b"s")])
    ends = Ends(guard)
    assert ends.relay.holds

    ends.relay.poll()

    assert (ends.server, ends.client) == ([b"s"], [b"c"])
    assert not ends.relay.holds


def test_what_is_held_of_a_batch_is_looked_after() -> None:
    waiting = Waiting("t1", "ask the owner", 60)
    asks = '[[rule]]\naction = "prompt"\ntool = "sampling/createMessage"\n'
    scene = Scene(asks, approver=Person(waiting, waiting)).opened("2025-03-26", {"sampling": {}})
    scene.up(request(8, "ping"))
    ends = Ends(scene.guard)

    sampling = request("s", "sampling/createMessage", {"messages": []})
    ends.relay.from_server(encoded([response(8, {}), sampling]) + b"\n")

    assert [json.loads(each) for each in ends.client] == [[response(8, {})]]
    assert ends.relay.holds


def test_what_stands_behind_the_last_end_of_line_counts_when_nothing_follows() -> None:
    ends = Ends(Script(Forward(b"up"), Forward(b"down")))
    ends.relay.from_client(b"half")
    ends.relay.from_server(b"half")
    assert (ends.server, ends.client) == ([], [])

    ends.relay.client_ended()
    ends.relay.server_ended()

    assert (ends.server, ends.client) == ([b"up"], [b"down"])
