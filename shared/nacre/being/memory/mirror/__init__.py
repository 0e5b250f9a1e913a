"""A Being as Markdown files: the files show its memories, and edits of the files change them.

`sync.Mirror` compares the files, the Being and the last common state, and applies the changes of
each side to the other. `plan` decides which side changed a text, and finds the conflicts.
`list_page` and `entry_page` read and write the two kinds of files.
"""
