"""The lists of pages: those about memories, and those about control."""

from nacre.console.access.routes import routes as access_routes
from nacre.console.approvals.routes import routes as approval_routes
from nacre.console.audit.routes import routes as audit_routes
from nacre.console.captured.routes import routes as captured_routes
from nacre.console.connect.routes import routes as connect_routes
from nacre.console.entries.routes import routes as entry_routes
from nacre.console.export.routes import routes as export_routes
from nacre.console.history.routes import routes as history_routes
from nacre.console.letters.routes import routes as letter_routes
from nacre.console.logins.routes import routes as login_routes
from nacre.console.map.routes import routes as map_routes
from nacre.console.memories.routes import routes as memory_routes
from nacre.console.model.routes import routes as model_routes
from nacre.console.overview.routes import routes as overview_routes
from nacre.console.patrols.routes import routes as patrol_routes
from nacre.console.policy.routes import routes as policy_routes
from nacre.console.relations.routes import routes as relation_routes
from nacre.console.servers.routes import routes as server_routes
from nacre.console.why.routes import routes as why_routes

MEMORY_ROUTES = (
    overview_routes,
    map_routes,
    memory_routes,
    entry_routes,
    relation_routes,
    letter_routes,
    history_routes,
    captured_routes,
    export_routes,
)
CONTROL_ROUTES = (
    connect_routes,
    access_routes,
    patrol_routes,
    policy_routes,
    audit_routes,
    why_routes,
    model_routes,
    approval_routes,
    server_routes,
    login_routes,
)
