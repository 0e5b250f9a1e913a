"""The first page, to choose or create a Being, and the overview of one."""
