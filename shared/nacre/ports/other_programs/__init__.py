"""Programs of other people: servers, their logins, clients' documents and configuration files.

The gateway calls `upstream` for each call that it passes on, and `login_requests` to log in to a
server. `access` calls `client_documents` when a client registers, and `nacre wrap` and `nacre
connect` call `config_files`.
"""
