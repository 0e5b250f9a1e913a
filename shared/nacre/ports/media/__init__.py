"""Media of orders: documents and speech as text, and links for files too large for a call.

`being/orders` calls these ports before the language model answers. `being/memory/erase` calls
them when a whole Being is deleted.
"""
