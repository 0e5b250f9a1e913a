"""The configuration files of clients, with and without the proxy or Nacre itself in them.

Calls come in through `wrapper.Wrapper` and `connector.Connector`. `file_edit` and
`added_entry` change one entry and keep every other byte; the three `*_tree` modules read JSON, TOML
and YAML with positions.
"""
