"""What routes take from the query, which must be what they say and nothing by accident."""

from fastapi import FastAPI

from nacre.web.oauth.consent_routes import routes as consent_routes
from nacre.web.oauth.routes import routes as oauth_routes
from nacre.web.signin.routes import routes as sign_in_routes


def test_no_dependency_takes_a_parameter_from_the_query() -> None:
    """A default argument of a dependency would be one that any caller may set."""
    app = FastAPI()
    for routes in (consent_routes, oauth_routes, sign_in_routes):
        app.include_router(routes)
    found = app.openapi()["paths"]
    taken = {
        (path, parameter["name"])
        for path, methods in found.items()
        for method in methods.values()
        for parameter in method.get("parameters", ())
        if parameter["in"] != "path"
    }

    assert len(found) >= 12
    assert taken == set()
