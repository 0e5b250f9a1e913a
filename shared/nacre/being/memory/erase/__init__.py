"""Erasing memories, texts, messages or a whole Being, completely.

Callers use `eraser.Eraser`. It stops the patrol, deletes items and index points, and returns a
receipt.
"""
