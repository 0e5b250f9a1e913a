"""The page that shows how to connect each client."""
