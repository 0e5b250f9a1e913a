"""The owner's console: one folder for each page, with its routes, its values and its template.

`pages` lists the routes, and `parts` adds them to the portal. `visits` checks the owner's session,
and `frame` renders the menu around each page. Pages call the Being, the firewall and the gateway.
"""
