"""The commands about memory, one file for each: recall, patrols, export and import, erasing.

The other files are parts of these commands, such as those that open the files of other programs
for `import_file`.
"""
