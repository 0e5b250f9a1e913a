"""Lambda: what is web, as FastAPI behind Mangum."""

from nacre.faces.portal import portal_handler

handle = portal_handler()
