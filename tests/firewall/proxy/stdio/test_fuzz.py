"""Hostile bytes, cut anywhere, through the relay: nothing undecided goes on, nothing breaks."""

import json
import os
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage
from nacre.firewall.enforce.verdicts import Answer, Forward, Hold, Release, Verdict
from nacre.firewall.proxy.stdio.relay import Relay
from tests.firewall.enforce.test_guard_fuzz import conversation, is_decided, mangled, readings
from tests.firewall.guarding import Scene

MESSAGES = int(os.environ.get("NACRE_FUZZ_MESSAGES", "100000"))  # of the long run
ENDS = (b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" \n")


class Watched:
    """A guard whose verdicts are kept."""

    def __init__(self, scene: Scene) -> None:
        self._guard = scene.guard
        self.seen: list[tuple[str, bytes, Verdict]] = []

    @property
    def holds(self) -> bool:
        return self._guard.holds

    def from_client(self, raw: bytes) -> Verdict:
        return self._kept("client", raw, self._guard.from_client(raw))

    def from_server(self, raw: bytes) -> Verdict:
        return self._kept("server", raw, self._guard.from_server(raw))

    def delays(self, raw: bytes) -> bool:
        return self._guard.delays(raw)

    def first(self, raw: bytes) -> bytes | None:
        return self._guard.first(raw)

    def large(self, raw: bytes) -> LargeMessage | None:
        return None

    def from_screening(
        self, raw: bytes, large: LargeMessage, looked: LargeFindings | None
    ) -> Verdict:
        raise AssertionError

    def poll(self) -> list[Release]:
        return self._guard.poll()

    def _kept(self, sender: str, raw: bytes, verdict: Verdict) -> Verdict:
        self.seen.append((sender, raw, verdict))
        return verdict


def pieces(rng: Random, raw: bytes) -> list[bytes]:
    """Return the bytes as a pipe may give them."""
    cuts = sorted(rng.randrange(len(raw) + 1) for _ in range(rng.randrange(6)))
    edges = [0, *cuts, len(raw)]
    return [raw[start:end] for start, end in pairwise(edges)]


def check(rng: Random, scene: Scene, count: int) -> Counter[str]:
    """Send messages from both ends; return how many of each verdict there were."""
    watched: Any = Watched(scene)
    out: dict[str, list[bytes]] = {"client": [], "server": []}
    relay = Relay(watched, to_client=out["client"].append, to_server=out["server"].append)
    for _ in range(count // 5):
        raw = b"".join(mangled(rng) + rng.choice(ENDS) for _ in range(5))
        for take in (relay.from_client, relay.from_server):
            for piece in pieces(rng, raw):
                take(piece)
    relay.client_ended()
    relay.server_ended()
    for side, lines in out.items():
        allowed = {sent for other, sent in map(forwards, watched.seen) if other == side}
        allowed |= {sent for sender, sent in map(answers, watched.seen) if sender == side}
        for line in lines:
            assert line in allowed
            assert b"\n" not in line
            json.loads(line)
    return Counter(f"{sender} {type(verdict).__name__}" for sender, _, verdict in watched.seen)


def forwards(seen: tuple[str, bytes, Verdict]) -> tuple[str, bytes]:
    """Return what may have gone on to the other side, checked to be decided."""
    sender, raw, verdict = seen
    assert not isinstance(verdict, Hold)  # nobody is asked
    if not isinstance(verdict, Forward):
        return "", b""
    if verdict.raw is raw:
        assert all(is_decided(value, sender) for value in readings(raw)), raw
    return "server" if sender == "client" else "client", verdict.raw


def answers(seen: tuple[str, bytes, Verdict]) -> tuple[str, bytes]:
    """Return what may have gone back to the sender."""
    sender, _, verdict = seen
    if isinstance(verdict, Forward | Answer):
        said = verdict.answer if isinstance(verdict, Forward) else verdict.raw
        return sender, said or b""
    return "", b""


@pytest.mark.parametrize("seed", range(4))
def test_mangled_messages_in_any_pieces_are_decided(seed: int) -> None:
    kinds = check(Random(seed), conversation(batches=bool(seed % 2)), 100)

    assert kinds["client Forward"] > 5
    assert kinds["client Answer"] > 5
    assert kinds["server Drop"] > 5


@pytest.mark.slow
def test_a_hundred_thousand_mangled_messages_are_decided() -> None:
    rng = Random(20261118)
    kinds: Counter[str] = Counter()
    for number in range(MESSAGES // 500):
        kinds += check(rng, conversation(batches=number % 2 == 0), 250)

    assert kinds["client Forward"] > MESSAGES // 50
