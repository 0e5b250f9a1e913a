"""The pages on which an owner signs in.

The routes call `access.signin` and set the session cookie.
"""
