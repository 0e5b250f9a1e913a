"""Comparing answers: those that were kept, those of now, and those of other settings.

`answers` asks kept questions again, `answer_changes` compares two answers, and `memory_changes`
says which of their memories changed in between. Callers open the memory that is asked.
"""
