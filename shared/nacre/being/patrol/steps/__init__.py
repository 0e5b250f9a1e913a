"""The steps of a patrol, one file for each, named after what the step does.

`patrol.STEPS` lists the steps in order; `patrol` calls them with the context of the run.
`merge_memories` merges memories with the same meaning.
"""
