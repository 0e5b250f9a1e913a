"""Provenance: the causes of a memory or of a recorded call, as far as they were recorded.

`nacre why` and the console ask `memories` about a memory or a scene, and `calls` about a call. Both
return a `Cause`, whose own causes go back to messages, results and runs.
"""
