"""Export and import, with one file for each foreign format.

`exporter` reads everything that a Being keeps, and `importer` writes it. `basic_memory`, `mem0`
and `server_memory` turn files of other programs into the same records. Conversations of other
programs are read in `transcripts`.
"""
