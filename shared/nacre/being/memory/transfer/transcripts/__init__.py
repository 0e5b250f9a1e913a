"""Conversations that other programs have stored: transcripts and official exports.

`formats` lists the readers, one file for each program, and recognizes whose file a text is. Each
reader takes the values of a file and yields its messages; the caller opens files and archives.
"""
