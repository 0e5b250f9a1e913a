"""A client and a server that both open sessions, where the server answers with a newer version.

Most clients would disconnect. Apart from batches, a client notices a difference only if it asks for
a newer feature. So it gets the version that it named, and its batches are split.
"""

from nacre.firewall.enforce.json_edits import with_value
from nacre.firewall.enforce.message import cancelled_id
from nacre.firewall.proxy.generations.batches import Batches
from nacre.firewall.proxy.generations.steps import Step, encoded


class OlderVersion:
    """Translates the messages of one session of a client with this version."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._batches = Batches(version)

    def begin(self, opened: bytes) -> list[Step]:
        """Return the server's answer to `initialize` with the client's version."""
        path = ("result", "protocolVersion")
        return [Step("client", with_value(opened, path, encoded(self._version)))]

    @property
    def waits(self) -> bool:
        """False: every message of the client goes on at once."""
        return False

    def from_client(self, raw: bytes) -> list[Step]:
        """Split a batch."""
        parts = self._batches.parts(raw) if self._batches.is_batch(raw) else [raw]
        steps = [Step("server", part) for part in parts]
        for part in parts:
            cancelled = cancelled_id(part)
            if cancelled is not None:  # its answer does not come
                steps += self._batches.forget(cancelled)
        return steps

    def from_server(self, raw: bytes) -> list[Step]:
        """Keep the answers to a batch until all are there."""
        return self._batches.gathered([Step("client", raw)])

    def asked(self, raw: bytes, about: bytes) -> list[Step]:
        """Take a question of the guard about a message that it holds."""
        del about
        return [Step("client", raw)]
