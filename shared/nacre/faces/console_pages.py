"""The owner's pages about a Being: which there are."""

from nacre.faces.console_entries import routes as entry_routes
from nacre.faces.console_export import routes as export_routes
from nacre.faces.console_history import routes as history_routes
from nacre.faces.console_letters import routes as letter_routes
from nacre.faces.console_map import routes as map_routes
from nacre.faces.console_memories import routes as memories_routes
from nacre.faces.console_memory import routes as memory_routes
from nacre.faces.console_overview import routes as overview_routes
from nacre.faces.console_relations import routes as relation_routes
from nacre.faces.console_scenes import routes as scene_routes
from nacre.faces.console_start import routes as start_routes

ROUTES = (
    start_routes,
    overview_routes,
    map_routes,
    memories_routes,
    memory_routes,
    scene_routes,
    entry_routes,
    relation_routes,
    letter_routes,
    history_routes,
    export_routes,
)
