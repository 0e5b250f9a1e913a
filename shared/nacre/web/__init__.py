"""The owner's web application: forms, sessions, rendering and static files.

`portal.portal_app` is the ASGI application that the laptop server and the portal function
mount. Requests go to the routes of `signin`, `oauth` and `console`.
"""
