"""The configuration files of clients, with and without the proxy or Nacre itself in them.

Calls come in through `wrapper.Wrapper` and `connector.Connector`. `client_formats` lists the
clients, with the paths and the keys of their files. `file_edit` and `added_entry` change one entry
and keep every other byte; the three `*_tree` modules read JSON, TOML and YAML with positions.
"""
