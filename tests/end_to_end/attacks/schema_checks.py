"""What schemathesis also checks of every answer; it runs in a Python of its own."""

import schemathesis

FENCES = {
    "content-security-policy": "frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@schemathesis.check  # type: ignore[untyped-decorator]  # nor is it
def guarded_pages(_context, response, _case) -> None:  # type: ignore[no-untyped-def]  # not ours
    """Every page is fenced, and leads nowhere else than a client's or our own address."""
    headers = {name.lower(): ", ".join(value) for name, value in response.headers.items()}
    if headers.get("content-type", "").startswith("text/html"):
        for name, value in FENCES.items():
            assert value in headers.get(name, ""), f"{name}: {headers.get(name)}"
    location = headers.get("location", "/")
    assert location.startswith("/"), location
    assert not location.startswith("//"), location
