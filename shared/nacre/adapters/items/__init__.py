"""Shared parts of the item stores: values, conditions, queries and writes.

The tables on SQLite and DynamoDB extend `checked_table.CheckedTable`.
"""
