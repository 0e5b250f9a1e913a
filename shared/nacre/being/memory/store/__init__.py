"""The stored items of a memory, one file for each kind.

`repositories` and the patrol call these modules, which read and write the item store. `retry`
repeats a step that another writer overtook. `recall_log` stores recalls until a patrol counts
them, in the items of `recall_batches`.
"""
