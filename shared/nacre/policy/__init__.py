"""Who may call what: ordered rules over tools, methods and their arguments."""
