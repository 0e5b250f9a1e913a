"""The catalogue of other servers: their lists, fetched, stored, refreshed and merged into one list.

`mounts` reads the `current_view`, a `snapshot` of everything known. The `fetcher` asks servers
for their lists, and `store` holds the lists between starts.
"""
