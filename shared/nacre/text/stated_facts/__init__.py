"""Statements that people make about themselves in messages, without questions, requests and quotes.

`statements.stated_facts` is the way in. The words of each language are in `english` and `german`.
"""
