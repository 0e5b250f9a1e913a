"""The steps of a patrol, one file for each, named after what the step does.

`patrol` calls them in order with the current round. `merge_memories` is where memories that say
the same become one.
"""
