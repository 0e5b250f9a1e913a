"""The OAuth endpoints and the consent page.

The routes call `access.oauth`. Clients find them through the discovery documents.
"""
