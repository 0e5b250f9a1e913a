"""How often the evidence for a question is among the memories that are found.

`python -m tests.benchmarks.recall_quality` runs it. `datasets` reads files that other people
published, of which nothing is kept; `measure` tells and asks Beings through the tools as a client
calls them, on the laptop's wiring, without a key.
"""
