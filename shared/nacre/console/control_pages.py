"""The pages about control: which there are."""

from nacre.console.access.routes import routes as access_routes
from nacre.console.approvals.routes import routes as approval_routes
from nacre.console.audit.routes import routes as audit_routes
from nacre.console.connect.routes import routes as connect_routes
from nacre.console.model.routes import routes as model_routes
from nacre.console.patrols.routes import routes as patrol_routes
from nacre.console.policy.routes import routes as policy_routes
from nacre.console.servers.routes import routes as server_routes

ROUTES = (
    connect_routes,
    access_routes,
    patrol_routes,
    policy_routes,
    audit_routes,
    model_routes,
    approval_routes,
    server_routes,
)
