"""The catalogue of other servers: their lists, fetched, stored, refreshed and merged into one list.

`mounts` reads the `snapshot`. `refresh` and `fetch` keep it current, and `store` keeps it
between starts.
"""
