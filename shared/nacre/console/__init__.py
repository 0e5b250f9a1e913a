"""The owner's console: one folder for each page, with its routes, its values and its template.

`memory_pages` and `control_pages` list the routes, and `frame` checks who asks and draws the
frame. Pages call the Being, the firewall and the gateway.
"""
