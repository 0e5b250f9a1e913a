"""The text of PDFs, read in a separate process that a hostile document may crash.

`reader` implements the port for documents. It starts `process` for each file.
"""
