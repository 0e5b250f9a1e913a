"""The map of a Being's memories, with similar ones close together."""
