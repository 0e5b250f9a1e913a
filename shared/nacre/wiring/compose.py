"""One composition for all deployments: every feature over `Ports`, built when it is first used."""

from typing import TYPE_CHECKING

from nacre.wiring.ports import lazy

if TYPE_CHECKING:
    from nacre.access.authority import Authority
    from nacre.access.beings import Beings
    from nacre.access.owners import Owners
    from nacre.access.state_keys import StoredSigningKeys
    from nacre.access.tokens.authentication import Gate
    from nacre.access.tokens.store import TokenStore
    from nacre.being.application import Application
    from nacre.being.language_model.api_keys import LlmKeys
    from nacre.being.memory.erase.eraser import Eraser
    from nacre.being.memory.index.jobs import IndexWork
    from nacre.being.memory.services import MemoryServices
    from nacre.being.orders.order.run import Orders
    from nacre.being.patrol.command_patrols import PatrolExecutor
    from nacre.being.patrol.jobs import PatrolJobs
    from nacre.being.patrol.planning.model_choice import ModelAccess
    from nacre.being.patrol.trigger import PatrolRequests
    from nacre.firewall.entry.entry_judge import EntryJudge
    from nacre.firewall.entry.guarded_surface import GuardedSurface
    from nacre.firewall.entry.visible_lists import VisibleLists
    from nacre.firewall.policies.stored_policy import Policies
    from nacre.firewall.rules.policy import Policy
    from nacre.gateway.calls.owner_logins import OwnerLogins
    from nacre.gateway.joined_surface import LazyMounts
    from nacre.gateway.login.logins import Logins
    from nacre.gateway.mounts import Mounts
    from nacre.gateway.on_demand.search import ToolSearch
    from nacre.jobs.lease import Leases
    from nacre.jobs.loop import Report, WorkerLoop
    from nacre.jobs.worker import Worker
    from nacre.ports.items.table import Table
    from nacre.ports.untrusted_results import UntrustedResults
    from nacre.protocol.application_rules import Explainer
    from nacre.protocol.context import Context
    from nacre.protocol.dispatch.request_state import RequestStates
    from nacre.protocol.surface import Surface
    from nacre.sdk.tool_server import ToolServer
    from nacre.wiring.features.embeddings import Embedders
    from nacre.wiring.features.index import SearchIndex
    from nacre.wiring.features.tasks import TaskParts
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings


def compose(ports: "Ports", settings: "Settings | None" = None, *, order_name: str = "") -> "Home":
    """Return every feature over the ports of a deployment.

    Without settings, those of the environment are read when a feature needs them. `order_name`
    replaces the names that Beings gave to their orders.
    """
    return Home(ports, settings, order_name)


class Home:
    """The Beings of one deployment, with every feature that works on them."""

    def __init__(self, ports: "Ports", settings: "Settings | None", order_name: str) -> None:
        self.ports = ports
        self._settings = settings
        self._order_name = order_name

    @lazy
    def settings(self) -> "Settings":
        """The settings given to `compose`, or those of the environment."""
        if self._settings is not None:
            return self._settings
        from nacre.wiring.settings import Settings

        return Settings.from_environment()

    def close(self) -> None:
        """Close sessions with other servers, then the ports."""
        if "tool_search" in vars(self):
            self.tool_search.close()
        if "mounts" in vars(self):
            self.mounts.close()
        self.ports.close()

    # Access.

    @property
    def data(self) -> "Table":
        """The items of the Beings."""
        return self.ports.data

    @lazy
    def owners(self) -> "Owners":
        """The owners."""
        from nacre.access.owners import Owners

        return Owners(self.ports.token_items, clock=self.ports.clock)

    @lazy
    def beings(self) -> "Beings":
        """The Beings."""
        from nacre.access.beings import Beings

        return Beings(self.ports.data, clock=self.ports.clock, rng=self.ports.rng)

    @lazy
    def tokens(self) -> "TokenStore":
        """The tokens."""
        from nacre.access.tokens.store import TokenStore

        return TokenStore(self.ports.token_items, clock=self.ports.clock, rng=self.ports.rng)

    @lazy
    def gate(self) -> "Gate":
        """Authenticates callers by their tokens."""
        from nacre.access.tokens.authentication import Gate

        return Gate(self.tokens.lookup, self.ports.clock)

    @lazy
    def authority(self) -> "Authority":
        """Signs owners in, and gives clients access."""
        from nacre.access.authority import authority

        ports, documents = self.ports, None
        if ports.fetches_documents:
            from nacre.adapters.client_documents import HttpsClientDocuments
            from nacre.wiring.outgoing import outgoing_of

            documents = HttpsClientDocuments(outgoing=outgoing_of(self.settings))
        return authority(
            ports.token_items, ports.data, documents=documents, clock=ports.clock, rng=ports.rng
        )

    @lazy
    def signing_keys(self) -> "StoredSigningKeys":
        """The keys that seal requestState."""
        from nacre.access.state_keys import StoredSigningKeys

        ports = self.ports
        return StoredSigningKeys(ports.data, ports.vault, clock=ports.clock, rng=ports.rng)

    # Memory and patrols.

    @lazy
    def leases(self) -> "Leases":
        """The leases that a worker takes before it works on a Being."""
        from nacre.jobs.lease import Leases

        ports = self.ports
        return Leases(ports.data, now=ports.clock, holders=ports.holders, wake=ports.wake)

    @lazy
    def embedders(self) -> "Embedders":
        """The models that turn texts into vectors."""
        from nacre.wiring.features.memory import calm_numpy

        calm_numpy()
        from nacre.wiring.features.embeddings import embedders

        return embedders(
            self.settings, key=lambda: self.ports.secret_at(self.settings.embedding_secret)
        )

    @lazy
    def index(self) -> "SearchIndex":
        """The search index."""
        from nacre.wiring.features.index import search_index

        return search_index(self.ports, self.settings, self.embedders.primary)

    @lazy
    def memory_services(self) -> "MemoryServices":
        """Writes, searches and presents the memory of every Being."""
        from functools import cache

        from nacre.being.memory.services import open_services

        ports = self.ports
        return open_services(
            ports.data,
            ports.queue,
            self.index.indexing,
            self.embedders.tokens,
            clock=ports.clock,
            rng=ports.rng,
            results=cache(lambda: self.untrusted_results),
        )

    @lazy
    def untrusted_results(self) -> "UntrustedResults":
        """The ledger of results that callers have received from external servers."""
        from nacre.firewall.entry.noted_results import NotedResults

        return NotedResults(self.ports.data, self._has_windows)

    def _has_windows(self, being_id: str) -> bool:
        """Tell whether a rule counts what any client of a Being has received; yes in doubt."""
        from nacre.core.errors import NacreError
        from nacre.firewall.policies.stored_policy import ScopedPolicy

        try:
            return ScopedPolicy(self.policies, being_id).current().has_windows
        except NacreError:
            return True

    @lazy
    def llm_keys(self) -> "LlmKeys":
        """The keys of Beings for language models."""
        from nacre.being.language_model.api_keys import LlmKeys

        ports = self.ports
        return LlmKeys(ports.data, lambda: ports.vault, clock=ports.clock, rng=ports.rng)

    @lazy
    def model_access(self) -> "ModelAccess":
        """The language models of patrols and orders."""
        from functools import cache

        from nacre.wiring.features.models import model_access_over

        return model_access_over(
            self.settings,
            self.ports.data,
            self.llm_keys,
            clock=self.ports.clock,
            secret=cache(lambda: self.ports.secret_at(self.settings.llm_secret)),
        )

    @lazy
    def patrol_jobs(self) -> "PatrolJobs":
        """The patrols that a worker runs."""
        from nacre.being.patrol.jobs import PatrolJobs
        from nacre.being.patrol.patrol import Patrol
        from nacre.core.limits import CAPTURED_FACTS_A_DAY
        from nacre.core.metrics import PATROLS, count

        heard_facts = self.settings.heard_facts
        ports, memory = self.ports, self.memory_services.memory
        patrol = Patrol(
            ports.data,
            ports.queue,
            memory,
            self.index.indexing,
            clock=ports.clock,
            heard_facts=heard_facts or 0,
            captured_facts=CAPTURED_FACTS_A_DAY if heard_facts is None else heard_facts,
        )
        return PatrolJobs(
            patrol,
            ports.data,
            ports.queue,
            self.model_access,
            memory.trigger,
            ports.clock,
            lambda: count(self.settings.stack, "patrol", {PATROLS: 1}),
        )

    @lazy
    def patrol_calls(self) -> "PatrolRequests":
        """Starts the patrols that a caller asks for."""
        from nacre.being.memory.patrol_trigger import PatrolTrigger
        from nacre.being.memory.store.history import History
        from nacre.being.memory.writer_origins import WriterOrigins
        from nacre.being.patrol.trigger import PatrolRequests

        ports = self.ports
        return PatrolRequests(
            ports.data,
            History(ports.data, clock=ports.clock),
            PatrolTrigger(ports.data, ports.queue, clock=ports.clock),
            self.leases,
            self.model_access,
            WriterOrigins(lambda: self.untrusted_results, ports.clock),
        )

    @lazy
    def patrol_work(self) -> "PatrolExecutor":
        """Runs patrols to their end, in this process or in the stack's worker."""
        from nacre.being.patrol.command_patrols import LocalPatrols, StackPatrols

        if not self.ports.asks_worker:
            return LocalPatrols(self.patrol_jobs, self.leases)
        return StackPatrols(self.data, self.patrol_calls, self.ports.clock, self.ports.rng)

    @lazy
    def index_work(self) -> "IndexWork":
        """Repairs and rebuilds the search index, in this process or in the stack's worker."""
        ports = self.ports
        if not ports.asks_worker:
            return self.index.work(self.leases)
        from nacre.being.memory.index.jobs import QueuedIndexWork

        return QueuedIndexWork(ports.data, ports.queue, clock=ports.clock, rng=ports.rng)

    @lazy
    def eraser(self) -> "Eraser":
        """Erases memories and texts."""
        from nacre.being.memory.erase.eraser import Eraser
        from nacre.wiring.features.firewall import whole_results

        ports = self.ports
        return Eraser(
            ports.unrecorded_data,
            self.leases,
            lambda: self.index_work,
            lambda: ports.residue,
            lambda being_id: whole_results(ports).erase(being_id),
            clock=ports.clock,
            rng=ports.rng,
            changes=ports.memory_changes,
        )

    # Calls of clients.

    @lazy
    def application(self) -> "Application":
        """The MCP server."""
        from nacre.being.application import Application

        if self.settings.sends_traces:
            from nacre.wiring.traces import start_traces

            start_traces(self.settings)
        surface: Surface = self.surface
        if self.settings.tools != "all":
            from nacre.gateway.on_demand.surface import OnDemandSurface

            surface = OnDemandSurface(
                surface,
                lambda: self.tool_search,
                mode=self.settings.tools,
                visible=self.settings.visible_tools,
            )
        return Application(
            surface,
            self.request_states,
            call_bytes=self.ports.call_bytes,
            tasks=lambda: self.tasks.requests,
        )

    @lazy
    def request_states(self) -> "RequestStates":
        """Seals the state of calls that take several rounds."""
        from nacre.protocol.dispatch.request_state import RequestStates

        def use(state_id: str) -> bool:
            from nacre.protocol.dispatch.used_states import UsedStates

            return UsedStates(lambda: self.ports.data, self.ports.clock).use(state_id)

        return RequestStates(lambda: self.signing_keys(), self.ports.clock, use=use)

    @lazy
    def surface(self) -> "GuardedSurface":
        """The Being's own tools, orders and other servers, behind the policy."""
        from functools import cache

        from nacre.being.application import being_server
        from nacre.console.views.view_surface import ViewSurface
        from nacre.firewall.entry.guarded_surface import GuardedSurface
        from nacre.gateway.joined_surface import JoinedSurface
        from nacre.wiring.features.orders import with_orders
        from nacre.wiring.features.server_sources import no_other_servers

        tools = being_server(
            cache(lambda: self.memory_services),
            self.ports.clock,
            patrols=lambda: self.patrol_calls,
            capabilities=self._capabilities,
        )
        server = with_orders(
            tools, self.ports, self.settings, lambda: self.orders, name=self._order_name
        )
        joined = JoinedSurface(
            ViewSurface(server, self._views),
            lambda: self.mounts,
            no_other_servers(self.ports, self.settings),
        )
        return GuardedSurface(joined, cache(lambda: self.entry), lambda: self.visible_lists)

    def _views(self) -> "ToolServer":
        """The tools whose results are shown as views."""
        from nacre.wiring.features.views import build_views

        return build_views(self)

    def _capabilities(self, context: "Context") -> list[dict[str, str]]:
        from nacre.gateway.joined_surface import capability_tools

        principal = context.principal
        if principal is None or not principal.profile:
            return capability_tools(self.surface, principal)
        return capability_tools(self.surface.part_for(principal), principal)

    @lazy
    def orders(self) -> "Orders":
        """Carries out orders."""
        from nacre.wiring.features.orders import build_orders

        return build_orders(
            self.ports, self.settings, lambda: self.surface, self.memory_services, self.model_access
        )

    @lazy
    def policies(self) -> "Policies":
        """The policy of each Being; raises PolicyError if the policy file is wrong."""
        from nacre.wiring.features.policies import policies_of

        return policies_of(self.ports, self.settings)

    @lazy
    def entry(self) -> "EntryJudge":
        """Decides about every call."""
        from nacre.wiring.features.firewall import build_entry

        return build_entry(
            self.ports, self.policies, self._lazy_mounts, lambda: self.untrusted_results
        )

    @lazy
    def visible_lists(self) -> "VisibleLists":
        """Removes denied tools, prompts and resources from lists."""
        from nacre.firewall.entry.visible_lists import VisibleLists

        def policy_of(being_id: str) -> "Policy":
            return self.policies.of(being_id or None).policy

        return VisibleLists(policy_of, mounts=self._lazy_mounts)

    @lazy
    def _lazy_mounts(self) -> "LazyMounts":
        from nacre.gateway.joined_surface import LazyMounts

        return LazyMounts(lambda: self.mounts)

    @lazy
    def mounts(self) -> "Mounts":
        """The other servers."""
        from nacre.wiring.features.gateway import build_mounts

        return build_mounts(
            self.ports,
            self.settings,
            lambda: self.entry.server_messages(),
            self.owner_logins,
        )

    @lazy
    def owner_logins(self) -> "OwnerLogins":
        """The logins of owners, as requests to other servers use them."""
        from nacre.wiring.features.logins import owner_logins

        return owner_logins(self)

    @lazy
    def logins(self) -> "Logins":
        """The logins of owners to other servers."""
        from nacre.wiring.features.logins import build_logins

        return build_logins(self.ports, self.settings)

    @lazy
    def tool_search(self) -> "ToolSearch":
        """Finds tools that are not in the lists."""
        from nacre.wiring.features.on_demand import build_tool_search

        return build_tool_search(self.ports, lambda: self.embedders)

    # Work in the background.

    @lazy
    def tasks(self) -> "TaskParts":
        """The calls that run as tasks."""
        from nacre.wiring.features.tasks import TaskParts

        ports = self.ports
        return TaskParts(
            ports.data,
            lambda: ports.queue,
            lambda: self.leases,
            ports.clock,
            blobs=lambda: ports.blobs,
            vault=lambda: ports.vault,
            received=lambda: self.untrusted_results,
        )

    def worker(self, rules: "Explainer") -> "Worker":
        """Return a worker for every kind of job; `rules` turn an error in a task into an answer."""
        from nacre.jobs.worker import Worker
        from nacre.wiring.features.memory import register_memory_jobs, sweep_jobs

        worker = Worker(self.leases)
        sweep = sweep_jobs(self.index, self.patrol_jobs, stack=self.settings.stack)
        register_memory_jobs(worker, self.index, self.patrol_jobs, sweep)
        self.tasks.register(worker, lambda: self.surface, rules)
        return worker

    def worker_loop(self, report: "Report", rules: "Explainer") -> "WorkerLoop":
        """Return a worker that takes jobs from the queue in threads of this process."""
        from nacre.jobs.loop import WorkerLoop
        from nacre.wiring.features.memory import sweep_jobs

        def sweep() -> None:
            # Without writes, nothing else would remove expired items.
            self.ports.purge()
            sweep_jobs(self.index, self.patrol_jobs).run()

        loop = WorkerLoop(self.ports.queue, self.worker(rules), report, sweep=sweep)
        self.ports.job_signal.on_job = loop.wake
        return loop
