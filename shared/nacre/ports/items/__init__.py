"""The item store as a port: small records under a partition key and a sort key.

Features call `table.Table`. `paging` reads all pages of a query, and `schema` checks the
version of an item.
"""
