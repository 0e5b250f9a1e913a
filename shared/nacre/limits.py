"""Every number Nacre promises, each with its reason."""

MAX_BODY_BYTES = 4 * 1024 * 1024  # the official SDKs' default; Lambda itself stops at 6 MB
MAX_JSON_DEPTH = 64  # deeper than any real schema, far from Python's recursion limit
MAX_REQUEST_STATE_BYTES = 64 * 1024  # it travels with every retry; forms are far smaller
REQUEST_STATE_SECONDS = 600  # a person answers a form within ten minutes
