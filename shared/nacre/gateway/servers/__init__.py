"""The configured servers: their entries, where they are stored, and the secrets they refer to.

`nacre server` and the console write them. `catalogue.current_view` reads them.
"""
