"""The configuration files of clients, with and without the proxy in them.

Calls come in through `wrapper.Wrapper`. `file_edit` changes one entry and keeps every other
byte; the three `*_tree` modules read JSON, TOML and YAML with positions.
"""
