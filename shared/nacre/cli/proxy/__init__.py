"""The command `proxy`, with one file for each form that it takes."""
