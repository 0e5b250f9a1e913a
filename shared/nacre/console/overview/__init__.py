"""The overview of a Being: how much it remembers, and what it remembered last."""
