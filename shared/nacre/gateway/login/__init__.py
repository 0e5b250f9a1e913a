"""Logins to other servers by OAuth: one for each owner and server.

`logins` begins a login, finishes it, and gives the access token for a request. `discovery`,
`registration` and `authorization` are the steps of the protocol, and `store` holds the tokens.
"""
