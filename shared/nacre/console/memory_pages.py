"""The owner's pages about a Being: which there are."""

from nacre.console.entries.routes import routes as entry_routes
from nacre.console.export.routes import routes as export_routes
from nacre.console.history.routes import routes as history_routes
from nacre.console.letters.routes import routes as letter_routes
from nacre.console.map.routes import routes as map_routes
from nacre.console.memories.list_routes import routes as memories_routes
from nacre.console.memories.routes import routes as memory_routes
from nacre.console.overview.routes import routes as overview_routes
from nacre.console.relations.routes import routes as relation_routes
from nacre.console.scenes.routes import routes as scene_routes
from nacre.console.start.routes import routes as start_routes

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
