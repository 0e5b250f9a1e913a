"""Batches of a client, split for a server that takes none, and their answers, joined again."""

from collections.abc import Iterable

from nacre.core.errors import NacreError
from nacre.firewall.enforce.guard import BATCHED
from nacre.firewall.enforce.json_edits import elements_of
from nacre.firewall.enforce.message import Key, parse
from nacre.firewall.proxy.generations.steps import Step, key, wire_of


class _Batch:
    """The requests of a batch that have no answer yet, and the answers to the others."""

    def __init__(self, ids: Iterable[Key]) -> None:
        self.open = set(ids)
        self.answers: list[bytes] = []


class Batches:
    """The batches of one client whose version is known."""

    def __init__(self, version: str) -> None:
        self._are_known = version in BATCHED
        self._batches: dict[Key, _Batch] = {}

    def is_batch(self, raw: bytes) -> bool:
        """Tell whether a message is a batch that its sender may send."""
        return self._are_known and raw.lstrip()[:1] == b"["

    def parts(self, raw: bytes) -> list[bytes]:
        """Return the messages of a batch, whose answers are kept until all have come.

        A batch that cannot be read, or that is empty, is returned whole: the guard refuses it.
        """
        try:
            values = parse(raw)
        except NacreError:
            return [raw]
        parts = elements_of(raw) if values else []
        wires = [wire_of(part) for part in parts]
        ids = [key(wire.id) for wire in wires if wire is not None and wire.kind == "request"]
        if not parts or None in wires or len(set(ids)) < len(ids):
            return [raw]
        batch = _Batch(ids)
        self._batches.update(dict.fromkeys(ids, batch))
        return parts

    def gathered(self, steps: Iterable[Step]) -> list[Step]:
        """Return the steps with the answers to a batch together, once all have come."""
        gathered: list[Step] = []
        for step in steps:
            batch = None
            if self._batches and step.to == "client":
                wire = wire_of(step.raw)
                is_answer = wire is not None and wire.kind == "response"
                batch = self._batches.pop(key(wire.id), None) if wire and is_answer else None
            if batch is None:
                gathered.append(step)
                continue
            assert wire is not None
            batch.open.discard(key(wire.id))
            batch.answers.append(step.raw)
            if not batch.open:
                gathered.append(Step("client", b"[%b]" % b",".join(batch.answers)))
        return gathered

    def forget(self, id_: Key) -> list[Step]:
        """Wait no longer for the answer to a request; return the answers if they are all there."""
        batch = self._batches.pop(id_, None)
        if batch is None:
            return []
        batch.open.discard(id_)
        if batch.open or not batch.answers:
            return []
        return [Step("client", b"[%b]" % b",".join(batch.answers))]
