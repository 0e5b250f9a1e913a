"""The facts about configured or wrapped servers that decisions depend on."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.cli.being_options import Place
from nacre.cli.policy.call_arguments import facts_of
from nacre.core.errors import NacreError
from nacre.firewall.rules.rule import Surroundings
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.gateway.servers.config import ServerConfig


class ServerFacts:
    """The facts about each server; the options `home` and `bases` override them."""

    def __init__(self, place: Place, home: str | None, bases: tuple[str, ...]) -> None:
        self._place = place
        self._home = home
        self._bases = bases
        self._defaults = facts_of(home, bases)

    def of(self, server: str) -> Surroundings:
        """Return the facts about a server, or those of any local server if it is not known."""
        facts = self.configured.get(server) or self._wrapped(server)
        if facts is None:
            return self._defaults
        if self._home is not None:
            facts = facts._replace(home=self._home)
        if self._bases:
            defaults = self._defaults
            facts = facts._replace(bases=defaults.bases, opens_files=defaults.opens_files)
        return facts

    @cached_property
    def configured(self) -> dict[str, Surroundings]:
        """The facts about the other MCP servers of this machine's gateway."""
        has_store = (Path(self._place.folder()) / DATABASE).exists()
        if self._place.stack or not (has_store or Settings.from_environment().servers_file):
            return {}
        from nacre.wiring.features.servers import references_of, surroundings

        try:
            where = surroundings(references_of(self._place.open().ports))
            return {config.name: where(config) for config in self._configs()}
        except NacreError:
            return {}  # the commands that list or start the servers report the problem

    def _configs(self) -> "Iterator[ServerConfig]":
        from nacre.gateway.servers.config import merged
        from nacre.gateway.servers.store import ServerStore
        from nacre.wiring.features.server_sources import server_file

        lists = [server_file(Settings.from_environment())()]
        if (Path(self._place.folder()) / DATABASE).exists():
            table = self._place.open().data
            lists.append(ServerStore(lambda: table).load())
        yield from merged(lists, reserved=[]).servers

    def _wrapped(self, server: str) -> Surroundings | None:
        """Return the facts about a server of a client that is wrapped under this name.

        If several clients have one, their bases are combined.
        """
        folder = self._place.folder()
        if self._place.stack or not server or not Path(folder).exists():
            return None
        from nacre.firewall.wrap.client_servers import find_servers
        from nacre.wiring.features.wrap import open_wrapping
        from nacre.wiring.this_machine import (
            at_url,
            on_this_machine,
            with_bases,
            with_command_bases,
        )

        opened = open_wrapping(folder, ())
        places: list[Surroundings] = []
        for client_server in find_servers(opened.files, opened.records, opened.machine)[0]:
            proxy = client_server.server.proxy
            if proxy is None or proxy.first("--name") != server:
                continue
            bases = proxy.all("--base")
            if proxy.inner is not None and bases:
                bases = with_command_bases(bases, proxy.inner)
            where = on_this_machine() if proxy.inner else at_url(proxy.first("--url"))
            places.append(with_bases(where, bases))
        if not places:
            return None
        opens_files = any(place.opens_files for place in places)
        if any(not place.bases and place.opens_files for place in places):
            joined: tuple[str, ...] = ()
        else:
            joined = tuple(dict.fromkeys(base for place in places for base in place.bases))
        return places[0]._replace(bases=joined, opens_files=opens_files)
