"""The pages about control: which there are."""

from nacre.faces.console_access import routes as access_routes
from nacre.faces.console_approvals import routes as approval_routes
from nacre.faces.console_audit import routes as audit_routes
from nacre.faces.console_connect import routes as connect_routes
from nacre.faces.console_model import routes as model_routes
from nacre.faces.console_patrols import routes as patrol_routes
from nacre.faces.console_policy import routes as policy_routes
from nacre.faces.console_servers import routes as server_routes

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
