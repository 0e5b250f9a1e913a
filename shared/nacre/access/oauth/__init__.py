"""OAuth 2.1 for clients: registration, authorization requests, codes and grants.

The routes in `web.oauth` call this package. A grant issues the access tokens that
`access.tokens` checks.
"""
