"""The text of PDFs, read in a separate process that a hostile document may crash."""
