"""The first page: choose or create a Being."""
