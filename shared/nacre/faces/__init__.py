"""The protocols by which the outside reaches the application."""
